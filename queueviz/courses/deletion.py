"""Deletion of a student, and of a whole course: rows, directories, and all other data that names them.

Sandboxes are deleted first, one by one.  If the engine does not answer, the enrolment is still there, and the
deletion can be requested again.
"""

import shutil
from collections.abc import Iterable
from typing import cast

from django.db import connection, transaction

from queueviz.access.digests import digest
from queueviz.access.policy import SEATS
from queueviz.access.visitor import SESSIONS, Visitor
from queueviz.courses import student_records
from queueviz.courses.models import Course, Enrolment
from queueviz.links import recordings, share_links
from queueviz.models import AuditRecord, Sandbox
from queueviz.runs import directories
from queueviz.sandboxes import ownership


def forget(visitor: Visitor, enrolment: Enrolment) -> int:
    """Delete the student and all data about the student for good; return the number of deleted sandboxes.

    Raises as `ownership.delete`.
    """
    course, owned = enrolment.course, student_records.of(enrolment)
    for sandbox in owned.sandboxes:
        _delete(visitor, sandbox)
    with transaction.atomic():
        _forget_seats([enrolment])
        owned.audit().delete()
        owned.administered().delete()
        _rename(owned.named_after)
        course.regrades.all().delete()  # they name all students, and can be found out again
        enrolment.delete()
        ownership.record(visitor, "forget-student", course.slug, sandboxes=len(owned.sandboxes))
    _forget_results(course, owned.slugs)
    transaction.on_commit(scrub)
    return len(owned.sandboxes)


def forget_course(visitor: Visitor, course: Course) -> None:
    """Delete the course with all its students.  Raises as `ownership.delete`."""
    for enrolment in course.enrolments.select_related("course"):
        forget(visitor, enrolment)
    for sandbox in course.sandboxes.all():  # the teacher's
        _delete(visitor, sandbox)
        AuditRecord.objects.filter(slug=sandbox.slug).delete()
    with transaction.atomic():
        AuditRecord.objects.filter(slug=course.slug).delete()
        course.delete()
    _forget_results(course, [])
    transaction.on_commit(scrub)


def scrub() -> None:
    """Remove deleted rows from SQLite's files too.

    The database file's pages are already overwritten (`secure_delete` in the settings); the write-ahead log still
    has older ones.
    """
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _delete(visitor: Visitor, sandbox: Sandbox) -> None:
    """Delete a sandbox with its recordings.

    The server would delete recordings by itself, a command does not.
    """
    ownership.delete(visitor, sandbox)
    recordings.of_server().forget(sandbox.slug)


def _forget_seats(enrolments: Iterable[Enrolment]) -> None:
    """Remove the secrets of these enrolments from browsers' sessions.  The rest of the sessions stays."""
    rows = list(enrolments)
    gone = {enrolment.digest for enrolment in rows}
    for row, content in student_records.sessions_of(rows):
        seats = cast(dict[str, str], content[SEATS])
        content[SEATS] = {slug: secret for slug, secret in seats.items() if digest(secret) not in gone}
        row.session_data = SESSIONS.SessionStore().encode(content)
        row.save(update_fields=["session_data"])


def _forget_results(course: Course, slugs: list[str]) -> None:
    """Delete the pipeline results of the whole course: they contain this student's part, and can be computed again.

    Recordings and results of each sandbox were deleted with its row; shared ones and Spark's logs of `slugs` are
    deleted here.
    """
    share_links.sweep()
    pipeline = directories.home() / directories.FOLDER
    for job in pipeline.glob("[a-z]*/"):
        shutil.rmtree(job / course.slug, ignore_errors=True)
    for log in pipeline.glob(".*/*.log"):  # of Spark, with paths
        if any(slug in log.read_text(errors="replace") for slug in slugs):
            log.unlink(missing_ok=True)


def _rename(sandboxes: list[Sandbox]) -> None:
    for sandbox in sandboxes:
        AuditRecord.objects.filter(slug=sandbox.slug, details__has_key="name").update(details={})
        Sandbox.objects.filter(pk=sandbox.pk).update(name=sandbox.slug)
