"""The live grid of a course: for its teacher alone, a row a student, and what changed and nothing else."""

from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.test import Client
from django.utils import timezone

from queueviz.models import Course, Enrolment, Sandbox
from tests.web.clusters import account, browser_of
from tests.web.courses import LAB, begun, joined, new_course
from tests.web.fake_port import FakePort
from tests.web.tabs import OWN, hear, opened, say

pytestmark = pytest.mark.django_db(transaction=True)

TILE: dict[str, Any] = {
    "lab": "4",
    "step": 1,
    "steps": 2,
    "phase": "do",
    "sealed": False,
    "failed": 0,
    "acted_ms": 1,
    "at_ms": 1,
    "rate": 1.0,
    "frozen": False,
    "acts": None,
    "effect": None,
    "lives": {},
    "group": "readers",
    "topic": "orders",
    "strips": ["3/1d/0"],
}


class Lesson:
    def __init__(self, port: FakePort) -> None:
        self.port = port
        self.teacher = browser_of(account("teacher"))
        self.course = new_course(self.teacher, LAB, title="101")
        self.students = [joined(self.course, name) for name in ("Otter", "Lynx")]
        self.sandbox = begun(self.course, self.students[0])
        Enrolment.objects.update(seen_at=timezone.now())
        self.show(1)

    def show(self, seq: int, **changed: Any) -> None:
        self.port.show(f"tile/{self.sandbox.slug}", {"tile": {**TILE, **changed}}, seq=seq)

    @property
    def name(self) -> str:
        return f"grid/{self.course.slug}"


@pytest.fixture
def lesson(port: FakePort) -> Lesson:
    return Lesson(port)


def cookie(browser: Client) -> tuple[bytes, bytes]:
    return (b"cookie", f"sessionid={browser.cookies['sessionid'].value}".encode())


async def test_the_teacher_sees_a_row_a_student_and_then_only_what_changes(lesson: Lesson) -> None:
    tab = await opened(OWN, cookie(lesson.teacher))
    await say(tab, k="sub", ch=lesson.name)
    first = await hear(tab)
    assert first["k"] == "snap"
    otter, lynx = first["data"]["tiles"].values()
    assert (otter["name"], otter["state"], otter["strips"], otter["shown"]) == ("Otter", "working", ["3/1d/0"], True)
    assert (lynx["name"], lynx["state"]) == ("Lynx", "waiting")
    assert first["data"]["course"] == {"title": "101", "students": 2, "working": 1, "waiting": 1}
    lesson.show(2, strips=["9/1d/0"])
    second = await hear(tab)
    [changed] = second["set"]["tiles"].values()
    assert (second["k"], changed) == ("delta", {"strips": ["9/1d/0"]})
    await tab.disconnect()


async def test_the_grid_of_a_thousand_students_is_sent_too(lesson: Lesson) -> None:
    await Enrolment.objects.abulk_create(
        Enrolment(course=lesson.course, pseudonym=f"Student {n}", digest=str(n), note="x" * 280) for n in range(998)
    )
    tab = await opened(OWN, cookie(lesson.teacher))
    await say(tab, k="sub", ch=lesson.name)
    first = await hear(tab)
    assert (first["k"], first["data"]["course"]["students"]) == ("snap", 1_000)
    await tab.disconnect()


async def test_no_one_but_the_teacher_sees_it_and_no_one_learns_that_it_is_there(lesson: Lesson) -> None:
    other = await sync_to_async(lambda: browser_of(account("other")))()
    for headers in ((OWN, cookie(lesson.students[0])), (OWN, cookie(other)), (OWN,)):
        tab = await opened(*headers)
        for name in (lesson.name, "grid/no-such-course", "grid/", f"{lesson.name}/x"):
            await say(tab, k="sub", ch=name)
            assert await hear(tab) == {"k": "end", "ch": name, "reason": "unknown"}
        await tab.disconnect()


async def test_while_the_page_is_open_what_the_teacher_holds_is_renewed_and_then_no_more(lesson: Lesson) -> None:
    tab = await opened(OWN, cookie(lesson.teacher))
    await say(tab, k="sub", ch=lesson.name)
    assert (await hear(tab))["k"] == "snap"
    assert lesson.port.renewed == [lesson.sandbox.slug]
    await tab.disconnect()
    lesson.show(2, strips=["9/1d/0"])
    other = await opened(OWN, cookie(lesson.students[0]))
    await say(other, k="sub", ch=lesson.name)
    await hear(other)
    assert lesson.port.renewed == [lesson.sandbox.slug], "a student's page holds nothing"
    await other.disconnect()


async def test_a_course_that_is_deleted_ends_its_grid(lesson: Lesson) -> None:
    tab = await opened(OWN, cookie(lesson.teacher))
    await say(tab, k="sub", ch=lesson.name)
    assert (await hear(tab))["k"] == "snap"
    await Sandbox.objects.all().adelete()
    await Course.objects.all().adelete()
    while (heard := await hear(tab))["k"] == "delta":
        pass
    assert heard["k"] == "end"
    await tab.disconnect()
