"""The guards of an action in a sandbox, in their order: each lets it pass or raises ActionRefused.

They know roles, not visitors: who may act at all is decided before (`queueviz.sandboxes.guards`).
"""

from collections.abc import Callable

from sandbox.cluster.cluster import Cluster
from sandbox.cluster.lab_progress import LabProgress
from sandbox.cluster.teacher_hold import TeacherHold
from sandbox.control.rights import is_by

Guard = Callable[[Cluster, str, str], None]


def disk(cluster: Cluster, action: str, by: str) -> None:
    """Let pass while the sandbox's journal can be written.  Raises ActionRefused (503)."""
    cluster.disk_full.check()


def hold(cluster: Cluster, action: str, by: str) -> None:
    """Let pass what a course teacher's hold leaves to this role.  Raises ActionRefused (403, 409)."""
    cluster.companion(TeacherHold).check(action, by)


def lab(cluster: Cluster, action: str, by: str) -> None:
    """Let pass what the lab in progress allows; a teacher is not bound by it.  Raises ActionRefused (403)."""
    if not is_by(by, "instructor"):
        cluster.companion(LabProgress).check_allowed(action)


GUARDS: tuple[Guard, ...] = (disk, hold, lab)
