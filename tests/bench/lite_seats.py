"""A course whose students run one lab in their browsers: its rows, written at once into the server's database.

    python -m tests.bench.lite_seats LAB STUDENTS

A thousand students who join over HTTP would take minutes.  Each has a session with the secret of the place, as after
joining.
"""

import json
import os
import secrets
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

from tests.server.server import ROOT, environment

BESIDE_S = 300.0


class Seat(NamedTuple):
    """A student's place.  `number`: of the enrolment.  `session`: the cookie's value."""

    number: int
    slug: str
    session: str


class Seats(NamedTuple):
    """`teacher`: the value of the teacher's session cookie."""

    course: str
    teacher: str
    students: list[Seat]


def seats_of(home: Path, lab: str, students: int) -> Seats:
    """Make the course in the database of this data home."""
    command = [sys.executable, "-m", __name__, lab, str(students)]
    made = subprocess.run(
        command, cwd=ROOT, env=environment(home), capture_output=True, text=True, timeout=BESIDE_S, check=False
    )
    if made.returncode:
        raise RuntimeError(made.stderr)
    values = json.loads(made.stdout)
    return Seats(values["course"], values["teacher"], [Seat(*row) for row in values["students"]])


def _make(lab: str, students: int) -> dict[str, Any]:
    from django.contrib.auth import get_user_model
    from django.db import transaction
    from django.test import Client
    from django.utils import timezone

    from queueviz.access.digests import digest
    from queueviz.access.policy import SEATS
    from queueviz.access.visitor import SESSIONS
    from queueviz.courses import lite_runs, submissions
    from queueviz.models import Course, Enrolment, Grant, Sandbox, Submission
    from queueviz.operations.lite_files import lite_files
    from queueviz.slugs import IN_BROWSER, new_slug
    from sandbox.labs.catalogue import LABS

    chosen, now, files = LABS[lab], timezone.now(), lite_files()
    places, secret_of = range(students), [secrets.token_urlsafe() for _ in range(students)]
    rows: list[list[Any]] = []
    with transaction.atomic():
        user = get_user_model().objects.create_user("teacher")
        teacher = Client()
        teacher.force_login(user)
        course = Course.objects.create(
            slug="class", title="A class", teacher=user, labs=[lab], where=Course.Where.BOTH, most_students=students
        )
        enrolments = Enrolment.objects.bulk_create(
            Enrolment(course=course, pseudonym=f"Student {n + 1}", digest=digest(secret_of[n])) for n in places
        )
        sandboxes = Sandbox.objects.bulk_create(
            Sandbox(
                slug=IN_BROWSER + new_slug(),
                name=enrolment.pseudonym,
                template=chosen.template,
                preset=chosen.preset,
                course=course,
                visibility=Sandbox.Visibility.PRIVATE,
                visited_at=now,
            )
            for enrolment in enrolments
        )
        for secret, enrolment, sandbox in zip(secret_of, enrolments, sandboxes, strict=True):
            Grant.objects.bulk_create(submissions.grants_of(enrolment, sandbox))
            work = Submission.objects.create(enrolment=enrolment, lab=lab, sandbox=sandbox, steps=len(chosen.steps))
            lite_runs.begin(work, engine=files["digest"] if files else "engine", now=now)
            session = SESSIONS.SessionStore()
            session[SEATS] = {course.slug: secret}
            session.save()
            rows.append([enrolment.pk, sandbox.slug, session.session_key])
    return {"course": course.slug, "teacher": teacher.cookies["sessionid"].value, "students": rows}


if __name__ == "__main__":
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "queueviz.settings")
    django.setup()
    print(json.dumps(_make(sys.argv[1], int(sys.argv[2]))))
