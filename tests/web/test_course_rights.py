"""The rights of all viewers of a course's channel: as one visit at a time, in as many queries as for one viewer."""

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from queueviz.access import visitor
from queueviz.access.policy import Forbidden, NotFound
from queueviz.access.visitor import Visitor
from queueviz.courses.course_access import visit_course
from queueviz.live import course_channels
from queueviz.models import Course
from tests.web.clusters import account, browser_of
from tests.web.fake_port import FakePort

pytestmark = pytest.mark.django_db(transaction=True)
VERBS = ("see", "grade")


def visitor_of(browser: Client) -> Visitor:
    """The visitor of a socket that this browser opened; its user is read again from the session."""
    return Visitor(session=browser.session)


@pytest.fixture
def course(port: FakePort) -> Course:
    teacher = browser_of(account("teacher"))
    assert teacher.post("/c/new/", {"title": "101", "labs": ["orderly-lock"]}).status_code == 302
    return Course.objects.get()


@pytest.fixture
def visitors(course: Course) -> dict[str, Visitor]:
    students = [Client(), Client()]
    for student in students:
        assert student.post("/join/", {"code": course.code}).status_code == 302
    removed = course.enrolments.order_by("pk")[1]
    removed.removed_at = timezone.now()
    removed.save()
    ended = browser_of(course.teacher)
    gone = visitor_of(ended)
    ended.logout()
    return {
        "teacher": visitor_of(browser_of(course.teacher)),
        "student": visitor_of(students[0]),
        "removed student": visitor_of(students[1]),
        "other teacher": visitor_of(browser_of(account("other"))),
        "teacher who signed out": gone,
        "student by link": visitor_of(students[0])._replace(link="a-link"),
        "program": Visitor(token="qv_a"),
        "no one": Visitor(),
    }


def may_alone(each: Visitor, slug: str, verb: str) -> bool:
    try:
        visit_course(visitor.afresh(each), slug, verb)
    except (NotFound, Forbidden):
        return False
    return True


@pytest.mark.parametrize("verb", VERBS)
def test_all_together_have_the_rights_that_each_has_alone(
    course: Course, visitors: dict[str, Visitor], verb: str
) -> None:
    together = course_channels._may([*visitors.values()], course.slug, verb)
    assert together == [may_alone(each, course.slug, verb) for each in visitors.values()]
    allowed = {name for name, may in zip(visitors, together, strict=True) if may}
    assert allowed == ({"teacher", "student"} if verb == "see" else {"teacher"})


def test_no_one_has_a_right_to_a_course_that_does_not_exist(course: Course, visitors: dict[str, Visitor]) -> None:
    assert course_channels._may([*visitors.values()], "nowhere", "see") == [False] * len(visitors)


def test_the_queries_do_not_grow_with_the_viewers(course: Course, visitors: dict[str, Visitor]) -> None:
    each = [*visitors.values()]
    with CaptureQueriesContext(connection) as once:
        course_channels._may(each, course.slug, "see")
    with CaptureQueriesContext(connection) as often:
        course_channels._may(each * 20, course.slug, "see")
    assert len(often) == len(once) <= 4
