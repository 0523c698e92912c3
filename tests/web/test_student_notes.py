"""A note on a student: written by the teacher, read by the teacher alone, deleted with the student."""

import csv
import io
import zipfile

import pytest
from django.test import Client

from queueviz.courses.grid import Grid, students_of
from queueviz.courses.teaching import NOTE_CHARS
from queueviz.models import Course, Enrolment
from tests.web.courses import LAB, begun, course_of, joined

pytestmark = pytest.mark.django_db
NOTE = "Was ill on Monday: <b>two</b> days more"
course = course_of(LAB)


@pytest.fixture
def student(course: Course) -> Client:
    browser = joined(course, "Otter")
    begun(course, browser)
    return browser


def write(browser: Client, course: Course, note: str, **headers: str) -> int:
    number = Enrolment.objects.get().pk
    answer = browser.post(f"/c/{course.slug}/students/{number}/", {"do": "note", "note": note}, headers=headers)
    return answer.status_code


def rows_of(browser: Client, course: Course, name: str) -> list[dict[str, str]]:
    answer = browser.get(f"/c/{course.slug}/results/{name}")
    return list(csv.DictReader(io.StringIO(answer.content.decode())))


def test_the_teacher_reads_it_in_the_results_their_csv_and_the_live_panel(
    course: Course, teacher: Client, student: Client
) -> None:
    assert write(teacher, course, f"  {NOTE}\n ") == 302
    number = Enrolment.objects.get().pk
    page = teacher.get(f"/c/{course.slug}/results/?student={number}").content.decode()
    assert page.count("Was ill on Monday: &lt;b&gt;two&lt;/b&gt; days more") == 2, "in the table and in its form"
    assert rows_of(teacher, course, "gradebook.csv")[0]["note"] == NOTE
    assert {row["note"] for row in rows_of(teacher, course, "grades.csv")} == {NOTE}
    assert NOTE in teacher.get(f"/c/{course.slug}/results/grades.json").json()["students"][0]["note"]
    assert Grid(1).rows(students_of(course), {})[str(number)]["note"] == NOTE


def test_no_page_file_or_export_shows_it_to_the_student(course: Course, teacher: Client, student: Client) -> None:
    assert write(teacher, course, "Zanzibar") == 302
    sandbox = course.sandboxes.get()
    for address in ("", "data/", "poll/", "poll/band/"):
        assert b"Zanzibar" not in student.get(f"/c/{course.slug}/{address}").content
    assert b"Zanzibar" not in student.get(f"/s/{sandbox.slug}/labs/{LAB}/").content
    own, teachers = (
        browser.get(f"/c/{course.slug}/{address}").content
        for browser, address in (
            (student, "data/export.zip"),
            (teacher, f"students/{Enrolment.objects.get().pk}/data/export.zip"),
        )
    )
    stored = [zipfile.ZipFile(io.BytesIO(packed)).read("student.json") for packed in (own, teachers)]
    assert [b"Zanzibar" in rows for rows in stored] == [False, True]
    for name in ("gradescope.zip", "exercism.zip"):
        packed = zipfile.ZipFile(io.BytesIO(teacher.get(f"/c/{course.slug}/results/{name}").content))
        assert not any(b"Zanzibar" in packed.read(file) for file in packed.namelist()), "files for other systems"


def test_the_student_writes_none_and_cannot_learn_of_one(course: Course, teacher: Client, student: Client) -> None:
    assert write(student, course, "mine") == 403
    assert write(Client(), course, "mine") == 404
    assert Enrolment.objects.get().note == ""


def test_a_note_has_a_limit_of_length_and_an_empty_one_removes_it(
    course: Course, teacher: Client, student: Client
) -> None:
    assert write(teacher, course, "x" * NOTE_CHARS) == 302
    assert write(teacher, course, "x" * (NOTE_CHARS + 1)) == 422
    assert len(Enrolment.objects.get().note) == NOTE_CHARS
    assert write(teacher, course, "  ") == 302
    assert Enrolment.objects.get().note == ""


def test_the_live_page_saves_without_leaving(course: Course, teacher: Client, student: Client) -> None:
    assert write(teacher, course, "short", **{"HX-Request": "true"}) == 204


def test_it_is_deleted_with_the_student_and_stays_out_of_the_csv_as_a_formula(
    course: Course, teacher: Client, student: Client
) -> None:
    write(teacher, course, "=1+1")
    assert rows_of(teacher, course, "gradebook.csv")[0]["note"] == "'=1+1"
    student.post(f"/c/{course.slug}/data/", {"confirm": "delete"})
    assert not Enrolment.objects.filter(note__contains="1+1").exists()
