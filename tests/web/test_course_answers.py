"""Answers of a course: received once however often they are sent, from wherever, and in time."""

import html
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from queueviz.courses import deadlines, joining
from queueviz.models import Course, Enrolment, Grade, Submission
from tests.web.clusters import account, browser_of
from tests.web.courses import course_of
from tests.web.engine_calls import HTMX, events

LAB = "members-and-queues"
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def teacher(real_engine: Any) -> Client:
    return browser_of(account("teacher"))


course = course_of(LAB)


@pytest.fixture
def student(course: Course) -> Client:
    return joined(course)


@pytest.fixture
def lab(course: Course, student: Client) -> str:
    """The address of the student's lab."""
    return begun(course, student)


def joined(course: Course) -> Client:
    browser = Client()
    assert browser.post("/join/", {"code": course.code}).status_code == 302
    return browser


def begun(course: Course, browser: Client) -> str:
    return str(browser.post(f"/c/{course.slug}/labs/{LAB}/")["Location"])


def answer(browser: Client, lab: str, **fields: object) -> tuple[int, str]:
    given = {"action": "AnswerStep", "step": 1, "part": "predict", "value": "2", "key": "k1", "attempt": 1, **fields}
    said = browser.post(lab, given, headers=HTMX)
    return said.status_code, html.unescape(said.content.decode())


def answers(browser: Client, lab: str) -> list[str]:
    rows = events(browser, lab.split("/")[2])
    return [row["fields"]["key"] for row in rows if row["type"] == "ActionTaken" and row["action"] == "AnswerStep"]


def other_device(browser: Client, course: Course) -> Client:
    """Open the course on another device by the personal link of the course's page."""
    secret = browser.session["seats"][course.slug]
    there = Client()
    assert there.post(f"/seat/{secret}/")["Location"] == f"/c/{course.slug}/"
    return there


def due(course: Course, ago: timedelta, joined_ago: timedelta, factor: float = 1.0) -> None:
    now = timezone.now()
    Course.objects.filter(pk=course.pk).update(due_at=now - ago)
    Enrolment.objects.filter(course=course).update(joined_at=now - joined_ago, time_factor=factor)


def test_opening_a_lab_saves_no_progress_and_its_panel_does(student: Client, lab: str) -> None:
    with CaptureQueriesContext(connection) as queries:
        assert student.get(lab).status_code == 200
    written = [query["sql"] for query in queries if query["sql"].startswith(("INSERT", "UPDATE"))]
    assert not [sql for sql in written if "grade" in sql or "submission" in sql], written
    assert not Grade.objects.exists()
    panel = student.post(f"{lab}progress/")
    assert 'name="key"' in panel.content.decode()
    assert Grade.objects.get().submission == Submission.objects.get()


def test_an_answer_reads_the_sandbox_and_the_grants_once_and_writes_the_grade_once(student: Client, lab: str) -> None:
    with CaptureQueriesContext(connection) as queries:
        assert answer(student, lab)[0] == 200
    statements = [query["sql"] for query in queries]
    assert len([sql for sql in statements if 'FROM "queueviz_sandbox"' in sql]) == 1
    assert len([sql for sql in statements if 'FROM "queueviz_grant"' in sql]) == 1
    assert not [sql for sql in statements if 'FROM "queueviz_course"' in sql], "it comes with the sandbox"
    assert len([sql for sql in statements if sql.startswith(("INSERT", "UPDATE")) and "grade" in sql]) == 1
    assert [receipt["step"] for receipt in Grade.objects.get().receipts["1"]] == [1]


def test_the_form_names_each_answer_by_a_key_and_its_attempt(student: Client, lab: str) -> None:
    page = student.get(lab).content.decode()
    assert 'name="key"' in page
    assert 'name="attempt" value="1"' in page


def test_the_same_answer_from_a_second_tab_and_another_device_is_received_once(
    course: Course, student: Client, lab: str
) -> None:
    for browser in (student, student, other_device(student, course)):
        status, panel = answer(browser, lab)
        assert (status, 'data-received="1/1"' in panel) == (200, True)
    assert answers(student, lab) == ["k1"]


def test_another_device_goes_on_at_the_same_step(course: Course, student: Client, lab: str) -> None:
    answer(student, lab)
    there = other_device(student, course)
    assert begun(course, there) == lab
    panel = there.get(lab).context["lab"]
    assert (panel["open"]["step"], panel["open"]["phase"], panel["open"]["prediction"]) == (1, "do", "2")
    for _ in range(5):  # any number of reloads
        assert there.get(lab).context["lab"]["receipts"] == panel["receipts"]
    assert Submission.objects.count() == 1


def test_the_same_key_with_another_answer_is_refused(student: Client, lab: str) -> None:
    answer(student, lab)
    status, panel = answer(student, lab, value="3")
    assert (status, "Another answer with this key was already received." in panel) == (409, True)
    assert answers(student, lab) == ["k1"]


def test_an_answer_is_late_after_the_date_and_a_receipt_is_not(course: Course, student: Client, lab: str) -> None:
    answer(student, lab)
    due(course, timedelta(minutes=1), timedelta(hours=1))
    assert answer(student, lab)[0] == 200, "it has come in time"
    status, panel = answer(student, lab, key="k2", value="3")
    assert (status, "This course was due on" in panel) == (409, True)
    slug = lab.split("/")[2]
    for action in (
        {"action": "StartConsumer", "group": "clerks"},
        {"action": "RestartLab", "lab": LAB},
        {"action": "ChangeTopic", "topic": "orders", "write_queues": 12, "read_queues": 12},
    ):
        assert student.post(f"/api/sandboxes/{slug}/actions", action, "application/json").status_code == 409
    assert student.get(lab).status_code == 200, "to look is never too late"
    assert student.post(f"/s/{slug}/actions/", {"action": "SetRate", "rate": "0"}, headers=HTMX).status_code == 204
    assert answers(student, lab) == ["k1"]


def test_who_has_more_time_has_it_from_joining_to_the_date(course: Course, student: Client, lab: str) -> None:
    due(course, timedelta(minutes=10), timedelta(minutes=70))  # an hour, over for ten minutes
    assert answer(student, lab)[0] == 409
    due(course, timedelta(minutes=10), timedelta(minutes=70), 1.5)
    assert answer(student, lab)[0] == 200
    due(course, timedelta(minutes=40), timedelta(minutes=100), 1.5)
    assert answer(student, lab, key="k2")[0] == 409


def test_who_joined_after_the_date_has_no_more_time_than_others(course: Course, student: Client) -> None:
    due(course, timedelta(minutes=10), timedelta(minutes=5), 2.0)
    [one] = Enrolment.objects.select_related("course")
    assert deadlines.due_of(one) == one.course.due_at
    Course.objects.update(due_at=None)
    assert deadlines.due_of(Enrolment.objects.get()) is None


def test_the_teacher_may_act_after_the_date_but_not_answer(course: Course, teacher: Client, lab: str) -> None:
    due(course, timedelta(minutes=1), timedelta(hours=1))
    made = {"action": "CreateTopic", "topic": "by-the-teacher"}
    acted = teacher.post(f"/s/{lab.split('/')[2]}/actions/", made, headers=HTMX)
    assert acted.status_code == 204
    status, said = answer(teacher, lab)
    assert status == 403
    assert "Answers and hints belong to the student." in said


def test_sixty_joins_from_one_address_in_half_a_minute_are_admitted_and_a_flood_is_not(
    course: Course, monkeypatch: pytest.MonkeyPatch
) -> None:
    Course.objects.update(most_students=120)
    for rate in (joining.JOINS, joining.LOOKS):
        monkeypatch.setattr(rate, "_now", lambda: 0.0)  # all at once
    for _ in range(60):
        joined(course)
    assert sum(joining.JOINS.admits("127.0.0.1") for _ in range(1_000)) == 60, "as many again"
    flood = [Client().post("/join/", {"code": course.code}).status_code for _ in range(5)]
    assert flood == [429] * 5
    assert course.enrolments.count() == 60
