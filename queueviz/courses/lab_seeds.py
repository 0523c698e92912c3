"""The seed of a lab in a course: with it, all students and the runs of polls have the same names and numbers."""

import hashlib

from queueviz.courses.models import Course
from sandbox.labs.lab import Lab


def seed_of(course: Course, lab: Lab) -> str:
    """Return the seed of all students with the same numbers, and of a poll's run.

    The course's address cannot be read from it.
    """
    return hashlib.sha256(f"{course.slug} {lab.slug}".encode()).hexdigest()[:16]
