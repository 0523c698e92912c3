"""Access to a course: for its teacher and its students.  Other visitors cannot learn that it exists."""

from collections.abc import Sequence
from typing import NamedTuple

from django.db.models import Q, QuerySet

from queueviz.access.digests import digest
from queueviz.access.policy import SEATS, Forbidden, NotFound
from queueviz.access.visitor import Visitor
from queueviz.courses.models import Course, Enrolment
from sandbox.control.rights import Role, can


class CourseVisit(NamedTuple):
    """A visitor in one course.  `enrolment`: the student's; None: the visitor is the teacher."""

    course: Course
    role: Role
    enrolment: Enrolment | None

    @property
    def teaches(self) -> bool:
        return can(self.role, "grade")


def visit_course(visitor: Visitor, slug: str, verb: str) -> CourseVisit:
    """Return the visit if the visitor may do `verb` in the course.  Raises `NotFound` or `Forbidden`.

    `see`: students and teacher; `grade`: the teacher.
    """
    course = Course.objects.filter(slug=slug).first()
    visit = None if course is None else _visit(visitor, course)
    if visit is None:
        raise NotFound("No course has this address.")
    if not can(visit.role, verb):
        raise Forbidden("Only the teacher can open this page.")
    return visit


def allowed(visitors: Sequence[Visitor], slug: str, verb: str) -> list[bool]:
    """Return, for each visitor, True if it may do `verb` in the course, as `visit_course`; in two queries for all."""
    course = Course.objects.filter(slug=slug).first()
    if course is None:
        return [False for _ in visitors]
    digests = [frozenset(digests_of(visitor)) for visitor in visitors]
    places = course.enrolments.filter(digest__in=frozenset().union(*digests), removed_at__isnull=True)
    enrolled = set(places.values_list("digest", flat=True))
    return [
        can("instructor", verb) if _is_teacher(visitor, course) else bool(own & enrolled) and can("student", verb)
        for visitor, own in zip(visitors, digests, strict=True)
    ]


def courses_of(visitor: Visitor) -> QuerySet[Course]:
    """Return the courses that the visitor teaches or is enrolled in, the newest first."""
    mine = Q(enrolments__digest__in=digests_of(visitor), enrolments__removed_at__isnull=True)
    if visitor.is_signed_in:
        mine |= Q(teacher=visitor.user)
    return Course.objects.filter(mine).distinct().order_by("-created_at")


def place_in(visitor: Visitor, course: Course) -> Enrolment | None:
    """Return the enrolment of this browser's student in the course, or None if absent or removed."""
    return course.enrolments.filter(digest__in=digests_of(visitor), removed_at__isnull=True).first()


def _visit(visitor: Visitor, course: Course) -> CourseVisit | None:
    if _is_teacher(visitor, course):
        return CourseVisit(course, "instructor", None)
    enrolment = place_in(visitor, course)
    return None if enrolment is None else CourseVisit(course, "student", enrolment)


def _is_teacher(visitor: Visitor, course: Course) -> bool:
    return visitor.is_signed_in and bool(course.teacher_id == visitor.user.pk)


def digests_of(visitor: Visitor) -> list[str]:
    """Return the digests of the browser's enrolment secrets, in all courses."""
    if visitor.session is None or visitor.link is not None or visitor.token is not None:
        return []
    return [digest(secret) for secret in visitor.session.get(SEATS, {}).values()]
