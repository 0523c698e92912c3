"""The run of one seed: a healthy cluster, one or two planted troubles or none, and the findings that opened."""

from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from sandbox.control.actions import Action, parse_action
from sandbox.journal.events import Entry, FindingClosed, FindingOpened
from sandbox.kernel.chance import Chance
from sandbox.kernel.errors import ActionRefused
from sandbox.simulation.findings.baseline import WARM_UP_S, draw_baseline
from sandbox.simulation.findings.healthy_cluster import draw_healthy_cluster
from sandbox.simulation.findings.normal_life import normal_acts
from sandbox.simulation.findings.plant import Act, Plant
from sandbox.simulation.findings.plants import PLANTS, kinds, partners
from sandbox.simulation.world import BEGIN_MS, World

HEALTHY_S = 600.0
HEALTHY, PAIR = 0, 3
PLANTED_MS = BEGIN_MS + int(WARM_UP_S * 1000)


class Opened(NamedTuple):
    """A finding that opened, `at_ms` of the cluster's clock.  `says`: the names of its sentences."""

    at_ms: int
    code: str
    subject: str
    says: tuple[str, ...] = ()


class Closed(NamedTuple):
    at_ms: int
    code: str
    subject: str


class Noted(NamedTuple):
    """The findings that opened and closed so far."""

    opened: list[Opened]
    closed: list[Closed]


class Planted(NamedTuple):
    """One planted trouble: `after_ms` until its finding opened; None: it did not, or closed too early.

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
        opened = _note_findings(world).opened
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
        noted = _note_findings(world)
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
    planted = tuple(Planted(code, _after_ms(noted, PLANTS[code]), code in refused) for code in codes)
    early = tuple(each.code for each in noted.opened if each.at_ms <= PLANTED_MS)
    return FindingRun(seed, planted, early, WARM_UP_S, tuple(noted.opened))


def _note_findings(world: World) -> Noted:
    """Return the lists to which each finding is added as it opens and closes."""
    noted = Noted([], [])

    def note(entry: Entry) -> None:
        event = entry.event
        if isinstance(event, FindingOpened):
            names = tuple(name for name, _ in event.says)
            noted.opened.append(Opened(entry.at_ms, event.code, event.subject, names))
        elif isinstance(event, FindingClosed):
            noted.closed.append(Closed(entry.at_ms, event.code, event.subject))

    world.cluster.journal_files.on_fact(note)
    return noted


def _begin(world: World, actions: Iterable[Action]) -> None:
    for action in actions:
        world.act(action)
    world.run(WARM_UP_S)


def _after_ms(noted: Noted, plant: Plant) -> int | None:
    fitting = (
        each
        for each in noted.opened
        if each.code == plant.code and each.at_ms > PLANTED_MS and {*plant.says} <= {*each.says}
    )
    first = next(fitting, None)
    if first is None:
        return None
    until_ms = PLANTED_MS + plant.stays_s * 1000
    ended = any(
        (each.code, each.subject) == (first.code, first.subject) and first.at_ms < each.at_ms < until_ms
        for each in noted.closed
    )
    return None if ended else first.at_ms - PLANTED_MS


def _carry_out(world: World, act: Act) -> None:
    if act.call is not None:
        act.call(world)
        return
    world.act(parse_action({"action": act.name, **act.fields}))
