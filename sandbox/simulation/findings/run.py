"""The run of one seed: a healthy cluster, one or two planted troubles or none, and the findings that opened."""

from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from sandbox.control.actions import Action, parse_action
from sandbox.journal.events import FindingOpened
from sandbox.kernel.chance import Chance
from sandbox.kernel.errors import ActionRefused
from sandbox.simulation.findings.baseline import WARM_UP_S, draw_baseline
from sandbox.simulation.findings.healthy_cluster import draw_healthy_cluster
from sandbox.simulation.findings.normal_life import normal_acts
from sandbox.simulation.findings.plant import Act
from sandbox.simulation.findings.plants import PLANTS, kinds, partners
from sandbox.simulation.world import BEGIN_MS, World

HEALTHY_S = 600.0
HEALTHY, PAIR = 0, 3
PLANTED_MS = BEGIN_MS + int(WARM_UP_S * 1000)


class Opened(NamedTuple):
    """A finding that opened, `at_ms` of the cluster's clock."""

    at_ms: int
    code: str
    subject: str


class Planted(NamedTuple):
    """One planted trouble: `after_ms` until its finding opened; None: it did not.

    `refused`: an action was refused, so the trouble is not there.
    """

    code: str
    after_ms: int | None
    refused: bool = False


class FindingRun(NamedTuple):
    """`wrong`: codes that opened while nothing was planted, in `healthy_s`."""

    seed: int
    planted: tuple[Planted, ...]
    wrong: tuple[str, ...]
    healthy_s: float
    opened: tuple[Opened, ...]


def codes_of(seed: int) -> tuple[str, ...]:
    """Return the troubles of a seed.  Of four seeds one is healthy, two have one trouble and one has two."""
    mode = seed % 4
    if mode == HEALTHY:
        return ()
    codes = kinds(alone=mode != PAIR)
    code = codes[seed // 4 % len(codes)]
    return (code, Chance(seed).fork("partner").choice(partners(code))) if mode == PAIR else (code,)


def play_findings(seed: int) -> FindingRun:
    with TemporaryDirectory(prefix="findings-") as home:
        return _healthy(seed, Path(home)) if seed % 4 == HEALTHY else _troubled(seed, codes_of(seed), Path(home))


def _healthy(seed: int, home: Path) -> FindingRun:
    chance = Chance(seed).fork("findings")
    base = draw_healthy_cluster(chance)
    with World(home, seed=seed, latency_ms=(0.0, 5.0)) as world:
        opened = _note_findings(world)
        _begin(world, base.actions())
        at_s = 0.0
        for act in sorted(normal_acts(base, chance, HEALTHY_S), key=lambda act: act.after_s):
            world.run(max(0.0, act.after_s - at_s))
            at_s = max(at_s, act.after_s)
            _carry_out(world, act)
        world.run(max(0.0, HEALTHY_S - at_s))
    return FindingRun(seed, (), tuple(each.code for each in opened), WARM_UP_S + HEALTHY_S, tuple(opened))


def _troubled(seed: int, codes: tuple[str, ...], home: Path) -> FindingRun:
    chance, plants = Chance(seed).fork("findings"), [PLANTS[code] for code in codes]
    base = draw_baseline(
        chance, ordered=any(plant.ordered for plant in plants), slave=any(plant.slave for plant in plants)
    )
    refused: set[str] = set()
    with World(home, base.template, seed=seed, latency_ms=(0.0, 5.0)) as world:
        opened = _note_findings(world)
        _begin(world, base.actions())
        at_s = 0.0
        acts = [(act, plant.code) for plant in plants for act in plant.acts(base, chance)]
        for act, code in sorted(acts, key=lambda item: item[0].after_s):
            if code not in refused:
                world.run(max(0.0, act.after_s - at_s))
                at_s = max(at_s, act.after_s)
                try:
                    _carry_out(world, act)
                except ActionRefused:
                    if not act.may_fail:
                        refused.add(code)
        world.run(max(0.0, max(plant.looks_s for plant in plants) - at_s))
    planted = tuple(Planted(code, _after_ms(opened, code), code in refused) for code in codes)
    early = tuple(each.code for each in opened if each.at_ms <= PLANTED_MS)
    return FindingRun(seed, planted, early, WARM_UP_S, tuple(opened))


def _note_findings(world: World) -> list[Opened]:
    """Return the list to which each finding is added as it opens."""
    opened: list[Opened] = []
    world.cluster.journal_files.on_fact(
        lambda entry: (
            opened.append(Opened(entry.at_ms, entry.event.code, entry.event.subject))
            if isinstance(entry.event, FindingOpened)
            else None
        )
    )
    return opened


def _begin(world: World, actions: Iterable[Action]) -> None:
    for action in actions:
        world.act(action)
    world.run(WARM_UP_S)


def _after_ms(opened: list[Opened], code: str) -> int | None:
    times = (each.at_ms - PLANTED_MS for each in opened if each.code == code and each.at_ms > PLANTED_MS)
    return next(times, None)


def _carry_out(world: World, act: Act) -> None:
    if act.call is not None:
        act.call(world)
        return
    world.act(parse_action({"action": act.name, **act.fields}))
