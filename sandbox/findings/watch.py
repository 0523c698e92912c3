"""The findings of one cluster over time: looks at views, and writes what opens and closes to a journal."""

from sandbox.findings.all_rules import RULES
from sandbox.findings.finding import Finding
from sandbox.findings.reading import mark_of, name_of, rows_of, sentences_of
from sandbox.findings.tracker import Key, OpenFinding, Tracker
from sandbox.findings.view import ClusterView
from sandbox.journal.events import FindingClosed, FindingOpened
from sandbox.journal.journal import Journal
from sandbox.queries.rows.findings import FindingMark, Findings
from sandbox.queries.rows.group_states import Groups

MOST_NAMES = 128  # of marks in one fact, and of what it touches: a board has 64 strips


class FindingWatch:
    """`view`: of the last look, None before the first.

    `shown`: the findings of pages with their view: that of the last look, or a later one while the clock is stopped.
    """

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self.tracker = Tracker(RULES)
        self.view: ClusterView | None = None
        self.shown: tuple[tuple[OpenFinding, ...], ClusterView | None] = (), None
        self._stood: frozenset[Key] = frozenset()  # shown while the clock was stopped

    def look(self, view: ClusterView, *, follows: bool) -> None:
        """Look at the next view; `follows` is False after a gap (`History.begin`)."""
        self.view = view
        changes = self.tracker.update(view, follows=follows)
        self._stood = frozenset(filter(self.tracker.is_tracked, self._stood))
        self.shown = self.tracker.shown(view.at_ms, self._stood), view
        for finding, lasted_ms in changes.closed:
            self._closed(finding, lasted_ms, "ended")
        for each in changes.opened:
            finding, subject = each.finding, each.finding.subject
            self._journal.write(
                FindingOpened(
                    finding.code,
                    finding.severity,
                    subject.kind,
                    self._name(finding),
                    subject.group,
                    subject.topic,
                    each.since_ms,
                    each.because_of[0] if each.because_of else "",
                    tuple((row["sentence"], row["values"]) for row in sentences_of(finding, view.labels)),
                    finding.marks[:MOST_NAMES],
                    tuple(sorted(finding.touches)[:MOST_NAMES]),
                )
            )

    def stand(self, view: ClusterView) -> None:
        """Show the findings of a view of a stopped clock; the journal and the next look do not depend on it."""
        self.shown = self.tracker.standing(view), view
        self._stood = frozenset(each.finding.key for each in self.shown[0])

    def end(self, now_ms: int) -> None:
        """Close what is open, because nothing is known from now on."""
        for each in self.tracker.open:
            self._closed(each.finding, now_ms - each.opened_ms, "asleep")
        self.tracker.open = ()
        self.shown = (), self.view

    def read(self) -> Findings:
        return rows_of(*self.shown, RULES)

    def mark(self, group: str | None = None) -> FindingMark | None:
        """Return the worst finding of a group, or of the cluster, for a list."""
        return mark_of(*self.shown, group)

    def marked(self, groups: Groups) -> Groups:
        """Return the states of groups with their worst findings."""
        return {"groups": {name: {**row, "finding": self.mark(name)} for name, row in groups["groups"].items()}}

    def _closed(self, finding: Finding, lasted_ms: int, how: str) -> None:
        subject = finding.subject
        self._journal.write(
            FindingClosed(finding.code, subject.kind, self._name(finding), subject.group, subject.topic, lasted_ms, how)
        )

    def _name(self, finding: Finding) -> str:
        return name_of(finding.subject, {} if self.view is None else self.view.labels)
