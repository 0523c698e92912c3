"""The findings of a running sandbox: a look every two seconds of its clock, and facts of the journal.

The looks depend on nothing but the cluster, so a run that is executed again has the same findings at the same places.
"""

from collections.abc import Callable

from sandbox.cluster.cluster import Cluster
from sandbox.findings.all_rules import RULES
from sandbox.findings.finding import Finding
from sandbox.findings.history import History
from sandbox.findings.reading import name_of, rows_of
from sandbox.findings.sandbox_view import view_of
from sandbox.findings.tracker import Tracker
from sandbox.findings.view import ClusterView
from sandbox.journal.events import FindingClosed, FindingOpened
from sandbox.queries.rows.findings import Findings

LOOK_EVERY_MS = 2_000


class FindingWatch:
    """`view`: of the last look, None before the first."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._history = History()
        self._over = False
        self.tracker = Tracker(RULES)
        self.view: ClusterView | None = None

    def start(self) -> None:
        self._plan(self._look)

    def stop(self) -> None:
        """End the looks.  What is open is closed in the journal, because nothing is known while the sandbox sleeps."""
        self._over = True
        now_ms = self._cluster.clock.now_ms()
        for each in self.tracker.open:
            self._closed(each.finding, now_ms - each.opened_ms, "asleep")
        self.tracker.open = ()

    def read(self) -> Findings:
        return rows_of(self.tracker, self.view, RULES)

    def _plan(self, look: Callable[[], None]) -> None:
        clock = self._cluster.clock
        clock.call_later((LOOK_EVERY_MS - clock.now_ms() % LOOK_EVERY_MS) / 1000, look)

    def _look(self) -> None:
        if self._over or self._cluster.ended:
            return
        self.view, follows = view_of(self._cluster, self._history)
        changes = self.tracker.update(self.view, follows=follows)
        for finding, lasted_ms in changes.closed:
            self._closed(finding, lasted_ms, "ended")
        for each in changes.opened:
            finding, subject = each.finding, each.finding.subject
            self._cluster.journal.write(
                FindingOpened(
                    finding.code,
                    finding.severity,
                    subject.kind,
                    self._name(finding),
                    subject.group,
                    subject.topic,
                    each.since_ms,
                    each.because_of[0] if each.because_of else "",
                )
            )
        self._plan(self._look)

    def _closed(self, finding: Finding, lasted_ms: int, how: str) -> None:
        subject = finding.subject
        self._cluster.journal.write(
            FindingClosed(finding.code, subject.kind, self._name(finding), subject.group, subject.topic, lasted_ms, how)
        )

    def _name(self, finding: Finding) -> str:
        return name_of(finding.subject, {} if self.view is None else self.view.labels)
