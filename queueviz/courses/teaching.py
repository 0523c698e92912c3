"""A teacher's actions on a course outside the class: create and change the course, admit and remove students."""

import csv
import io
from datetime import datetime

from django.db import IntegrityError
from django.utils import timezone

from queueviz.access.visitor import Visitor
from queueviz.courses.joining import new_code
from queueviz.courses.models import MOST_STUDENTS, NOTE_CHARS, TIME_FACTORS, Course, Enrolment
from queueviz.live.hubs import rights_changed
from queueviz.models import Grant
from queueviz.slugs import new_slug
from sandbox.kernel.errors import ActionRefused
from sandbox.labs.catalogue import LABS

MOST_COURSES = 20
MOST_ROWS = 500
NAME_CHARS = 80
TRIES = 5


def create(
    visitor: Visitor, title: str, labs: list[str], *, same_numbers: bool = False, where: str = Course.Where.SERVER
) -> Course:
    """Create a course with these labs.

    Raises ActionRefused: 403 without an account, 422 without labs, 429 too many courses, 503 no code is free.
    """
    _demand_where(where)
    if not visitor.is_signed_in:
        raise ActionRefused(403, "A course requires an account.", "Sign in first.")
    if visitor.user.courses.count() >= MOST_COURSES:
        raise ActionRefused(429, "You have {most} courses.", "Delete a course first.", most=MOST_COURSES)
    for _ in range(TRIES):
        try:
            return Course.objects.create(
                slug=new_slug(),
                title=_title(title),
                teacher=visitor.user,
                labs=_labs(labs),
                code=new_code(),
                same_numbers=same_numbers,
                where=where,
            )
        except IntegrityError:  # another one has just drawn this code
            continue
    raise ActionRefused(503, "No course code is free.", "Try again.")


def change(
    course: Course,
    *,
    title: str,
    labs: list[str],
    most_students: int,
    due_at: datetime | None,
    feedback: str,
    same_numbers: bool,
    where: str,
) -> None:
    """Change the settings of a course.  Raises ActionRefused (422) for an invalid value."""
    if not 1 <= most_students <= MOST_STUDENTS:
        raise ActionRefused(
            422, "A course has 1 to {most} places.", "Start another course.", field="most_students", most=MOST_STUDENTS
        )
    if feedback not in Course.Feedback.values:
        raise ActionRefused(
            422,
            "{feedback} is not a feedback time.",
            "Choose one of the options.",
            field="feedback",
            feedback=feedback,
        )
    course.title, course.labs, course.most_students = _title(title), _labs(labs), most_students
    if due_at != course.due_at:
        course.due_at, course.moved_min = due_at, 0
        course.enrolments.update(moved_min=0)
    _demand_where(where)
    course.feedback, course.same_numbers, course.where = feedback, same_numbers, where
    course.save()


def _demand_where(where: str) -> None:
    if where not in Course.Where.values:
        raise ActionRefused(
            422,
            "{where} is not a place where labs run.",
            "Choose one of the options.",
            field="where",
            where=where[:20] or "–",
        )


def open_lobby(course: Course) -> None:
    """Give the course a new join code.  The old one becomes invalid."""
    course.code = new_code()
    course.save(update_fields=["code"])


def close_lobby(course: Course) -> None:
    course.code = None
    course.save(update_fields=["code"])


def remove(enrolment: Enrolment) -> None:
    """Remove the student's access to the course and its sandboxes.  The work stays."""
    enrolment.removed_at = timezone.now()
    enrolment.save(update_fields=["removed_at"])
    grants = Grant.objects.filter(holder=enrolment.digest, revoked_at__isnull=True)
    slugs = list(grants.values_list("sandbox__slug", flat=True))
    grants.update(revoked_at=timezone.now())
    for slug in slugs:
        rights_changed(slug)


def give_time(enrolment: Enrolment, factor: float) -> None:
    """Set the student's time factor for deadlines.  Raises ActionRefused (422) if it is not 1, 1.5 or 2."""
    if factor not in TIME_FACTORS:
        raise ActionRefused(
            422, "{factor} is not a time factor.", "Choose 1, 1.5 or 2.", field="time_factor", factor=factor
        )
    enrolment.time_factor = factor
    enrolment.save(update_fields=["time_factor"])


def write_note(enrolment: Enrolment, text: str) -> None:
    """Set the teacher's note on the student; an empty text removes it.  Raises ActionRefused (422) for a long one."""
    note = " ".join(text.split())
    if len(note) > NOTE_CHARS:
        raise ActionRefused(
            422, "A note has at most {most} characters.", "Shorten the note.", field="note", most=NOTE_CHARS
        )
    enrolment.note = note
    enrolment.save(update_fields=["note"])


def name_students(course: Course, table: str) -> int:
    """Set students' names from a CSV text with the columns `pseudonym` and `name`; return the number of names set.

    Raises ActionRefused (422) for other columns, too many rows, or a pseudonym that no student has.
    """
    rows = list(csv.DictReader(io.StringIO(table.lstrip("\ufeff"))))
    if not rows or not {"pseudonym", "name"} <= set(rows[0]):
        raise ActionRefused(
            422, "The file needs the columns pseudonym and name.", "Export the roster, then fill it in.", field="roster"
        )
    if len(rows) > MOST_ROWS:
        raise ActionRefused(
            422,
            "A roster has at most {most} rows.",
            "Send the roster in several files.",
            field="roster",
            most=MOST_ROWS,
        )
    known = {enrolment.pseudonym: enrolment for enrolment in course.enrolments.all()}
    unknown = sorted({(row["pseudonym"] or "").strip() for row in rows} - known.keys())
    if unknown:
        raise ActionRefused(
            422,
            "{pseudonym} has not joined this course.",
            "Correct the row, or remove it.",
            field="roster",
            pseudonym=unknown[0][:NAME_CHARS],
        )
    for row in rows:
        enrolment = known[row["pseudonym"].strip()]
        enrolment.name = (row["name"] or "").strip()[:NAME_CHARS]
    Enrolment.objects.bulk_update(known.values(), ["name"])
    return len(rows)


def _title(title: str) -> str:
    text = " ".join(title.split())[:NAME_CHARS]
    if not text:
        raise ActionRefused(422, "A course needs a title.", "Enter a title.", field="title")
    return text


def _labs(labs: list[str]) -> list[str]:
    """Return the labs in the order of the catalogue.

    Raises ActionRefused (422) for an unknown lab or an empty list.
    """
    unknown = [lab for lab in labs if lab not in LABS]
    if unknown:
        raise ActionRefused(
            422, "Lab {lab} does not exist.", "Choose from the options.", field="labs", lab=unknown[0][:NAME_CHARS]
        )
    chosen = [slug for slug in LABS if slug in labs]
    if not chosen:
        raise ActionRefused(422, "A course needs a lab.", "Choose one or more labs.", field="labs")
    return chosen
