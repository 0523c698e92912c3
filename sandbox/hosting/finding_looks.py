"""The looks for findings of a running sandbox: every two seconds of its clock.

They depend on nothing but the cluster, so a run that is executed again has the same findings at the same places.
While the clock is stopped no look comes: a reader then gets the findings of its own view, one for each event.
"""

from sandbox.cluster.cluster import Cluster
from sandbox.findings.sandbox_view import SandboxViews
from sandbox.findings.watch import FindingWatch
from sandbox.queries.rows.findings import Findings

LOOK_EVERY_MS = 2_000
QUEUES_A_LOOK = 256  # of all groups; with more of them looks are rarer, so that they cost no larger share
MOST_TIMES = 10


class FindingLooks:
    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._over = False
        self._every_ms = LOOK_EVERY_MS
        self._views = SandboxViews(cluster)
        self._watch = FindingWatch(cluster.journal)
        self._standing: tuple[int, int] | None = None  # the event and the time of the view of a stopped clock

    def start(self) -> None:
        clock = self._cluster.clock
        clock.call_later((self._every_ms - clock.now_ms() % self._every_ms) / 1000, self._look)

    def stop(self) -> None:
        """End the looks, before the sandbox sleeps."""
        self._over = True
        self._watch.end(self._cluster.clock.now_ms())

    @property
    def watch(self) -> FindingWatch:
        """The watch with the findings of now, if the clock is stopped; else with those of the last look."""
        cluster = self._cluster
        now = cluster.journal.next_seq, cluster.clock.now_ms()
        if cluster.clock.rate == 0 and not (self._over or cluster.ended) and now != self._standing:
            self._standing = now
            view, _ = self._views.copy().look()
            self._watch.stand(view)
        return self._watch

    def read(self) -> Findings:
        return self.watch.read()

    def _look(self) -> None:
        if not self._over and not self._cluster.ended:
            self.start()  # first: an error in one look is logged, and the next one comes
            view, follows = self._views.look()
            self._watch.look(view, follows=follows)
            self._standing = None
            queues = sum(1 for _ in view.group_queues())
            self._every_ms = LOOK_EVERY_MS * min(MOST_TIMES, 1 + queues // QUEUES_A_LOOK)
