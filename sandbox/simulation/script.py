"""The script of one seed: a setup, and faults with their times."""

from typing import NamedTuple

from sandbox.kernel.chance import Chance
from sandbox.simulation.setup import Setup, draw_setup
from sandbox.simulation.troubles import KINDS, Draw, Step, kinds_for

WARM_UP_S = 25.0  # every group has its queues and has committed once
PROFILES = ("mixed", "orderly", "reset", "concurrent", "power")
TROUBLES = (4, 9)  # in a usual run, minimum and maximum
CALM_BEFORE_S, CALM_AFTER_S = 35.0, 50.0


class Script(NamedTuple):
    """The script of one seed.

    `steps` are in time order; `ends_s`: the time when the faults end and everything is repaired.
    """

    seed: int
    profile: str
    setup: Setup
    steps: tuple[Step, ...]
    ends_s: float

    def lines(self) -> list[str]:
        """Return the setup and the steps as readable text, one line each."""
        setup = self.setup
        groups = ", ".join(f"{g.name} ({g.kind}, {g.members}, {g.strategy})" for g in setup.groups)
        head = [
            f"setup: {', '.join(setup.nodes)}; {', '.join(setup.name_servers)}; {setup.flush}, {setup.replication}",
            f"topic: {setup.queues} queues on each broker; {setup.rate_per_s:g}/s {setup.selector}; latency "
            f"{setup.latency_ms} ms",
            f"groups: {groups}",
        ]
        return head + [f"{step.at_s:7.1f} s {step.kind}: {step.action} {_shown(step.fields)}" for step in self.steps]


def write_script(seed: int, *, profile: str = "mixed", minutes: float | None = None) -> Script:
    """Return the script of a seed.  The same seed, profile and minutes give the same script.

    Without minutes the seed determines the duration.
    """
    chance = Chance(seed).fork(f"script {profile}")
    setup = draw_setup(chance.fork("stage"), profile)
    lasts_s = minutes * 60 if minutes is not None else chance.between(50, 150)
    draw = Draw(setup, chance.fork("troubles"))
    steps: list[Step] = []
    ends_s = WARM_UP_S + lasts_s
    if profile != "reset":
        steps += _troubled(draw, chance, profile, ends_s)
        ends_s = max([ends_s, *(step.at_s for step in steps)])
    if profile == "reset" or chance.random() < 0.5:  # a reset after all faults
        begins_s = ends_s + (CALM_BEFORE_S if steps else 0.0)
        group = chance.choice(setup.resettable) if setup.resettable else None
        if group is not None:
            steps.append(draw.calm_reset(begins_s, group))
            ends_s = begins_s + CALM_AFTER_S
    return Script(seed, profile, setup, tuple(sorted(steps, key=lambda step: step.at_s)), ends_s)


def _troubled(draw: Draw, chance: Chance, profile: str, ends_s: float) -> list[Step]:
    low, high = TROUBLES
    steps: list[Step] = []
    kinds = kinds_for(draw.setup, profile)
    for _ in range(low + chance.below(high - low + 1)):
        kind = chance.choice(kinds)
        at_s = chance.between(WARM_UP_S, ends_s - 10)
        steps += [
            step._replace(kind=kind) if number == 0 else step for number, step in enumerate(KINDS[kind](draw, at_s))
        ]
    return steps


def _shown(fields: dict[str, object]) -> str:
    return " ".join(f"{name}={value}" for name, value in fields.items())
