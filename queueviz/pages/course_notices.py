"""Notices of a course on its pages: a deadline that an outage moved, and the day of its deletion."""

import math
from datetime import datetime
from typing import NamedTuple

from django.utils.translation import gettext

from queueviz.courses import deadlines, retention
from queueviz.courses.models import Course, Enrolment


class Moved(NamedTuple):
    """A moved deadline: by which time, to when."""

    by: str
    to: datetime


def notices(course: Course, enrolment: Enrolment | None = None) -> dict[str, object]:
    """Return the template's values.  `enrolment`: the student who reads the page; None: the teacher."""
    minutes = course.moved_min + (enrolment.moved_min if enrolment else 0)
    due_at = deadlines.due_of(enrolment) if enrolment else course.due_at
    return {
        "moved": Moved(_shown(minutes), due_at) if minutes and due_at else None,
        "deleted_on": retention.announced(course),
    }


def _shown(minutes: int) -> str:
    if minutes < 120:
        return gettext("{n} min").format(n=minutes)
    return gettext("{n} h").format(n=math.ceil(minutes / 60))
