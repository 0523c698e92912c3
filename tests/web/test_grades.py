"""Grades: what a student did is one table for the teacher and its files, and the student's own once released."""

import csv
import io
import json
import zipfile
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from queueviz.courses import grades, submissions
from queueviz.courses.csv_cells import cell
from queueviz.courses.grade_formats import exercism, folder_of, gradescope
from queueviz.courses.grades import results_of
from queueviz.models import Course, Grade, Regrade, Submission
from tests.web.clusters import account, browser_of
from tests.web.courses import LAB, begun, joined

pytestmark = pytest.mark.django_db
AT_MS = 1_795_142_537_350  # 2026-11-20 02:42:17 UTC


def lab_row(
    met: int = 1,
    *,
    attempt: int = 1,
    score: int = 50,
    given: str = "2",
    lab: str = LAB,
    digests: tuple[str, ...] = ("a", "b"),
) -> Any:
    """Return the engine's row of a lab of two steps."""
    one = {
        "seq": "40",
        "text": "",
        "values": {},
        "rests_on": [],
        "given": given,
        "truth": "2",
        "accurate": given == "2",
        "at_ms": AT_MS,
    }
    return {
        "lab": lab,
        "attempt": attempt,
        "exam": False,
        "score": score,
        "finished": met == 2,
        "steps": [
            {"title": "", "state": "met", "hints": 1, "met": one}
            if number < met
            else {"title": "", "state": "open", "hints": 0, "met": None}
            for number in range(2)
        ],
        "receipts": [
            {"step": 1, "part": "say", "seq": str(10 + place), "at_ms": AT_MS, "digest": digest}
            for place, digest in enumerate(digests)
        ],
    }


def worked(course: Course, pseudonym: str = "Otter", **row: Any) -> tuple[Client, Submission]:
    student = joined(course, pseudonym)
    sandbox = begun(course, student)
    submissions.note(sandbox, lab_row(**row))
    return student, Submission.objects.get(sandbox=sandbox)


def table(browser: Client, course: Course, name: str = "grades.csv") -> list[dict[str, str]]:
    answer = browser.get(f"/c/{course.slug}/results/{name}")
    assert answer.status_code == 200, answer.content
    return list(csv.DictReader(io.StringIO(answer.content.decode())))


def test_the_table_has_a_row_for_each_step_of_each_lab_of_each_student(course: Course, teacher: Client) -> None:
    _, work = worked(course)
    assert work.sandbox is not None
    rows = table(teacher, course)
    assert list(rows[0]) == [
        "student",
        "name",
        "lab",
        "step",
        "met_at",
        "prediction",
        "truth",
        "hints",
        "score",
        "journal",
        "note",
    ]
    assert [(row["lab"], row["step"]) for row in rows] == [
        ("pinned-offset", "1"),
        ("pinned-offset", "2"),
        (LAB, "1"),
        (LAB, "2"),
    ]
    assert rows[2] == {
        "student": "Otter",
        "name": "",
        "lab": LAB,
        "step": "1",
        "met_at": "2026-11-20T02:42:17+00:00",
        "prediction": "2",
        "truth": "2",
        "hints": "1",
        "score": "50",
        "journal": f"http://testserver/s/{work.sandbox.slug}/journal/",
        "note": "",
    }
    assert (rows[0]["score"], rows[0]["met_at"], rows[0]["journal"]) == ("", "", "")
    [whole] = table(teacher, course, "gradebook.csv")
    assert whole == {
        "student": "Otter",
        "name": "",
        "2 A slow message and the committed offset (100: 70 steps, 30 predictions given)": "",
        "2 predictions right": "",
        "4 More members than queues (100: 70 steps, 30 predictions given)": "50",
        "4 predictions right": "1 of 2",
        "total (200)": "50",
        "note": "",
    }


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@x", " =1", "\t=1", "＝1", "\rx"])
def test_no_cell_begins_as_a_formula(text: str) -> None:
    assert cell(text) == f"'{text}"
    assert cell("Otter = 1") == "Otter = 1"


def test_a_pseudonym_a_name_and_a_prediction_are_no_formulas_in_the_files(course: Course, teacher: Client) -> None:
    worked(course, "=Otter()", given="@SUM(A1)")
    course.enrolments.update(name="+cmd")
    row = table(teacher, course)[2]
    assert (row["student"], row["name"], row["prediction"]) == ("'=Otter()", "'+cmd", "'@SUM(A1)")
    assert table(teacher, course, "gradebook.csv")[0]["student"] == "'=Otter()"


def test_the_best_attempt_counts_and_a_second_one_takes_nothing_away(course: Course) -> None:
    _, work = worked(course, met=2, score=100)
    assert work.sandbox is not None
    submissions.note(work.sandbox, lab_row(1, attempt=2, score=50, digests=("c",)))
    grade = Grade.objects.get()
    assert (grade.score, grade.attempt, len(grade.steps)) == (100, 1, 2)
    assert {name: len(kept) for name, kept in grade.receipts.items()} == {"1": 2, "2": 1}


def test_receipts_once_given_are_never_replaced(course: Course) -> None:
    _, work = worked(course)
    assert work.sandbox is not None
    submissions.note(work.sandbox, lab_row(digests=("x", "y", "z")))
    assert [one["digest"] for one in Grade.objects.get().receipts["1"]] == ["a", "b", "z"]


def test_nothing_is_written_where_nothing_is_new(course: Course) -> None:
    _, work = worked(course)
    assert work.sandbox is not None
    before = Grade.objects.values().get()
    submissions.note(work.sandbox, lab_row())
    assert Grade.objects.values().get() == before


def test_more_answers_than_are_kept_do_not_make_the_row_longer(course: Course, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grades, "MOST_RECEIPTS", 3)
    _, work = worked(course)
    assert work.sandbox is not None
    submissions.note(work.sandbox, lab_row(digests=tuple("abcdef")))
    submissions.note(work.sandbox, lab_row(attempt=2, digests=("g",)))
    assert {name: [one["digest"] for one in kept] for name, kept in Grade.objects.get().receipts.items()} == {
        "1": ["a", "b", "c"]
    }


@pytest.mark.parametrize(
    ("feedback", "due_h", "seen"),
    [
        ("at_once", None, True),
        ("at_end", None, False),
        ("at_end", 1, False),
        ("at_end", -1, True),
        ("on_release", -1, False),
    ],
)
def test_a_student_sees_results_when_the_course_says_so(
    course: Course, feedback: str, due_h: int | None, seen: bool
) -> None:
    student, _ = worked(course, met=2, score=87)
    due_at = None if due_h is None else timezone.now() + timedelta(hours=due_h)
    Course.objects.update(feedback=feedback, due_at=due_at)
    page = student.get(f"/c/{course.slug}/").content.decode()
    assert ("Done: 87 of 100" in page, ">87<" in page, "2026-11-20" in page) == (seen, seen, seen)
    assert ("2 of 2 predictions right" in page, "70 for the steps" in page) == (seen, seen)


def test_results_are_released_by_the_teacher_and_only_the_own_are_shown(course: Course, teacher: Client) -> None:
    student, _ = worked(course, met=2, score=87)
    worked(course, "Lynx", met=2, score=61)
    Course.objects.update(feedback="on_release")
    address = f"/c/{course.slug}/results/"
    assert "Students do not see their results yet." in teacher.get(address).content.decode()
    assert teacher.post(f"{address}release/").status_code == 302
    first = Course.objects.get().released_at
    assert teacher.post(f"{address}release/").status_code == 302
    assert Course.objects.get().released_at == first
    page = student.get(f"/c/{course.slug}/").content.decode()
    assert ">87<" in page
    assert ">61<" not in page
    assert "Lynx" not in page


def test_results_are_the_teacher_s_alone(course: Course, teacher: Client) -> None:
    student, work = worked(course)
    other, address, number = browser_of(account("other")), f"/c/{course.slug}/results/", work.enrolment_id
    paths = [
        "",
        "grades.csv",
        "gradebook.csv",
        "grades.json",
        "gradescope.zip",
        "exercism.zip",
        f"{number}/results.json",
        f"{number}/{LAB}/results.json",
    ]
    for path in paths:
        assert [who.get(address + path).status_code for who in (teacher, student, other, Client())] == [
            200,
            403,
            404,
            404,
        ], path
    for path in ("release/", "publish/"):
        assert [who.post(address + path).status_code for who in (student, other, Client())] == [403, 404, 404]
    for path in ("passwd", "..%2Fgrades.csv", f"{number + 1}/results.json", f"{number}/orderly-lock/results.json"):
        assert teacher.get(address + path).status_code == 404


def test_gradescope_s_file_has_a_test_a_lab_and_is_shown_as_the_course_says(course: Course) -> None:
    worked(course)
    [student] = results_of(course)
    found = gradescope(course, student)
    assert [(test["number"], test["score"], test["max_score"], test["status"]) for test in found["tests"]] == [
        ("2", 0, 100, "failed"),
        ("4", 50, 100, "failed"),
    ]
    assert "score" not in found, "it is the sum of the tests"
    assert found["tests"][0]["output"] == "This lab was not begun."
    assert found["tests"][1]["output"].splitlines() == [
        "1. An extra member: done. Predicted: 2. Actual: 2. Hints: 1.",
        "2. More queues, a short delay: not done",
    ]
    seen = {}
    for feedback in Course.Feedback.values:
        course.feedback = feedback
        seen[feedback] = gradescope(course, student)["visibility"]
    assert seen == {"at_once": "visible", "at_end": "after_due_date", "on_release": "after_published"}


def test_exercism_s_file_has_a_test_a_step_in_version_3(course: Course) -> None:
    worked(course)
    [student] = results_of(course)
    nothing, half = map(exercism, student.labs)
    assert nothing == {"version": 3, "status": "error", "message": "This lab was not begun.", "tests": []}
    assert (half["version"], half["status"], half["message"]) == (3, "fail", None)
    assert [(test["task_id"], test["status"], test["test_code"]) for test in half["tests"]] == [
        (1, "pass", "_some_are_idle(evidence)"),
        (2, "fail", "_none_is_idle(evidence)"),
    ]


@pytest.mark.parametrize("pseudonym", ["../../etc/x", "a/b", "C:\\x", "..", "猫", "."])
def test_folders_of_the_archives_stay_where_they_are_unpacked(course: Course, teacher: Client, pseudonym: str) -> None:
    worked(course, pseudonym)
    number = course.enrolments.get().pk
    for name, files in (("gradescope.zip", 1), ("exercism.zip", 2)):
        packed = teacher.get(f"/c/{course.slug}/results/{name}").content
        names = zipfile.ZipFile(io.BytesIO(packed)).namelist()
        assert len(names) == files
        for path in names:
            folder, *_, last = path.split("/")
            assert folder.startswith(f"{number}-")
            assert last == "results.json"
            assert not {"..", ".", ""} & set(path.split("/"))
            assert "\\" not in path
    assert folder_of(results_of(course)[0]).count("/") == 0


def test_the_json_is_the_table_nested(course: Course, teacher: Client) -> None:
    worked(course)
    found = json.loads(teacher.get(f"/c/{course.slug}/results/grades.json").content)
    [student] = found["students"]
    [_, lab] = student["labs"]
    assert (student["student"], student["score"], lab["lab"], lab["score"], lab["finished"]) == (
        "Otter",
        50,
        LAB,
        50,
        False,
    )
    assert lab["steps"][0] | {"title": ""} == {
        "step": 1,
        "title": "",
        "met_at": "2026-11-20T02:42:17+00:00",
        "prediction": "2",
        "truth": "2",
        "accurate": True,
        "hints": 1,
    }


def test_the_page_has_students_and_steps_and_what_the_last_regrade_found(course: Course, teacher: Client) -> None:
    _, work = worked(course, "<b>Otter</b>", given="<i>2</i>")
    address = f"/c/{course.slug}/results/"
    assert "Regrade now" in teacher.get(address).content.decode()
    made = Regrade.objects.create(
        course=course,
        began_at=timezone.now(),
        attempts=1,
        differences=[
            {
                "submission": work.pk,
                "student": "<b>Otter</b>",
                "lab": LAB,
                "kind": "score",
                "step": None,
                "live": "50 (1/2)",
                "found": "<script>",
            }
        ],
    )
    for query in ("", f"?student={work.enrolment_id}", f"?lab={LAB}", "?student=x&lab=../y"):
        page = teacher.get(address + query).content.decode()
        assert "The recorded score is 50 (1/2); the regraded score is &lt;script&gt;." in page
        assert "&lt;b&gt;Otter&lt;/b&gt;" in page
        assert "<b>Otter" not in page
        assert "<i>2" not in page
    assert teacher.post(f"{address}publish/", {"regrade": str(made.pk + 1)}).status_code == 409
    assert teacher.post(f"{address}publish/", {"regrade": str(made.pk)}).status_code == 302
    assert Regrade.objects.get().published_at is not None


def test_who_is_removed_is_in_no_list(course: Course, teacher: Client) -> None:
    _, work = worked(course)
    teacher.post(f"/c/{course.slug}/students/{work.enrolment_id}/", {"do": "remove"})
    assert table(teacher, course) == []


def test_a_grade_is_there_also_when_its_sandbox_is_gone(course: Course, teacher: Client) -> None:
    _, work = worked(course)
    assert work.sandbox is not None
    work.sandbox.delete()
    row = table(teacher, course)[2]
    assert (row["score"], row["journal"], row["prediction"]) == ("50", "", "2")


def test_a_score_says_what_it_counts_in_the_results(course: Course, teacher: Client) -> None:
    worked(course, met=2, score=100, given="3")
    page = teacher.get(f"/c/{course.slug}/results/?lab={LAB}").content.decode()
    assert page.count("0 of 2 predictions right") == 2, "in the table and by step"
    assert "70 for the steps, 30 for predictions given; in an exam, for right ones" in page
