"""Engines on machines over one table of leases and one place for files, in virtual time; a seed is a run.

Machines' clocks drift, processes are stopped and killed between any two steps, the table is out of reach of some, and
its clock is set back.
"""

from collections.abc import Sequence
from heapq import heappop, heappush
from itertools import count
from typing import Any, NamedTuple

from sandbox.hosting.lease import HeldElsewhere, LeaseLost
from sandbox.kernel.chance import Chance
from tests.lease_memory import LeasesInMemory
from tests.sim.lease_checker import Checker, Copies
from tests.sim.lease_engine import Process, Rules, Steps

TROUBLES_S = 70.0
OPEN_WITHIN_S = 15.0  # of the last trouble
DRIFT_S = 2.0  # over a run, and perhaps all of it within one lease
STOP_S = 30.0
STOPS, STOPS_AT_RISK = 0.003, 0.015  # of a process, for each of its steps
SET_BACK_S = 2.0  # of the table's clock, together


class Span(NamedTuple):
    begin_s: float
    end_s: float

    def has(self, now_s: float) -> bool:
        return self.begin_s <= now_s < self.end_s

    def part(self, now_s: float) -> float:
        """Return the finished part of the run, from 0 to 1."""
        return min(1.0, max(0.0, (now_s - self.begin_s) / (self.end_s - self.begin_s)))


class Machine:
    def __init__(self, world: "LeaseWorld", name: str, chance: Chance) -> None:
        self.name = name
        self._world = world
        self._ahead_s = chance.between(0.0, 1_000.0)
        self._drift_s = chance.choice((-1.0, -1.0, 1.0)) * chance.between(DRIFT_S / 2, DRIFT_S)  # slow is what harms
        self._drifts = span(chance, chance.choice((5.0, 10.0, 20.0, TROUBLES_S)))
        self._outages = [span(chance, chance.between(1.0, 25.0)) for _ in range(chance.below(3))]

    def clock_s(self) -> float:
        now_s = self._world.now_s
        return self._ahead_s + now_s + self._drift_s * self._drifts.part(now_s)

    @property
    def reaches_database(self) -> bool:
        return not any(outage.has(self._world.now_s) for outage in self._outages)

    def lose_database(self, at_s: float, lasts_s: float) -> None:
        self._outages.append(Span(at_s, min(TROUBLES_S, at_s + lasts_s)))


class LeaseWorld:
    def __init__(self, seed: int, rules: Rules = Rules()) -> None:  # noqa: B008
        self.now_s = 0.0
        self.checker = Checker()
        self._chance = Chance(f"leases/{seed}")
        self._rules = rules
        self._steps: list[tuple[float, int, Process | None, Steps]] = []
        self._numbers = count()
        self._processes: list[Process] = []
        self._table = LeasesInMemory(self._database_s, lease_s=rules.table_lease_s)
        self._set_back = [(span(self._chance, 1.0).begin_s, SET_BACK_S / 2) for _ in range(self._chance.below(3))]
        self.slugs = [f"calm-owl-{letter}" for letter in "abcd"[: 2 + self._chance.below(3)]]
        self.copies = {slug: Copies() for slug in self.slugs}
        for number in range(2 + self._chance.below(4)):
            name = f"engine-{number}"
            chance = self._chance.fork(name)
            self.begin(None, self._kept_running(Machine(self, name, chance), chance))

    @property
    def is_calm(self) -> bool:
        return self.now_s >= TROUBLES_S

    def run(self) -> Sequence[str]:
        """Return the violations in order; the run ends with the first."""
        while self._steps[0][0] < TROUBLES_S + OPEN_WITHIN_S and not self.checker.violations:
            when_s, number, process, steps = heappop(self._steps)
            self.now_s = self.checker.now_s = when_s
            if process is not None and process.is_killed:
                continue
            if process is not None and self._is_stopped(process):
                heappush(self._steps, (process.stopped_until_s, number, process, steps))
                continue
            wait_s = next(steps, None)
            if wait_s is not None:
                heappush(self._steps, (when_s + wait_s, next(self._numbers), process, steps))
        if not self.checker.violations:
            for slug, copies in self.copies.items():
                is_open = any(slug in process.open and process.may_write for process in self._processes)
                self.checker.ended(slug, copies, is_open=is_open)
        return self.checker.violations

    def begin(self, process: Process | None, steps: Steps) -> None:
        heappush(self._steps, (self.now_s, next(self._numbers), process, steps))

    def passed(self, one: Process, slug: str) -> None:
        self.checker.passed(one, slug, self._processes)

    def asked(self, verb: str, engine: str, given: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """The table's answer, or its refusal."""
        of_slug = verb in ("claim", "give_back")
        try:
            return getattr(self._table, verb)(*((*given, engine) if of_slug else (engine, *given)), **named)
        except (LeaseLost, HeldElsewhere) as refused:
            return refused

    def numbers_from(self) -> int:
        """Return the message numbers of a new process."""
        return len(self._processes) * 1_000_000

    def _database_s(self) -> float:
        return self.now_s - sum(by_s for at_s, by_s in self._set_back if at_s <= self.now_s)

    def _is_stopped(self, process: Process) -> bool:
        often = STOPS_AT_RISK if process.at_risk else STOPS
        if process.stopped_until_s <= self.now_s and not self.is_calm and self._chance.random() < often:
            self.checker.counts["stops"] += 1
            longest_s = self._chance.choice((6.0, STOP_S))
            process.stopped_until_s = min(TROUBLES_S, self.now_s + self._chance.between(0.1, longest_s))
            if self._chance.random() < 0.3:
                process.machine.lose_database(process.stopped_until_s + 0.1, self._chance.between(5.0, 20.0))
        return process.stopped_until_s > self.now_s

    def _kept_running(self, machine: Machine, chance: Chance) -> Steps:
        """Another process for each that ends or is killed; those that lost their lease may run on beside it."""
        for incarnation in count():
            engine = f"{machine.name}.{incarnation}"
            process = Process(self, machine, engine, chance.fork(str(incarnation)), self._rules)
            self._processes.append(process)
            self.begin(process, process.run())
            kill_at_s, stop_at_s = (self.now_s + chance.between(1.0, 2 * TROUBLES_S) for _ in "ks")
            while not (process.is_over or process.is_killed):
                yield 0.5
                if not self.is_calm:
                    process.is_killed = self.now_s >= kill_at_s
                    process.is_stopping |= self.now_s >= stop_at_s
            yield chance.between(0.5, 2.0)


def span(chance: Chance, lasts_s: float) -> Span:
    """Somewhere in the time of troubles."""
    begin_s = chance.between(0.0, TROUBLES_S - lasts_s)
    return Span(begin_s, begin_s + lasts_s)
