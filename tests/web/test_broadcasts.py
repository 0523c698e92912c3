"""A teacher's broadcast: who gets it, what is said of it, and who may not."""

from typing import Any

import pytest
from django.test import Client

from queueviz.models import Sandbox
from sandbox.kernel.errors import ActionRefused
from tests.web.clusters import account, browser_of
from tests.web.courses import LAB, begun, joined, new_course
from tests.web.fake_port import FakePort

pytestmark = pytest.mark.django_db


class Lesson:
    """A course with three students, who all have begun the lab."""

    def __init__(self, port: FakePort) -> None:
        self.port = port
        self.teacher = browser_of(account("teacher"))
        self.course = new_course(self.teacher, LAB, title="101")
        self.students = [joined(self.course, name) for name in ("Otter", "Lynx", "Wren")]
        self.sandboxes: list[Sandbox] = [begun(self.course, student) for student in self.students]

    def send(self, who: Client | None = None, **given: Any) -> Any:
        return (who or self.teacher).post(f"/c/{self.course.slug}/broadcast/", given)

    @property
    def numbers(self) -> list[int]:
        return list(self.course.enrolments.order_by("pk").values_list("pk", flat=True))


@pytest.fixture
def lesson(port: FakePort) -> Lesson:
    return Lesson(port)


def test_all_get_it_in_the_name_of_the_teacher(lesson: Lesson) -> None:
    answer = lesson.send(kind="crash_member").json()
    assert (answer["done"], answer["asleep"], answer["refused"], answer["off_ms"]) == (3, 0, [], 0)
    assert lesson.port.intervened == [(one.slug, "crash_member", "instructor teacher") for one in lesson.sandboxes]


def test_those_that_sleep_are_counted_and_skipped(lesson: Lesson) -> None:
    lesson.port.sandboxes[lesson.sandboxes[1].slug] = "asleep"
    answer = lesson.send(kind="freeze").json()
    assert (answer["done"], answer["asleep"]) == (2, 1)


def test_a_sandbox_that_has_nothing_to_break_is_named_with_its_reason(lesson: Lesson) -> None:
    lesson.port.refuse["intervene"] = ActionRefused(409, "No member is running.")
    answer = lesson.send(kind="crash_member").json()
    assert (answer["done"], answer["refused"]) == (2, [{"name": "Otter", "why": "No member is running."}])


def test_some_are_chosen_by_their_numbers(lesson: Lesson) -> None:
    lesson.send(kind="take_over", students=lesson.numbers[1])
    assert [slug for slug, _, _ in lesson.port.intervened] == [lesson.sandboxes[1].slug]


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"kind": "delete_all"}, "kind"),
        ({"kind": "freeze", "in_s": "31"}, "in_s"),
        ({"kind": "freeze", "in_s": "-1"}, "in_s"),
        ({"kind": "freeze", "students": "999999"}, "students"),
        ({"kind": "freeze", "students": "x"}, "students"),
    ],
)
def test_what_cannot_be_read_is_refused_and_nothing_is_done(lesson: Lesson, given: dict[str, str], field: str) -> None:
    answer = lesson.send(**given)
    assert (answer.status_code, answer.json()["field"]) == (422, field)
    assert lesson.port.intervened == []


def test_a_student_broadcasts_nothing(lesson: Lesson) -> None:
    assert lesson.send(lesson.students[0], kind="freeze").status_code == 403
    assert lesson.send(Client(), kind="freeze").status_code == 404
    assert lesson.port.intervened == []


def test_a_flood_of_broadcasts_ends(lesson: Lesson) -> None:
    statuses = [lesson.send(kind="freeze").status_code for _ in range(14)]
    assert statuses[:12] == [200] * 12
    assert statuses[-1] == 429
