"""Each guard of a visitor's action refuses for its own reason, and lets everything else pass."""

from datetime import timedelta

import pytest
from django.utils import timezone

from queueviz.access.policy import Forbidden, Visit
from queueviz.access.visitor import Visitor
from queueviz.models import Course, Sandbox
from queueviz.sandboxes import guards
from queueviz.sandboxes.ownership import DEMO_SLUG
from sandbox.control.actions import Action, AnswerStep, CrashActor, ForceUnlock, SendMessages
from sandbox.kernel.errors import ActionRefused
from tests.web.clusters import account, browser_of
from tests.web.courses import LAB, begun, joined, new_course
from tests.web.fake_port import FakePort

pytestmark = pytest.mark.django_db

NEXT = AnswerStep(lab=LAB, step=2, part="predict", value="1", key="k1", attempt=1)


@pytest.fixture
def student(port: FakePort) -> Visit:
    course = new_course(browser_of(account("teacher")), LAB, title="101")
    return Visit(begun(course, joined(course, "Okapi")), "student")


def status(guard: guards.Guard, visit: Visit, action: Action) -> int | None:
    """Return the status of the refusal; None: the guard lets the action pass unchanged."""
    try:
        assert guard(Visitor(address="10.0.0.1"), visit, action) == action
    except Forbidden:
        return 403
    except ActionRefused as error:
        return error.status
    return None


def test_rights_come_first_then_the_demo_then_the_date_then_the_pace() -> None:
    assert (guards.right, guards.demo_size, guards.deadline, guards.pace) == guards.GUARDS


def test_a_role_carries_out_what_its_rights_have(student: Visit) -> None:
    assert status(guards.right, student, CrashActor(actor="A")) is None
    assert status(guards.right, Visit(student.sandbox, "viewer"), CrashActor(actor="A")) == 403


def test_the_demo_cuts_an_action_to_its_size_and_refuses_others() -> None:
    visit = Visit(Sandbox(slug=DEMO_SLUG, of_host=True), "viewer")
    sent = guards.demo_size(Visitor(address="10.0.0.2"), visit, SendMessages(topic="orders", count=9_000))
    assert sent == SendMessages(topic="orders", count=50)
    assert status(guards.demo_size, visit, ForceUnlock(group="g", broker="broker-a", topic="orders", queue_id=0)) == 403


def test_a_student_acts_until_the_course_is_due(student: Visit) -> None:
    assert status(guards.deadline, student, CrashActor(actor="A")) is None
    Course.objects.update(due_at=timezone.now() - timedelta(days=1))
    assert status(guards.deadline, student, CrashActor(actor="A")) == 409
    assert status(guards.deadline, Visit(student.sandbox, "instructor"), CrashActor(actor="A")) is None


def test_a_student_answers_the_steps_that_the_teacher_opened(student: Visit) -> None:
    assert status(guards.pace, student, NEXT) is None
    Course.objects.update(open_until={LAB: 1})
    held = Visit(Sandbox.objects.get(pk=student.sandbox.pk), "student")
    assert status(guards.pace, held, NEXT) == 409
    assert status(guards.pace, Visit(held.sandbox, "instructor"), NEXT) is None
