"""The findings that are open: a condition has to hold for its rule's time before it opens, and before it closes."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from sandbox.findings.finding import MEMBER, QUEUE, WORST_FIRST, Finding, Subject
from sandbox.findings.rule import Rule
from sandbox.findings.view import ClusterView

Key = tuple[str, Subject]
NARROW = frozenset({QUEUE, MEMBER})
MOST_OPEN = 200  # findings of one cluster
GONE_MS = 2_000  # pages no longer show a finding whose condition is absent for so long: its sentences would be old


@dataclass(slots=True)
class Tracked:
    """`since_ms`: when the condition began; `absent_ms`: since when it does not hold; None: it holds."""

    finding: Finding
    since_ms: int
    opened_ms: int | None = None
    absent_ms: int | None = None


class OpenFinding(NamedTuple):
    """`because_of`: the key of the open finding that explains it, or None."""

    finding: Finding
    since_ms: int
    opened_ms: int
    because_of: Key | None


class Changes(NamedTuple):
    """`closed` have the time in ms for which each was open."""

    opened: tuple[OpenFinding, ...]
    closed: tuple[tuple[Finding, int], ...]


class Tracker:
    def __init__(self, rules: Sequence[Rule]) -> None:
        self._rules = rules
        self._by_code = {rule.code: rule for rule in rules}
        self._tracked: dict[Key, Tracked] = {}
        self.open: tuple[OpenFinding, ...] = ()

    def update(self, view: ClusterView, *, follows: bool = True) -> Changes:
        """Look at a view and return what opened and closed.

        `follows`: False after a gap; findings that were open then stay open while their condition holds, and the
        others close at once.
        """
        at_ms, now = view.at_ms, self._found(view)
        if not follows:
            self._tracked = {key: each for key, each in self._tracked.items() if each.opened_ms is not None}
        opened: list[Key] = []
        for key, finding in now.items():
            tracked = self._tracked.get(key)
            if tracked is None:
                if len(self._tracked) >= MOST_OPEN:
                    continue
                tracked = self._tracked[key] = Tracked(finding, min(finding.since_ms or at_ms, at_ms))
            tracked.finding, tracked.absent_ms = finding, None
            if finding.since_ms is not None:
                tracked.since_ms = finding.since_ms
            if tracked.opened_ms is None and at_ms - tracked.since_ms >= self._by_code[key[0]].hold_ms:
                tracked.opened_ms = at_ms
                opened.append(key)
        closed = self._leave(now.keys(), at_ms, follows)
        self.open = self._ranked(self._tracked.values())
        return Changes(tuple(each for each in self.open if each.finding.key in opened), tuple(closed))

    def shown(self, at_ms: int, stood: Collection[Key] = ()) -> tuple[OpenFinding, ...]:
        """Return the open findings without those whose conditions ended `GONE_MS` ago.

        `stood`: findings that pages have shown while the clock was stopped: they stay while their conditions hold.
        """
        gone = {
            key
            for key, each in self._tracked.items()
            if each.absent_ms is not None and at_ms - each.absent_ms >= GONE_MS
        }
        early = {
            key: replace(each, opened_ms=at_ms)
            for key, each in self._tracked.items()
            if each.opened_ms is None and key in stood
        }
        if not gone and not early:
            return self.open
        return self._ranked(early.get(key, each) for key, each in self._tracked.items() if key not in gone)

    def is_tracked(self, key: Key) -> bool:
        """Return True if the condition of this finding holds, or held a moment ago."""
        return key in self._tracked

    def standing(self, view: ClusterView) -> tuple[OpenFinding, ...]:
        """Return what holds in a view of a stopped clock, and keep nothing of it.

        A finding needs its holding time, as always, or a rule `of_moment`.
        """
        holding: list[Tracked] = []
        for key, finding in self._found(view).items():
            rule, known = self._by_code[key[0]], self._tracked.get(key)
            since_ms = finding.since_ms or (known.since_ms if known is not None else view.at_ms)
            opened_ms = known.opened_ms if known is not None else None
            if opened_ms is None and (rule.of_moment or view.at_ms - since_ms >= rule.hold_ms):
                opened_ms = view.at_ms
            holding.append(Tracked(finding, since_ms, opened_ms))
        return self._ranked(holding[:MOST_OPEN])

    def _found(self, view: ClusterView) -> dict[Key, Finding]:
        now = {finding.key: finding for rule in self._rules for finding in rule.find(view)}
        return now | self._lasting(view, now)

    def _ranked(self, tracked: Iterable[Tracked]) -> tuple[OpenFinding, ...]:
        rows = [(each.finding, each.since_ms, each.opened_ms) for each in tracked if each.opened_ms is not None]
        return ranked(rows, self._by_code)

    def _lasting(self, view: ClusterView, now: Mapping[Key, Finding]) -> dict[Key, Finding]:
        """Return the open findings that go on although their conditions do not hold now."""
        opened = [(key, each.finding) for key, each in self._tracked.items() if each.opened_ms is not None]
        lasting = [self._by_code[key[0]].stays(view, finding) for key, finding in opened if key not in now]
        return {finding.key: finding for finding in lasting if finding is not None}

    def _leave(self, now: Iterable[Key], at_ms: int, follows: bool) -> list[tuple[Finding, int]]:
        closed: list[tuple[Finding, int]] = []
        for key in [key for key in self._tracked if key not in now]:
            tracked = self._tracked[key]
            if tracked.opened_ms is None:
                del self._tracked[key]
                continue
            if tracked.absent_ms is None:
                tracked.absent_ms = at_ms
            if not follows or at_ms - tracked.absent_ms >= self._by_code[key[0]].hold_ms:
                del self._tracked[key]
                closed.append((tracked.finding, at_ms - tracked.opened_ms))
        return closed


def ranked(rows: list[tuple[Finding, int, int]], rules: dict[str, Rule]) -> tuple[OpenFinding, ...]:
    """Return the findings, the worst first, each with its cause among them; of equal ones the oldest first.

    A finding is because of the first open one whose code its rule names, which touches one of its subjects, and which
    had begun when it opened.
    """
    rows = sorted(rows, key=lambda row: (WORST_FIRST.index(row[0].severity), row[1], row[0].key))
    causes = {finding.key: _cause(finding, opened_ms, rows, rules) for finding, _, opened_ms in rows}
    return tuple(
        OpenFinding(finding, since_ms, opened_ms, causes[finding.key]) for finding, since_ms, opened_ms in rows
    )


def _cause(
    finding: Finding, opened_ms: int, rows: list[tuple[Finding, int, int]], rules: dict[str, Rule]
) -> Key | None:
    begun = [other for other, since_ms, _ in rows if since_ms <= opened_ms and other.key != finding.key]
    for code in rules[finding.code].because_of:
        for other in begun:
            if other.code == code and are_related(other, finding):
                return other.key
    return None


def are_related(cause: Finding, finding: Finding) -> bool:
    """Return whether both touch one name.

    A finding about a queue or a member is not explained by what happens to others of its group: where both findings
    touch queues, or members, they share one of them.
    """
    shared = cause.touches & finding.touches
    if finding.subject.kind in NARROW and _kinds(cause.touches) & _kinds(finding.touches):
        return bool(_kinds(shared))
    return bool(shared)


def _kinds(touches: Iterable[str]) -> set[str]:
    return {name.partition(" ")[0] for name in touches} & NARROW
