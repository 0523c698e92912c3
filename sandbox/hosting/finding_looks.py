"""The looks for findings of a running sandbox: every two seconds of its clock.

They depend on nothing but the cluster, so a run that is executed again has the same findings at the same places.
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
        self.watch = FindingWatch(cluster.journal)

    def start(self) -> None:
        clock = self._cluster.clock
        clock.call_later((self._every_ms - clock.now_ms() % self._every_ms) / 1000, self._look)

    def stop(self) -> None:
        """End the looks, before the sandbox sleeps."""
        self._over = True
        self.watch.end(self._cluster.clock.now_ms())

    def read(self) -> Findings:
        return self.watch.read()

    def _look(self) -> None:
        if not self._over and not self._cluster.ended:
            self.start()  # first: an error in one look is logged, and the next one comes
            view, follows = self._views.look()
            self.watch.look(view, follows=follows)
            queues = sum(1 for _ in view.group_queues())
            self._every_ms = LOOK_EVERY_MS * min(MOST_TIMES, 1 + queues // QUEUES_A_LOOK)
