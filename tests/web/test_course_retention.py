"""A course is kept until 90 days after its end, and no sandbox of it ends before."""

from datetime import datetime, timedelta

import pytest
from django.test import Client
from django.utils import timezone

from queueviz.access import policy
from queueviz.access.visitor import Visitor
from queueviz.courses import retention
from queueviz.models import Course, Enrolment, Sandbox
from queueviz.operations import periodic, upkeep
from queueviz.sandboxes import creation
from sandbox.kernel.errors import EngineBusy
from tests.web.courses import LAB, begun, course_of, joined
from tests.web.fake_port import FakePort

pytestmark = pytest.mark.django_db
DAY = timedelta(days=1)
course = course_of(LAB)


def is_over(course: Course, at: datetime) -> bool:
    course.refresh_from_db()
    over = course in retention.over(at)
    assert over == (retention.kept_until(course) < at), "the date that is shown is the one that counts"
    return over


def test_a_course_with_a_date_ends_90_days_after_it_also_if_students_come_back(course: Course) -> None:
    due = timezone.now() + 30 * DAY
    joined(course)
    Course.objects.update(due_at=due)
    Enrolment.objects.update(seen_at=due + 80 * DAY)
    assert not is_over(course, due + 89 * DAY)
    assert is_over(course, due + 91 * DAY)


@pytest.mark.parametrize("sign", ["made", "joined", "seen", "visited"])
def test_a_course_without_a_date_ends_90_days_after_the_last_visit(course: Course, sign: str) -> None:
    long_ago = timezone.now() - 300 * DAY
    begun(course, joined(course))
    last = dict.fromkeys(("made", "joined", "seen", "visited"), long_ago) | {sign: long_ago + 100 * DAY}
    Course.objects.update(created_at=last["made"])
    Enrolment.objects.update(joined_at=last["joined"], seen_at=last["seen"])
    Sandbox.objects.update(visited_at=last["visited"])
    assert not is_over(course, long_ago + 189 * DAY)
    assert is_over(course, long_ago + 191 * DAY)


def test_a_sandbox_of_a_course_has_no_end_of_its_own(course: Course) -> None:
    student = joined(course)
    sandbox = begun(course, student)
    assert sandbox.expires_at is None
    Sandbox.objects.update(visited_at=timezone.now() - 200 * DAY)
    assert student.get(f"/s/{sandbox.slug}/").status_code == 200, "the date of the course may be far"
    sandbox.refresh_from_db()
    assert sandbox.expires_at is None
    assert sandbox.visited_at > timezone.now() - DAY
    other = creation.create(Visitor(session={}), "empty").sandbox
    assert other.expires_at is not None
    assert other.expires_at <= timezone.now() + policy.ANONYMOUS_LIFE


def test_what_is_over_goes_a_few_students_at_a_time_by_the_timer_of_the_server(
    course: Course, port: FakePort, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "SWEPT_STUDENTS", 2)
    monkeypatch.setattr(periodic, "close_old_connections", lambda: None)
    for _ in range(3):
        begun(course, joined(course))
    Course.objects.update(due_at=timezone.now() - 91 * DAY)
    creation.create(Visitor(session={}), "empty")
    assert Enrolment.objects.count() == 3, "no visitor waits for it"
    [timer] = [timer for timer in upkeep.timers() if timer.what == "retention of courses"]
    timer.once()
    assert Enrolment.objects.count() == 1
    timer.once()
    assert (Course.objects.count(), Enrolment.objects.count()) == (0, 0)
    assert Sandbox.objects.filter(course__isnull=False).count() == 0
    assert len(port.sandboxes) == 1, "the one that was just made"


def test_a_deletion_that_fails_is_tried_again_and_keeps_no_other_course(
    course: Course, teacher: Client, port: FakePort
) -> None:
    begun(course, joined(course))
    teacher.post("/c/new/", {"title": "Without students", "labs": LAB})
    Course.objects.update(due_at=timezone.now() - 91 * DAY)
    port.refuse["delete"] = EngineBusy("The engine did not answer in time.")
    retention.sweep()
    assert [one.title for one in Course.objects.all()] == [course.title]
    retention.sweep()
    assert Course.objects.count() == 0


def test_the_deletion_is_announced_to_teacher_and_students_with_its_date(course: Course, teacher: Client) -> None:
    student, now, page = joined(course), timezone.now(), f"/c/{course.slug}/"
    sentence = f"This course will be deleted on {(now + 29 * DAY):%Y-%m-%d}, with all its data."
    for days_ago, is_announced in ((59, False), (61, True)):
        Course.objects.update(due_at=now - days_ago * DAY)
        for browser, address in ((student, page), (teacher, page), (teacher, f"{page}live/")):
            shown = browser.get(address).content.decode()
            assert ("This course will be deleted" in shown) == is_announced
    assert sentence in shown


def test_the_teacher_sees_the_date_and_cannot_choose_one_that_deletes_at_once(course: Course, teacher: Client) -> None:
    good = {"title": "New", "labs": LAB, "most_students": "30", "feedback": "at_once"}
    day = (course.created_at + 90 * DAY).strftime("%Y-%m-%d")
    page = f"/c/{course.slug}/"
    assert f"The course is kept until {day}, 90 days after the last visit" in teacher.get(page).content.decode()
    refused = teacher.post(f"/c/{course.slug}/change/", good | {"due_at": "2020-01-01T10:00"})
    assert refused.status_code == 422
    assert "A course is deleted 90 days after its due date." in refused.content.decode()
    assert teacher.post(f"/c/{course.slug}/change/", good | {"due_at": "2030-01-01T10:00"}).status_code == 302
    assert "The course is kept until 2030-04-01, 90 days after the due date" in teacher.get(page).content.decode()
