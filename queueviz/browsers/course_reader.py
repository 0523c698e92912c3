"""Reads the state of a course for its browsers from the database."""

from queueviz.browsers.news import News
from queueviz.courses import polling
from queueviz.courses.models import Course


def course_news(slug: str) -> News | None:
    """Return the state of a course, None if it does not exist any more."""
    course = Course.objects.filter(slug=slug).first()
    if course is None:
        return None
    poll = polling.newest(course)
    return News(course.open_until, "" if poll is None else f"{poll.number}/{poll.state}", str(course.due_at))
