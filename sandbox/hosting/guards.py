"""Guards of an action in a sandbox, in their order: each returns or raises ActionRefused.

Guards check roles, not visitors: the visitor's right to act is checked before (`queueviz.sandboxes.guards`).
"""

from collections.abc import Callable

from sandbox.cluster.cluster import Cluster
from sandbox.cluster.lab_progress import LabProgress
from sandbox.cluster.teacher_hold import TeacherHold
from sandbox.control.rights import is_by

Guard = Callable[[Cluster, str, str], None]


def disk(cluster: Cluster, action: str, by: str) -> None:
    """Raise ActionRefused (503) if the sandbox's journal cannot be written."""
    cluster.disk_full.check()


def hold(cluster: Cluster, action: str, by: str) -> None:
    """Raise ActionRefused (403, 409) if a course teacher's hold forbids the action to this role."""
    cluster.companion(TeacherHold).check(action, by)


def lab(cluster: Cluster, action: str, by: str) -> None:
    """Raise ActionRefused (403) if the lab in progress forbids the action; a teacher may do everything."""
    if not is_by(by, "instructor"):
        cluster.companion(LabProgress).check_allowed(action)


GUARDS: tuple[Guard, ...] = (disk, hold, lab)
