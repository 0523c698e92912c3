"""The class channel, which all members of a course may read: the open poll, and how far each lab is open."""

from queueviz.courses import polling
from queueviz.courses.models import Course


def content(slug: str) -> dict[str, object] | None:
    """Return the content of `class/<course>`, or None if the course does not exist.

    `poll` is the newest poll, without votes by answer: `voted` is the number of students who voted, `of` that of all.
    """
    course = Course.objects.filter(slug=slug).first()
    if course is None:
        return None
    poll = polling.newest(course)
    shown = (
        None
        if poll is None
        else {
            "number": poll.number,
            "state": poll.state,
            "question": poll.question,
            "answers": [answer._asdict() for answer in poll.choices],
            "voted": polling.voted(poll),
            "of": polling.students(course),
        }
    )
    return {"poll": shown, "pace": course.open_until}
