"""Results of a course as files for other systems.

    grades.csv      a row a student, lab and step: student, name, lab, step, met at, prediction, truth, hints, score,
                    journal, note; score and note are the same in all rows of a lab and of a student
    gradebook.csv   a row a student, and for each lab score and right predictions, as learning management systems
                    import it
    grades.json     the same as grades.csv, nested
    gradescope.zip  <student>/results.json: Gradescope's autograder format, a test a lab
    exercism.zip    <student>/<lab>/results.json: Exercism's test runner interface, version 3, a test a step

Names of people and the teacher's notes are in the first three alone.  Times are the sandbox's, in UTC.
"""

import csv
import io
import json
import re
import zipfile
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime

from queueviz.courses.csv_cells import cell
from queueviz.courses.grades import MOST_SCORE, LabResult, Step, StepResult, StudentResult
from queueviz.courses.models import Course
from queueviz.courses.releases import is_released
from sandbox.kernel.calendar_text import FIRST_MS, LAST_MS
from sandbox.labs.attempt import FOR_PREDICTIONS, FOR_STEPS

Link = Callable[[str], str]

EXERCISM_VERSION = 3
OUTPUT_CHARS = 500  # Exercism takes no more
VISIBLE, LATER = "visible", {Course.Feedback.AT_END: "after_due_date", Course.Feedback.ON_RELEASE: "after_published"}
COLUMNS = ("student", "name", "lab", "step", "met_at", "prediction", "truth", "hints", "score", "journal", "note")
COUNTS = f"{FOR_STEPS} steps, {FOR_PREDICTIONS} predictions given"  # a course gives no exams
_NOT_IN_NAMES = re.compile(r"[^\w-]+")


def grades_csv(students: Iterable[StudentResult], link: Link) -> str:
    """Return `grades.csv`.  `link`: returns the address of a sandbox's journal for its slug."""
    return _csv(
        COLUMNS,
        (
            (
                student.pseudonym,
                student.name,
                result.lab.slug,
                str(step.number),
                *_of_step(step),
                str(result.score) if result.begun else "",
                link(result.slug) if result.slug else "",
                student.note,
            )
            for student in students
            for result in student.labs
            for step in result.steps
        ),
    )


def gradebook_csv(course: Course, students: list[StudentResult]) -> str:
    labs = [result.lab for result in students[0].labs] if students else []
    head = (
        "student",
        "name",
        *(
            name
            for lab in labs
            for name in (f"{lab.number} {lab.title} ({MOST_SCORE}: {COUNTS})", f"{lab.number} predictions right")
        ),
        f"total ({MOST_SCORE * len(labs)})",
        "note",
    )
    return _csv(
        head,
        (
            (
                student.pseudonym,
                student.name,
                *(value for result in student.labs for value in _of_lab(result)),
                str(student.score) if student.begun else "",
                student.note,
            )
            for student in students
        ),
    )


def grades_json(course: Course, students: Iterable[StudentResult], link: Link) -> str:
    whole = {
        "course": course.slug,
        "title": course.title,
        "students": [
            {
                "student": student.pseudonym,
                "name": student.name,
                "score": student.score,
                "note": student.note,
                "labs": [_lab(result, link) for result in student.labs],
            }
            for student in students
        ],
    }
    return json.dumps(whole, ensure_ascii=False, indent=2)


def gradescope(course: Course, student: StudentResult) -> dict[str, object]:
    """Return the `results.json` of a student for Gradescope; its score is the sum of its tests.

    Students see the score there when they see it here.
    """
    visibility = VISIBLE if is_released(course) else LATER[Course.Feedback(course.feedback)]
    return {
        "visibility": visibility,
        "stdout_visibility": "hidden",
        "extra_data": {"course": course.slug, "student": student.pseudonym},
        "tests": [
            {
                "name": result.lab.title,
                "number": result.lab.number,
                "score": result.score,
                "max_score": MOST_SCORE,
                "status": "passed" if result.finished else "failed",
                "visibility": visibility,
                "output": "\n".join(_line(step) for step in result.steps)
                if result.begun
                else "This lab was not begun.",
                "extra_data": {"lab": result.lab.slug, "attempt": result.attempt, "exam": result.exam},
            }
            for result in student.labs
        ],
    }


def exercism(result: LabResult) -> dict[str, object]:
    """Return the `results.json` of one lab for Exercism; `task_id` is the number of the step."""
    if not result.begun:
        return {"version": EXERCISM_VERSION, "status": "error", "message": "This lab was not begun.", "tests": []}
    tests: list[dict[str, object]] = []
    for step in result.steps:
        is_met = step.met is not None
        tests.append(
            {
                "name": step.title,
                "task_id": step.number,
                "test_code": f"{step.check}(evidence)",
                "status": "pass" if is_met else "fail",
                "message": None if is_met else "This step is not done yet.",
                "output": _said(step.met)[:OUTPUT_CHARS] if step.met is not None else None,
            }
        )
    passed = all(test["status"] == "pass" for test in tests)
    return {"version": EXERCISM_VERSION, "status": "pass" if passed else "fail", "message": None, "tests": tests}


def gradescope_zip(course: Course, students: Iterable[StudentResult]) -> bytes:
    return _zip((f"{folder_of(student)}/results.json", gradescope(course, student)) for student in students)


def exercism_zip(students: Iterable[StudentResult]) -> bytes:
    return _zip(
        (f"{folder_of(student)}/{result.lab.slug}/results.json", exercism(result))
        for student in students
        for result in student.labs
    )


def folder_of(student: StudentResult) -> str:
    """Return a folder name that is unique for any pseudonym and stays inside the directory of unpacking."""
    return f"{student.number}-{_NOT_IN_NAMES.sub('_', student.pseudonym)}"


def at(at_ms: int) -> str:
    """Return the time in ISO 8601 to the second, in UTC.

    A time outside the calendar (in a forged journal) is returned in milliseconds.
    """
    if not FIRST_MS <= at_ms <= LAST_MS:
        return f"{at_ms} ms"
    return datetime.fromtimestamp(at_ms / 1000, UTC).isoformat(timespec="seconds")


def _lab(result: LabResult, link: Link) -> dict[str, object]:
    return {
        "lab": result.lab.slug,
        "number": result.lab.number,
        "score": result.score,
        "max_score": MOST_SCORE,
        "begun": result.begun,
        "finished": result.finished,
        "attempt": result.attempt,
        "exam": result.exam,
        "regraded_at": None if result.regraded_at is None else result.regraded_at.isoformat(timespec="seconds"),
        "journal": link(result.slug) if result.slug else None,
        "steps": [_step(step) for step in result.steps],
    }


def _step(step: StepResult) -> dict[str, object]:
    met = step.met
    return {
        "step": step.number,
        "title": step.title,
        "met_at": None if met is None else at(met["at_ms"]),
        "prediction": None if met is None else met["given"],
        "truth": None if met is None else met["truth"],
        "accurate": None if met is None else met["accurate"],
        "hints": 0 if met is None else met["hints"],
    }


def _of_lab(result: LabResult) -> tuple[str, str]:
    """Return the cells of a lab in `gradebook.csv`: score, predictions right."""
    if not result.begun:
        return "", ""
    return str(result.score), f"{result.predictions.right} of {result.predictions.asked}"


def _of_step(step: StepResult) -> tuple[str, ...]:
    """Return the cells of a step in `grades.csv`: met at, prediction, truth, hints."""
    if step.met is None:
        return "", "", "", ""
    return at(step.met["at_ms"]), step.met["given"] or "", step.met["truth"] or "", str(step.met["hints"])


def _line(step: StepResult) -> str:
    return f"{step.number}. {step.title}: " + ("not done" if step.met is None else f"done. {_said(step.met)}".rstrip())


def _said(met: Step) -> str:
    predicted = "" if met["given"] is None else f"Predicted: {met['given']}. Actual: {met['truth']}. "
    return predicted + ("" if not met["hints"] else f"Hints: {met['hints']}.")


def _csv(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(head)
    writer.writerows([cell(value) for value in row] for row in rows)
    return text.getvalue()


def _zip(files: Iterator[tuple[str, dict[str, object]]]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files:
            archive.writestr(name, json.dumps(content, ensure_ascii=False, indent=2))
    return packed.getvalue()
