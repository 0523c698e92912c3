"""A course graded again from its journals: honest grades are found again, what was changed is named, and nothing
changes before it is published."""

from collections import Counter
from functools import cache

import pytest
from django.utils import timezone

from queueviz.courses import regrading
from queueviz.courses.course_runs import regraded, sources_of_course
from queueviz.courses.difference_texts import KINDS, shown
from queueviz.courses.grades import results_of
from queueviz.models import Course, Grade, Regrade, Submission
from sandbox.journal.events import ActionTaken, Entry, LabFinished, LabStarted, PredictionGiven, StepMet
from sandbox.labs.catalogue import LABS
from sandbox.simulation.lab_player import Played, play
from tests.web.courses import course_of
from tests.web.graded_course import Student, leave_graded, student_of, write_journal

pytestmark = pytest.mark.django_db
LAB, SHORT = "members-and-queues", "failed-send"


@cache
def solved(slug: str, seed: int = 1) -> Played:
    return play(LABS[slug], LABS[slug].solve, seed)


@cache
def half(slug: str) -> Played:
    """A wrong script's, which does not come to an end."""
    return play(LABS[slug], LABS[slug].wrong[0].play, 1)


course = course_of(LAB, SHORT)


def again(course: Course) -> Regrade:
    began_at = timezone.now()
    leave_graded(course, sources_of_course(course).journals)
    return regraded(course, began_at, {})


def named(made: Regrade) -> set[tuple[str, str, str]]:
    return {(row["student"], row["lab"], row["kind"]) for row in made.differences}


def changed(entries: tuple[Entry, ...], kind: type, **fields: object) -> list[Entry]:
    """Return the events of the kind with these fields."""
    return [
        entry._replace(event=entry.event._replace(**fields)) if isinstance(entry.event, kind) else entry
        for entry in entries
    ]  # type: ignore[attr-defined]


def answered(entries: tuple[Entry, ...], part: str, value: str) -> list[Entry]:
    """Consistently: the action and, of a prediction, what was written of it."""
    found = []
    for entry in entries:
        event = entry.event
        if isinstance(event, ActionTaken) and event.action == "AnswerStep" and event.fields["part"] == part:
            entry = entry._replace(event=event._replace(fields={**event.fields, "value": value}))
        elif isinstance(event, PredictionGiven) and part == "predict":
            entry = entry._replace(event=event._replace(value=value))
        found.append(entry)
    return found


def test_grades_that_are_found_again_have_no_difference_and_publishing_them_changes_nothing(course: Course) -> None:
    for seed, name in enumerate(("Otter", "Lynx", "Heron"), start=1):
        student_of(course, name, solved(LAB, seed))
    student_of(course, "Toad", half(LAB))
    before = results_of(course)
    made = again(course)
    assert (made.differences, made.attempts, len(made.found)) == ([], 4, 4)
    assert regrading.publish(made) == (0, 0)
    after = results_of(course)
    assert [[(lab.score, lab.finished, lab.steps) for lab in one.labs] for one in after] == [
        [(lab.score, lab.finished, lab.steps) for lab in one.labs] for one in before
    ]
    assert {lab.score for one in after for lab in one.labs if lab.begun} == {100, half(LAB).attempt.score}


def test_ten_forged_journals_and_five_edited_answers_are_named_by_student_and_lab(course: Course) -> None:
    honest, wrong = solved(LAB).entries, half(LAB).entries
    last = wrong[-1]
    forged: dict[str, list[Entry]] = {
        "finished": [*wrong, Entry(last.seq + 1, last.at_ms, None, LabFinished(LAB, 1, 100))],
        "step": [*wrong, Entry(last.seq + 1, last.at_ms, None, StepMet(LAB, 1, "Done.", (1,)))],
        "praise": changed(honest, StepMet, why="Well done."),
        "evidence": changed(honest, StepMet, evidence=(7,)),
        "score": changed(honest, LabFinished, score=101),
        "twice": [*honest, Entry(honest[-1].seq + 1, honest[-1].at_ms, None, LabFinished(LAB, 1, 100))],
        "seed": changed(honest, LabStarted, seed="2"),
        "number": changed(honest, LabStarted, attempt=1.5),
        "no-answers": [entry for entry in honest if not isinstance(entry.event, PredictionGiven)],
        "shortened": list(honest[: len(honest) // 2]),
    }
    edited: dict[str, list[Entry]] = {
        "prediction": answered(honest, "predict", "999"),
        "observation": answered(honest, "say", "0"),
        "reason": answered(honest, "why", "broker"),
        "sealed": changed(honest, PredictionGiven, value="2"),
        "second reason": answered(honest, "why", "late"),
    }
    assert (len(forged), len(edited)) == (10, 5)
    for name, entries in forged.items():
        student_of(course, name, half(LAB) if name in ("finished", "step") else solved(LAB), entries=entries)
    for name, entries in edited.items():
        student_of(course, name, solved(LAB), entries=entries)
    student_of(course, "honest", solved(LAB))
    student_of(course, "honest too", solved(SHORT))
    made = again(course)
    assert {student for student, lab, _ in named(made) if lab == LAB} == set(forged) | set(edited)
    assert {student for student, _, kind in named(made) if kind == "receipt"} >= set(edited)
    assert {student for student, lab, _ in named(made) if lab != LAB} == set()


def test_a_changed_answer_s_step_and_event_are_said_and_the_grade_stays_that_of_the_day(course: Course) -> None:
    student = student_of(course, "Otter", solved(LAB), entries=answered(solved(LAB).entries, "say", "0"))
    made = again(course)
    first = next(
        entry.seq
        for entry in solved(LAB).entries
        if isinstance(entry.event, ActionTaken) and entry.event.fields.get("part") == "say"
    )
    [row] = [row for row in made.differences if row["kind"] == "receipt"]
    assert (row["step"], row["live"], row["found"]) == (1, str(first), "say")
    assert f"the answer received at event {first} differs from the journal" in shown(row)["sentence"]
    regrading.publish(made)
    assert Grade.objects.get(submission=student.submission).score == 100


def test_a_journal_edited_while_the_sandbox_sleeps_is_named_also_when_the_student_goes_on(course: Course) -> None:
    played = solved(LAB)
    student = student_of(course, "Otter", played, entries=answered(played.entries, "predict", "1"))
    grade = Grade.objects.get()
    number, receipts = next(iter(grade.receipts.items()))
    more = {"step": 2, "part": "why", "seq": receipts[-1]["seq"] + 50, "digest": "of the edited journal"}
    grade.receipts = {number: [*receipts, more]}
    grade.save()
    assert ("Otter", LAB, "receipt") in named(again(course))
    assert student.submission.lab == LAB


def test_torn_and_strange_journals_are_named_and_do_not_end_the_run(course: Course) -> None:
    strange = {
        "garbage": b"\x00\xffnot json\n",
        "numbers": b"[1, 2, 3]\n",
        "deep": b"[" * 50_000 + b"\n",
        "huge": b'{"seq": 99999999999999999999999, "at_ms": 0, "type": "LabStarted", "cause": null}\n',
        "unknown": b'{"seq": 999999, "at_ms": 0, "type": "Laboratory", "cause": null}\n',
    }
    for name, line in strange.items():
        student = student_of(course, name, solved(LAB))
        [segment] = sorted(student.journal.iterdir())
        segment.write_bytes(line + segment.read_bytes())
        student = student_of(course, f"{name} at the end", solved(LAB))
        [segment] = sorted(student.journal.iterdir())
        segment.write_bytes(segment.read_bytes() + line)
    student_of(course, "Otter", solved(LAB))
    made = again(course)
    assert named(made) == {(name + end, LAB, "unread") for name in strange for end in ("", " at the end")}
    assert len(made.found) == 1, "nothing is published of a journal that cannot be read"


@pytest.mark.parametrize(
    ("field", "value"), [("attempt", 1.5), ("attempt", 1 << 63), ("attempt", True), ("exam", "yes"), ("attempt", "1")]
)
def test_a_number_that_fits_no_column_is_an_unread_journal_and_no_failed_run(
    course: Course, field: str, value: object
) -> None:
    student_of(course, "forger", solved(LAB), entries=changed(solved(LAB).entries, LabStarted, **{field: value}))
    student_of(course, "Otter", solved(LAB))
    assert named(again(course)) == {("forger", LAB, "unread")}


def test_a_journal_whose_oldest_part_is_gone_costs_no_grade(course: Course) -> None:
    entries = solved(LAB).entries
    begin = next(place for place, entry in enumerate(entries) if isinstance(entry.event, LabStarted))
    student = student_of(course, "Otter", solved(LAB), entries=list(entries[begin + 1 :]))
    made = again(course)
    assert {kind for _, _, kind in named(made)} == {"lost", "not_begun"}
    regrading.publish(made)
    assert Grade.objects.get(submission=student.submission).score == 100


def test_a_sandbox_that_is_gone_and_one_without_files_keep_their_grades(course: Course) -> None:
    gone, empty = (student_of(course, name, solved(LAB)) for name in ("gone", "empty"))
    assert gone.submission.sandbox is not None
    gone.submission.sandbox.delete()
    for path in empty.journal.iterdir():
        path.unlink()
    made = again(course)
    assert ("gone", LAB, "gone") in named(made)
    assert ("empty", LAB, "not_begun") in named(made)
    regrading.publish(made)
    assert {grade.score for grade in Grade.objects.all()} == {100}


def test_a_changed_check_regrades_everyone_and_changes_nothing_before_it_is_published(course: Course) -> None:
    """As if the check had been harder when it was graded live: every grade was lower then."""
    students = [student_of(course, name, solved(LAB)) for name in ("Otter", "Lynx")]
    Grade.objects.update(score=50, steps=[])
    Submission.objects.update(score=50, steps_met=0, finished_at=None)
    made = again(course)
    assert named(made) == {("Otter", LAB, "score"), ("Lynx", LAB, "score")}
    assert shown(made.differences[0])["sentence"] == "The recorded score is 50 (0/2); the regraded score is 100 (2/2)."
    assert {grade.score for grade in Grade.objects.all()} == {50}
    assert regrading.publish(made) == (2, 0)
    assert {(grade.score, len(grade.steps), grade.regraded_at is None) for grade in Grade.objects.all()} == {
        (100, 2, False)
    }
    for student in students:
        student.submission.refresh_from_db()
        assert (student.submission.score, student.submission.steps_met) == (100, 2)
        assert student.submission.finished_at is not None


def test_who_went_on_since_the_regrade_began_keeps_what_was_done(course: Course) -> None:
    student = student_of(course, "Otter", half(LAB))
    made = again(course)
    student_again(student)
    assert regrading.publish(made) == (0, 1)
    assert Grade.objects.get().score == 100


def student_again(student: Student) -> None:
    """Done meanwhile."""
    Grade.objects.filter(submission=student.submission).update(score=100, changed_at=timezone.now())


def test_a_killed_server_s_missing_result_is_distinguished_from_a_forged_one(course: Course) -> None:
    student_of(
        course,
        "Otter",
        solved(LAB),
        entries=[entry for entry in solved(LAB).entries if not isinstance(entry.event, LabFinished)],
    )
    made = again(course)
    assert ("Otter", LAB, "unwritten") in named(made)
    assert ("Otter", LAB, "journal") not in named(made)


def test_many_differences_of_one_student_do_not_hide_those_of_others(
    course: Course, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(regrading, "MOST_OF_ONE", 2)
    honest = solved(LAB).entries
    boasts = [Entry(honest[-1].seq + n, honest[-1].at_ms, None, LabFinished(LAB, 1, n)) for n in range(1, 9)]
    student_of(course, "boaster", solved(LAB), entries=[*honest, *boasts])
    student_of(course, "praised", solved(LAB), entries=changed(honest, StepMet, why="Well done."))
    found = Counter(row["student"] for row in again(course).differences)
    assert found == {"boaster": 3, "praised": 3}


def test_only_the_newest_regrades_are_kept(course: Course) -> None:
    student_of(course, "Otter", solved(SHORT))
    numbers = [again(course).pk for _ in range(regrading.KEPT_REGRADES + 2)]
    assert [made.pk for made in course.regrades.all()] == numbers[::-1][: regrading.KEPT_REGRADES]


def test_every_kind_of_difference_has_a_sentence() -> None:
    row = {"student": "Otter", "lab": "no-such-lab", "step": None, "live": "{x}", "found": ""}
    for kind in KINDS:
        one = shown({**row, "kind": kind})
        assert one["number"] == "no-such-lab"
        assert one["sentence"]
    assert set(KINDS) >= regrading.UNTRUSTED


def test_a_second_write_of_the_same_journal_is_the_same(course: Course) -> None:
    student = student_of(course, "Otter", solved(SHORT))
    for path in student.journal.iterdir():
        path.unlink()
    write_journal(student.journal, list(solved(SHORT).entries))
    assert again(course).differences == []
