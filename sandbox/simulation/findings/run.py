"""The run of one seed: a healthy stage, one or two planted troubles or none, and the findings that opened."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from sandbox.control.actions import Action, parse_action
from sandbox.findings.finding import INFO
from sandbox.journal.events import FindingOpened
from sandbox.kernel.chance import Chance
from sandbox.simulation.findings.normal_life import normal_acts
from sandbox.simulation.findings.plants import PLANTS, Act, Plant, kinds
from sandbox.simulation.findings.stage import WARM_UP_S, draw_stage
from sandbox.simulation.world import BEGIN_MS, World

HEALTHY_S = 600.0
HEALTHY, PAIR = 0, 3


class Planted(NamedTuple):
    """One planted trouble: `after_ms` until its finding opened; None: it did not."""

    code: str
    after_ms: int | None


class FindingRun(NamedTuple):
    """`wrong`: codes that opened and are not true, of a run without planted troubles; `healthy_s`: its duration."""

    seed: int
    planted: tuple[Planted, ...]
    wrong: tuple[str, ...]
    healthy_s: float


def play_findings(seed: int) -> FindingRun:
    """Play a seed.  Of four seeds one is healthy, two have one trouble and one has two."""
    chance = Chance(seed).fork("findings")
    mode = seed % 4
    codes = kinds(alone=mode != PAIR)
    planted = [] if mode == HEALTHY else [codes[seed // 4 % len(codes)]]
    planted += [chance.choice([code for code in codes if code not in planted])] if mode == PAIR else []
    plants = [PLANTS[code] for code in planted]
    with TemporaryDirectory(prefix="findings-") as home:
        return _play(seed, chance, plants, Path(home))


def _play(seed: int, chance: Chance, plants: list[Plant], home: Path) -> FindingRun:
    stage = draw_stage(
        chance, ordered=any(plant.ordered for plant in plants), slave=any(plant.slave for plant in plants)
    )
    with World(home, stage.template, seed=seed, latency_ms=(0.0, 5.0)) as world:
        opened: list[tuple[int, FindingOpened]] = []
        world.cluster.journal_files.on_fact(
            lambda entry: opened.append((entry.at_ms, entry.event)) if isinstance(entry.event, FindingOpened) else None
        )
        for action in stage.actions():
            world.act(action)
        world.run(WARM_UP_S)
        at_s = WARM_UP_S
        acts = [act for plant in plants for act in plant.acts(stage, chance)] or normal_acts(stage, chance, HEALTHY_S)
        ends_s = max((plant.looks_s for plant in plants), default=HEALTHY_S)
        for act in sorted(acts, key=lambda act: act.after_s):
            world.run(max(0.0, WARM_UP_S + act.after_s - at_s))
            at_s = max(at_s, WARM_UP_S + act.after_s)
            _carry_out(world, act)
        world.run(max(0.0, WARM_UP_S + ends_s - at_s))
    planted_ms = BEGIN_MS + int(WARM_UP_S * 1000)
    found = tuple(
        Planted(
            plant.code,
            next((at_ms - planted_ms for at_ms, event in opened if event.code == plant.code), None),
        )
        for plant in plants
    )
    wrong = () if plants else tuple(event.code for _, event in opened if event.severity != INFO)
    return FindingRun(seed, found, wrong, 0.0 if plants else WARM_UP_S + HEALTHY_S)


def _carry_out(world: World, act: Act) -> None:
    if act.call is not None:
        act.call(world)
        return
    action: Action = parse_action({"action": act.name, **act.fields})
    world.act(action)
