"""Each guard of an action in a sandbox refuses for its own reason, and lets everything else pass."""

from pathlib import Path

import pytest

from sandbox.cluster.cluster import Cluster
from sandbox.cluster.lab_progress import LabProgress
from sandbox.cluster.teacher_hold import TeacherHold
from sandbox.hosting import guards
from sandbox.kernel.errors import ActionRefused
from sandbox.simulation.world import World

STUDENT, TEACHER = "student Otter", "instructor ada"


@pytest.fixture
def cluster(tmp_path: Path) -> Cluster:
    return World(tmp_path, seed=1).sandbox.cluster


def refused(guard: guards.Guard, cluster: Cluster, action: str, by: str) -> int | None:
    """Return the status of the refusal; None: the guard lets the action pass."""
    try:
        guard(cluster, action, by)
    except ActionRefused as error:
        return error.status
    return None


def test_a_full_disk_comes_first_then_the_teacher_s_hold_then_the_lab() -> None:
    assert (guards.disk, guards.hold, guards.lab) == guards.GUARDS


def test_the_disk_refuses_all_while_the_journal_cannot_be_written(cluster: Cluster) -> None:
    assert refused(guards.disk, cluster, "CrashActor", STUDENT) is None
    cluster.disk_full.why = "no space left on device"
    assert refused(guards.disk, cluster, "CrashActor", TEACHER) == 503


def test_the_hold_refuses_a_student_whose_teacher_has_taken_over(cluster: Cluster) -> None:
    cluster.companion(TeacherHold).take_over("ada")
    assert refused(guards.hold, cluster, "CrashActor", STUDENT) == 409
    assert refused(guards.hold, cluster, "AnswerStep", STUDENT) is None
    assert refused(guards.hold, cluster, "AnswerStep", TEACHER) == 403


def test_the_lab_refuses_what_it_does_not_use_and_not_to_a_teacher(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: LabProgress, action: str) -> None:
        raise ActionRefused(403, "Lab {lab} does not use {action}.", lab=4, action=action)

    monkeypatch.setattr(LabProgress, "check_allowed", refuse)
    assert refused(guards.lab, cluster, "CrashActor", STUDENT) == 403
    assert refused(guards.lab, cluster, "CrashActor", TEACHER) is None
