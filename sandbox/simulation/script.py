"""The story of one seed: a stage and what goes wrong on it, when."""

from typing import Any, NamedTuple

from sandbox.kernel.chance import Chance
from sandbox.simulation.stage import Stage, draw_stage
from sandbox.simulation.troubles import KINDS, Draw, Step, kinds_for

WARM_UP_S = 25.0  # everybody has taken queues and committed once
PROFILES = ("mixed", "orderly", "reset", "concurrent", "power")
TROUBLES = (4, 9)  # in a usual run, from and to
CALM_BEFORE_S, CALM_AFTER_S = 35.0, 50.0


class Script(NamedTuple):
    """`steps` are in order of time; `ends_s` is when the troubles end and everything is healed."""

    seed: int
    profile: str
    stage: Stage
    steps: tuple[Step, ...]
    ends_s: float

    def lines(self) -> list[str]:
        """For people: what is played, one line each."""
        stage = self.stage
        groups = ", ".join(f"{g.name} ({g.kind}, {g.members}, {g.strategy})" for g in stage.groups)
        head = [f"stage: {', '.join(stage.nodes)}; {', '.join(stage.name_servers)}; {stage.flush}, {stage.replication}",
                f"topic: {stage.queues} queues on each broker; {stage.rate_per_s:g}/s {stage.selector}; latency "
                f"{stage.latency_ms} ms", f"groups: {groups}"]
        return head + [f"{step.at_s:7.1f} s {step.kind}: {step.action} {_told(step.fields)}" for step in self.steps]


def write_script(seed: int, *, profile: str = "mixed", minutes: float | None = None) -> Script:
    """The same integer, profile and minutes give the same script; without minutes the seed says how long it is."""
    chance = Chance(seed).fork(f"script {profile}")
    stage = draw_stage(chance.fork("stage"), profile)
    lasts_s = minutes * 60 if minutes is not None else chance.between(50, 150)
    draw = Draw(stage, chance.fork("troubles"))
    steps: list[Step] = []
    ends_s = WARM_UP_S + lasts_s
    if profile != "reset":
        steps += _troubled(draw, chance, profile, ends_s)
        ends_s = max([ends_s, *(step.at_s for step in steps)])
    if profile == "reset" or chance.random() < 0.5:  # a reset nothing else disturbs, when the troubles are over
        begins_s = ends_s + (CALM_BEFORE_S if steps else 0.0)
        group = chance.choice(stage.resettable) if stage.resettable else None
        if group is not None:
            steps.append(draw.calm_reset(begins_s, group))
            ends_s = begins_s + CALM_AFTER_S
    return Script(seed, profile, stage, tuple(sorted(steps, key=lambda step: step.at_s)), ends_s)


def _troubled(draw: Draw, chance: Chance, profile: str, ends_s: float) -> list[Step]:
    low, high = TROUBLES
    steps: list[Step] = []
    kinds = kinds_for(draw.stage, profile)
    for _ in range(low + chance.below(high - low + 1)):
        kind = chance.choice(kinds)
        at_s = chance.between(WARM_UP_S, ends_s - 10)
        steps += [step._replace(kind=kind) if number == 0 else step
                  for number, step in enumerate(KINDS[kind](draw, at_s))]
    return steps


def _told(fields: dict[str, Any]) -> str:
    return " ".join(f"{name}={value}" for name, value in fields.items())
