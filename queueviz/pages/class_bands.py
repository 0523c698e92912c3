"""The bands of a course above a student's sandbox: the teacher's interventions, and the poll of the course."""

from queueviz.access import policy, visitor
from queueviz.boards.js_texts import with_texts
from queueviz.boards.page import Context
from queueviz.courses import polling
from queueviz.courses.course_access import place_in
from queueviz.courses.grid_texts import HELD
from queueviz.courses.models import Course, Enrolment


def bands(requester: visitor.Visitor, visit: policy.Visit, context: Context) -> Context:
    """Return the bands' template values, with their texts added to those of the page.  Only students have bands."""
    if visit.is_attached or visit.role != "student" or (course := policy.ours(visit).course) is None:
        return {}
    enrolment = place_in(requester, course)
    if enrolment is None:
        return {}
    return {"class_bands": course, "texts": with_texts(context["texts"], HELD), **poll_band(course, enrolment)}


def poll_band(course: Course, enrolment: Enrolment) -> Context:
    """Return the template values of the poll band: the newest poll, and the student's own answers."""
    poll = polling.newest(course)
    if poll is None:
        return {"class_poll": None, "class_course": course}
    mine = polling.own(poll, enrolment)
    return {
        "class_poll": poll,
        "class_course": course,
        "class_mine": mine.get(poll.round),
        "class_given": poll.choices[mine[poll.round]].value if poll.round in mine else None,
        "class_voted": polling.voted(poll),
        "class_of": polling.students(course),
        "class_results": polling.results(poll) if poll.is_revealed else None,
    }
