"""A made-up engine in small steps: a process that may be stopped between any two of them, around the real `Lease`."""

from __future__ import annotations

from collections.abc import Callable, Generator
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

from sandbox.hosting.lease import (
    LEASE_S,
    MARGIN_S,
    RENEW_EVERY_S,
    RETRY_EVERY_S,
    Figures,
    Held,
    HeldElsewhere,
    Lease,
    LeaseLost,
    LeaseUnreachable,
)

if TYPE_CHECKING:
    from sandbox.kernel.chance import Chance
    from tests.sim.lease_checker import Inode
    from tests.sim.lease_world import LeaseWorld, Machine

Steps = Generator[float, None, Any]  # seconds until the next one

TIMEOUT_S = 2.0  # an answer of the table is waited for no longer
CLAIM_EVERY_S = 1.0
MESSAGES_AT_ONCE = 8  # copied in one step


class Rules(NamedTuple):
    """The rules that separate two engines; a planted fault breaks one of them."""

    margin_s: float = MARGIN_S
    table_lease_s: float = LEASE_S
    counts_from_sending: bool = True
    checks_before_acknowledging: bool = True
    copies: bool = True  # what was never given back
    numbers_copies: bool = True
    opens_own: bool = True  # and not what others have copied since
    checks_before_discarding: bool = True  # files from before the copy
    says_uncopied: bool = True  # when it gives back what it never copied


class Clock:
    """The machine's.  `held_s`: of the moment a question was sent, while its answer is given to the lease."""

    def __init__(self, now_s: Callable[[], float]) -> None:
        self._now_s = now_s
        self.held_s: float | None = None

    def __call__(self) -> float:
        return self._now_s() if self.held_s is None else self.held_s


class Answered:
    """A table that gives the answer which the wire has brought."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.answer: Any = None

    def __getattr__(self, verb: str) -> Callable[..., Any]:
        return self._give

    def _give(self, *given: object, **named: object) -> Any:
        self._clock.held_s = None
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


class Process:
    """One incarnation of an engine.  `is_over`: it has noticed that it lost its lease, or was ended cleanly."""

    def __init__(self, world: LeaseWorld, machine: Machine, engine: str, chance: Chance, rules: Rules) -> None:
        self.engine = engine
        self.has: dict[str, int] = {}
        self.open: set[str] = set()
        self.stopped_until_s = 0.0
        self.at_risk = 0  # of its tasks: in the midst of what a stop would hit most
        self.is_killed = self.is_over = self.is_stopping = False
        self._world, self.machine, self._chance, self._rules = world, machine, chance, rules
        self._clock = Clock(machine.clock_s)
        self._table = Answered(self._clock)
        self._lease = Lease(self._table, engine, self._clock, margin_s=rules.margin_s)
        self._messages = count(world.numbers_from())

    @property
    def may_write(self) -> bool:
        return not self.is_killed and self._lease.is_good

    def run(self) -> Steps:
        try:
            yield from self._risky(self._ask("enlist", "enlist", self.machine.name, "host"))
        except (LeaseLost, LeaseUnreachable):
            self.is_over = True
            return
        for slug in self._world.slugs:
            self._world.begin(self, self._serve(slug))
        self._world.begin(self, self._renew())

    def _renew(self) -> Steps:
        try:
            while not (self.is_stopping and not self.has):
                try:
                    yield from self._risky(self._ask("renew", "renew_once", Figures()))
                    yield RENEW_EVERY_S
                except LeaseUnreachable:
                    yield RETRY_EVERY_S
            yield from self._until_answered("retire", "retire")
        except LeaseLost:
            self._world.checker.counts["leases lost"] += 1
        self.is_over = True

    def _serve(self, slug: str) -> Steps:
        try:
            while not self.is_stopping:
                yield self._chance.between(0.1, CLAIM_EVERY_S)
                try:
                    held = yield from self._until_answered("claim", "claim", slug)
                except HeldElsewhere:
                    continue
                self.has[slug] = held.fence
                yield from self._open(slug, held)
                self.has.pop(slug, None)
                self.open.discard(slug)
        except LeaseLost:
            self.has.pop(slug, None)
            self.open.discard(slug)
            self.is_over = True

    def _open(self, slug: str, held: Held) -> Steps:
        if not held.is_clean and self._rules.copies:
            self._world.checker.counts["taken"] += 1
            if self._chance.random() < 0.1:  # it cannot be copied here
                self.has.pop(slug)
                yield from self._until_answered("give_back", "give_back", slug, is_clean=not self._rules.says_uncopied)
                return
            yield from self._risky(self._copy(slug, held.fence))
        yield from self._write(slug, (yield from self._opened(slug, held.fence)))
        self.has.pop(slug)
        self.open.discard(slug)
        yield self._short()
        yield from self._until_answered("give_back", "give_back", slug)

    def _copy(self, slug: str, fence: int) -> Steps:
        copies = self._world.copies[slug]
        if (found := copies.newest(fence)) is None:
            return
        copied: Inode = []
        is_fast = self._world.is_calm or self._chance.random() < 0.5
        while len(copied) < len(found[1]):
            copied += found[1][len(copied) :][:MESSAGES_AT_ONCE]
            yield self._short() if is_fast else self._chance.between(0.1, 1.0)
        copies.numbered[fence if self._rules.numbers_copies else 0] = copied
        if not self._rules.checks_before_discarding:
            copies.discard_below(fence)

    def _opened(self, slug: str, fence: int) -> Steps:
        copies = self._world.copies[slug]
        yield from self._check(slug)
        found = copies.newest(fence if self._rules.opens_own else None)
        if found is None:
            found = fence if self._rules.numbers_copies else 0, []
            copies.numbered[found[0]] = found[1]
        self._world.checker.opened(self, slug, fence, found[1])
        found[1].append(next(self._messages))  # what recovery writes
        self._world.checker.wrote(self, slug, found[1])
        self.open.add(slug)
        yield self._short()
        copies.discard_below(found[0])
        return found[1]

    def _write(self, slug: str, inode: Inode) -> Steps:
        ends_s = self._world.now_s + self._chance.between(2.0, 25.0)
        while self._world.is_calm or not (self._world.now_s > ends_s or self.is_stopping):
            yield self._chance.between(0.1, 1.2)
            yield from self._check(slug)
            message = next(self._messages)
            inode.append(message)
            self._world.checker.wrote(self, slug, inode)
            yield self._short()
            if self._rules.checks_before_acknowledging:
                yield from self._check(slug)
            self._world.checker.acknowledged(slug, message, self._world.copies[slug])
        yield from self._check(slug)
        inode.append(next(self._messages))  # what a close writes; no one is waiting for it
        self._world.checker.wrote(self, slug, inode)

    def _check(self, slug: str) -> Steps:
        self._lease.check()
        self._world.passed(self, slug)
        yield self._short()

    def _until_answered(self, *question: Any, **named: Any) -> Steps:
        while True:
            try:
                return (yield from self._risky(self._ask(*question, **named)))
            except LeaseUnreachable:
                yield RETRY_EVERY_S

    def _ask(self, verb: str, of_lease: str, *given: Any, **named: Any) -> Steps:
        """Apply the lease's rule to the table's response, with the state at the time of the request."""
        if verb != "enlist":
            self._lease.check()
        sent_s = self._clock()
        yield self._way()
        answer: Any = LeaseUnreachable("no answer")
        if self.machine.reaches_database:
            answer = self._world.asked(verb, self.engine, given, named)
        yield self._way()
        if not self.machine.reaches_database or self._chance.random() < 0.01:
            answer = LeaseUnreachable("no answer")
        if isinstance(answer, LeaseUnreachable):
            yield TIMEOUT_S
        self._table.answer = answer
        if self._rules.counts_from_sending:
            self._clock.held_s = sent_s
        try:
            return getattr(self._lease, of_lease)(*given, **named)
        finally:
            self._clock.held_s = None

    def _risky(self, steps: Steps) -> Steps:
        self.at_risk += 1
        try:
            return (yield from steps)
        finally:
            self.at_risk -= 1

    def _way(self) -> float:
        if not self._world.is_calm and self._chance.random() < 0.03:
            return self._chance.between(0.2, 1.5)
        return self._chance.between(0.002, 0.03)

    def _short(self) -> float:
        return self._chance.between(0.001, 0.05)
