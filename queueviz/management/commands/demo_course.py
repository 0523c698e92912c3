"""`manage.py demo_course [--students 12]`: run a course with simulated students (docs/demo.md)."""

import argparse
import re
import secrets
import threading
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.core.management import BaseCommand, CommandError
from django.db import DatabaseError, connection
from django.urls import reverse

from queueviz.courses.joining import PSEUDONYMS
from queueviz.courses.models import Course
from queueviz.operations import environment
from queueviz.operations.remote_pages import RemotePages, pages_of
from queueviz.operations.remote_sandbox import RemoteRefused
from sandbox.labs.catalogue import LABS

ACCOUNT = "demo-teacher"
TITLE = "Demo course"
LAB_SLUGS = ("pinned-offset", "members-and-queues")
PASSWORD_BYTES = 12
MOST_STUDENTS = len(PSEUDONYMS)
ENDS_WITHIN_S = 5.0


class Command(BaseCommand):
    help = "Create a course with simulated students on a running server. The students work until Ctrl+C."
    requires_system_checks = ()

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add = parser.add_argument
        add("--students", type=int, default=12, metavar="N", help=f"1 to {MOST_STUDENTS} (default 12)")
        add("--url", default="http://127.0.0.1:8000", help="server on this data home (default %(default)s)")
        add("--seed", default="0", metavar="S", help="seed of the class: equal seeds make equal classes (default 0)")
        add("--minutes", type=float, default=None, metavar="M", help="end after M minutes (default: end on Ctrl+C)")

    def handle(self, *args: Any, students: int, url: str, seed: str, minutes: float | None, **options: Any) -> None:
        if not 1 <= students <= MOST_STUDENTS:
            raise CommandError(f"--students takes a number from 1 to {MOST_STUDENTS}.")
        if minutes is not None and minutes <= 0:
            raise CommandError("--minutes must be greater than 0.")
        try:
            _demand_server(url)
            course, password = self._course(url)
        except RemoteRefused as refused:
            raise CommandError(f"{refused} Start script/server first, or set --url.") from refused
        except DatabaseError as error:
            raise CommandError(
                f"The database cannot be used ({error}). Start the server once: it creates the tables."
            ) from error
        live = reverse("course-live", args=[course.slug])
        self.stdout.write(
            f"Live page   {url.rstrip('/')}{reverse('login')}?next={live}\n"
            f"Sign in as  {ACCOUNT}\n"
            f"Password    {password}\n"
            f"Join code   {course.code}"
        )
        connection.close()  # the students have none
        self._play(url, str(course.code), students, seed, minutes)

    def _course(self, url: str) -> tuple[Course, str]:
        """Create a new course, delete those of earlier runs, and return the course with a text on its password.

        The text is the password, or the name of the variable that has it.
        """
        from_environment = environment.text("QUEUEVIZ_DEMO_PASSWORD")
        password = from_environment or secrets.token_urlsafe(PASSWORD_BYTES)
        teacher, _ = User.objects.get_or_create(username=ACCOUNT)
        if teacher.is_staff or teacher.is_superuser:
            raise CommandError(f"The account {ACCOUNT} is an administrator of this server. Rename that account first.")
        teacher.set_password(password)
        teacher.save()
        elsewhere = (
            f"The server at {url} does not use the data home {settings.QUEUEVIZ_HOME}. Set --url or QUEUEVIZ_HOME."
        )
        with pages_of(teacher, url) as pages:
            for old in Course.objects.filter(teacher=teacher, title=TITLE):
                pages.post(reverse("course-delete", args=[old.slug]), {"confirm": "delete"})
            try:
                made = pages.post(reverse("course-new"), {"title": TITLE, "labs": LAB_SLUGS})
            except RemoteRefused as refused:  # it does not know the account's session
                raise CommandError(f"{elsewhere} ({refused})") from refused
        [slug] = re.findall(r"^/c/([^/]+)/", made.headers.get("Location", "")) or [""]
        course = Course.objects.filter(slug=slug).first()
        if course is None:
            raise CommandError(elsewhere)
        return course, "(value of QUEUEVIZ_DEMO_PASSWORD)" if from_environment else password

    def _play(self, url: str, code: str, students: int, seed: str, minutes: float | None) -> None:
        from queueviz.demo_class.parts import COMES_EVERY_S, PlayedStudent, cast

        over, threads = threading.Event(), []
        labs = [LABS[slug] for slug in LAB_SLUGS]
        try:
            for seat in cast(list(PSEUDONYMS[:students]), seed):
                student = PlayedStudent(url, code, labs, seat, over, self._say)
                threads.append(threading.Thread(target=student.run, name=seat.name, daemon=True))
                threads[-1].start()
                self.stdout.write(f"{seat.name:12} {seat.part}")
                over.wait(COMES_EVERY_S)
            self.stdout.write("The class runs until Ctrl+C.")
            over.wait(None if minutes is None else minutes * 60)
        except KeyboardInterrupt:
            self.stdout.write("")
        over.set()
        for thread in threads:
            thread.join(ENDS_WITHIN_S)
        self.stdout.write("The class has ended. The course stays until the next demo_course.")

    def _say(self, text: str) -> None:
        """Write a line.  The students' threads call this."""
        self.stderr.write(text)


def _demand_server(url: str) -> None:
    pages = RemotePages(url)
    try:
        pages.get("/healthz/live")
    finally:
        pages.close()
