"""`manage.py student list|export|delete COURSE …`: show, export or delete students' data (docs/student-data.md)."""

import argparse
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import BaseCommand, CommandError
from django.urls import reverse

from queueviz import engine
from queueviz.access.visitor import Visitor
from queueviz.courses import deletion, exporting
from queueviz.courses.models import Course, Enrolment
from queueviz.operations.remote_pages import pages_of
from queueviz.operations.remote_sandbox import RemoteRefused
from sandbox.kernel.errors import Locked, SandboxError


class Command(BaseCommand):
    help = "List the students of a course, or export or delete all data of one student."
    requires_system_checks = ()

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        commands = parser.add_subparsers(dest="command", required=True, metavar="list|export|delete")
        for name, what in (
            ("list", "list pseudonyms and dates"),
            ("export", "write all data of a student to files"),
            ("delete", "delete all data of a student permanently"),
        ):
            command = commands.add_parser(name, help=what)
            command.add_argument("course", help="last part of the course's address /c/…/")
            if name != "list":
                command.add_argument("pseudonym")
            if name == "export":
                command.add_argument("--to", type=Path, required=True, metavar="DIR", help="an empty or new directory")
            if name == "delete":
                command.add_argument(
                    "--url",
                    default="http://127.0.0.1:8000",
                    help="server, if one runs on this data home (default %(default)s)",
                )

    def handle(self, *args: Any, command: str, course: str, **options: Any) -> None:
        found_course = Course.objects.filter(slug=course).first()
        if found_course is None:
            raise CommandError(f"No course {course} in {settings.QUEUEVIZ_HOME}.")
        if command == "list":
            self._list(found_course)
            return
        enrolment = found_course.enrolments.select_related("course").filter(pseudonym=options["pseudonym"]).first()
        if enrolment is None:
            raise CommandError(
                f"No student of this course has the pseudonym {options['pseudonym']}. "
                f"See: manage.py student list {course}"
            )
        try:
            if command == "export":
                self._export(enrolment, options["to"])
            else:
                self._delete(enrolment, options["url"])
        except (SandboxError, RemoteRefused) as refused:
            raise CommandError(str(refused)) from refused

    def _list(self, course: Course) -> None:
        for student in course.enrolments.order_by("pk"):
            removed = " removed" if student.removed_at else ""
            labs = student.submissions.count()
            self.stdout.write(f"{student.pseudonym:32} joined {student.joined_at:%Y-%m-%d %H:%M} labs {labs}{removed}")

    def _export(self, enrolment: Enrolment, to: Path) -> None:
        try:
            to.mkdir(parents=True, exist_ok=True)
            if any(to.iterdir()):
                raise CommandError(f"{to} is not empty. Choose an empty or new directory.")
            count = exporting.write(enrolment, to)
        except OSError as error:
            raise CommandError(f"{error.filename}: {error.strerror}. Choose another directory.") from error
        self.stdout.write(f"Wrote {count} files of {enrolment.pseudonym} to {to}.")

    def _delete(self, enrolment: Enrolment, url: str) -> None:
        """Delete the student through the running server that has the sandboxes, else with an engine of this command."""
        pseudonym, sandboxes = enrolment.pseudonym, None
        if settings.QUEUEVIZ_RAY_ADDRESS or not _is_ours():
            _ask_server(enrolment, url)
        else:
            sandboxes = deletion.forget(Visitor(), enrolment)
            engine.stop()
        counted = "" if sandboxes is None else f" with {sandboxes} sandboxes"
        self.stdout.write(f"{pseudonym} is deleted{counted}.")


def _is_ours() -> bool:
    """Return True if no server uses this data home.  In that case an engine is now running in this process."""
    try:
        engine.port()
    except Locked:
        return False
    return True


def _ask_server(enrolment: Enrolment, url: str) -> None:
    course = enrolment.course
    with pages_of(course.teacher, url) as pages:
        pages.post(reverse("course-student-data", args=[course.slug, enrolment.pk]), {"confirm": "delete"})
    if Enrolment.objects.filter(pk=enrolment.pk).exists():
        raise RemoteRefused(f"The server at {url} did not delete the student. Does it use this data home? Set --url.")
