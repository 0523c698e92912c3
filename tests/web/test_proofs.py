"""Labs that ran in browsers, executed on the server: honest runs are proven, others are named by code and number."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from queueviz import engine
from queueviz.courses import proof_requests, proofs, submissions
from queueviz.courses.lite_models import LiteEntry, LiteRun
from queueviz.courses.proof_texts import sentence_of
from queueviz.models import Course, Grade, Sandbox
from sandbox.cluster import paced
from sandbox.simulation.lab_player import LabPlayer
from sandbox.simulation.replay import replay
from tests.sim.browser_run import STUDENT, BrowserRun
from tests.web.courses import course_of
from tests.web.lite_class import ENGINE, reported, store, student

pytestmark = pytest.mark.django_db
LAB = "members-and-queues"
LABS_OF_THREE = (LAB, "flush-and-replicate", "master-dies")

course = course_of(*LABS_OF_THREE)


def proven(run: LiteRun, *, engines: tuple[str, ...] = (ENGINE,)) -> LiteRun:
    proof_requests.ask(run, proof_requests.CONTESTED)
    claimed = proof_requests.next_run()
    assert claimed == run
    proofs.prove(claimed, engines=engines)
    return LiteRun.objects.get(pk=run.pk)


def named(run: LiteRun) -> dict[str, int | None]:
    for row in run.differences:
        assert sentence_of(row)
    return {row["code"]: row["n"] for row in run.differences}


@pytest.mark.parametrize("lab", LABS_OF_THREE)
def test_an_honest_run_is_proven_and_its_directory_is_an_ordinary_sandbox(course: Course, lab: str) -> None:
    run = proven(student(course, reported(lab)))
    assert (run.proof, named(run), run.proven_length) == ("equal", {}, run.length)
    assert run.proof_ms > 0
    assert run.proven_at is not None
    assert replay(engine.directory_of(run.submission.sandbox.slug)).first_difference is None
    assert not list((engine.directory_of("x").parents[1] / "proofs").iterdir())


def with_teacher(player: LabPlayer, browser: BrowserRun) -> None:
    browser.by = "instructor Ms Curie"
    browser.act("SetRate", rate=0.0)
    browser.run(2)
    browser.act("SetRate", rate=1.0)
    browser.act("CreateTopic", topic="of-the-teacher", write_queues=2, read_queues=2)
    browser.by = STUDENT
    player._lab.solve(player)


def with_limits(player: LabPlayer, browser: BrowserRun) -> None:
    browser.run(1)
    browser.by = "instructor Ms Curie"
    browser.act("CreateTopic", topic="large", write_queues=64, read_queues=64)
    assert browser.refused("CreateTopic", topic="larger", write_queues=64, read_queues=64)
    browser.by = STUDENT
    player._lab.solve(player)


def in_two_attempts(player: LabPlayer, browser: BrowserRun) -> None:
    player._lab.solve(player)
    browser.act("RestartLab", lab=LAB)
    browser.run(2)


@pytest.mark.parametrize("script", [with_teacher, with_limits, in_two_attempts])
def test_so_is_one_with_a_teacher_with_refused_actions_or_with_a_second_attempt(course: Course, script: Any) -> None:
    report = reported(LAB, script)
    if script is with_limits:
        assert [one["fields"]["limit"] for one in report.entries if one["name"] is None] == ["queues"]
    run = proven(student(course, report))
    assert (run.proof, named(run)) == ("equal", {})
    assert Grade.objects.get().score == 100


def inserted(entries: Any, n: int, **fields: Any) -> list[Any]:
    """Return the list with one more entry, which has the position of entry `n`, as number `n`."""
    one = {**entries[n - 1], **fields}
    return [*entries[: n - 1], one, *entries[n - 1 :]]


def changed(entries: Any, n: int, **fields: Any) -> list[Any]:
    return [*entries[: n - 1], {**entries[n - 1], **fields}, *entries[n:]]


def answered(entries: Any, n: int, value: str) -> list[Any]:
    """Return the list with another value of the answer number `n`, from 1."""
    answers = [index for index, one in enumerate(entries, start=1) if one["name"] == "AnswerStep"]
    index = answers[n - 1]
    return changed(entries, index, fields={**entries[index - 1]["fields"], "value": value})


def number_of(entries: Any, name: str) -> int:
    return next(index for index, one in enumerate(entries, start=1) if one["name"] == name)


AGAIN = {"lab": LAB, "step": 1}
LATER_MS = 30_000

FORGED: dict[str, tuple[Callable[[Any], list[Any]], str, int]] = {
    "an action that a student has no right to": (
        lambda list_: inserted(list_, 2, name="BeginStepAgain", fields=AGAIN),
        "refused",
        2,
    ),
    "an action that does not exist": (lambda list_: inserted(list_, 2, name="WinLab", fields={}), "refused", 2),
    "an action with a wrong field": (
        lambda list_: changed(list_, 3, name="SetRate", fields={"rate": "fast"}),
        "refused",
        3,
    ),
    "an action that the lab refuses": (
        lambda list_: inserted(list_, 2, name="KillBroker", fields={"broker": "broker-a", "broker_id": 0}),
        "refused",
        2,
    ),
    "an answer that is sent twice": (lambda list_: inserted(list_, 2), "refused", 3),
    "a limit with half of its fields": (
        lambda list_: inserted(list_, 2, name=None, fields={"limit": "topics"}),
        "refused",
        2,
    ),
    "an answer of the teacher's": (lambda list_: changed(list_, 2, by="instructor Ms Curie"), "refused", 2),
    "another turn": (lambda list_: changed(list_, 3, turn=list_[2]["turn"] + 100), "position", 3),
    "a time at which the loop is not": (
        lambda list_: changed(list_, 3, ms=list_[2]["ms"] + LATER_MS),
        "position",
        3,
    ),
    "another order": (lambda list_: [*list_[:2], list_[3], list_[2], *list_[4:]], "position", 3),
    "another time of the sandbox's clock": (
        lambda list_: changed(list_, 4, at_ms=list_[3]["at_ms"] - 1_000),
        "clock_at",
        4,
    ),
    "an action that is left out": (
        lambda list_: [one for one in list_ if one["name"] != "StartConsumer"],
        "row_step",
        1,
    ),
}


@pytest.mark.parametrize("what", FORGED)
def test_a_forged_list_is_named_by_its_code_and_number(course: Course, what: str) -> None:
    forge, code, n = FORGED[what]
    run = student(course, reported(LAB))
    store(run, forge(reported(LAB).entries))
    run = proven(run)
    assert run.proof == "differs"
    assert named(run).get(code) == n, run.differences


def test_a_list_that_is_faster_than_the_clock_is_named_by_its_first_early_entry(course: Course) -> None:
    run = student(course, reported(LAB))
    early = next(one for one in run.entries.all() if one.ms > 10_000)
    run.entries.filter(n__gte=early.n).update(arrived_at=run.began_at + timedelta(seconds=4))
    run = proven(run)
    assert (run.proof, named(run)) == ("differs", {"clock": early.n})


def test_a_clock_beyond_the_time_since_the_beginning_is_named(course: Course) -> None:
    run = student(course, reported(LAB))
    began_at = timezone.now() - timedelta(milliseconds=reported(LAB).entries[-1]["ms"] + 1_000)
    LiteRun.objects.filter(pk=run.pk).update(at_ms=run.at_ms + 10**9, began_at=began_at)
    run = proven(run)
    assert run.proof == "differs"
    assert named(run)["clock_end"] is None


@pytest.mark.parametrize("n", [1, 2, 3])
def test_an_edited_answer_is_named_from_its_number_on(course: Course, n: int) -> None:
    run = student(course, reported(LAB))
    value = {1: "17", 2: "1", 3: "other"}[n]
    store(run, answered(reported(LAB).entries, n, value))
    run = proven(run)
    assert run.proof == "differs"
    assert named(run)["digest"] == n


def test_an_answer_edited_in_the_database_breaks_the_chain_and_the_grade_stays(course: Course) -> None:
    run = student(course, reported(LAB))
    entry = next(one for one in run.entries.all() if one.name == "AnswerStep")
    LiteEntry.objects.filter(pk=entry.pk).update(fields={**entry.fields, "value": "17"})
    run = proven(run)
    assert (run.proof, named(run)["chain"]) == ("differs", entry.n)
    assert Grade.objects.get().score == 100


def test_a_list_cut_in_the_database_is_named_by_its_last_entry(course: Course) -> None:
    run = student(course, reported(LAB))
    run.entries.filter(n=run.length).delete()
    assert named(proven(run))["chain_end"] == run.length - 1


def test_a_claimed_score_does_not_outlive_the_execution(course: Course) -> None:
    run = student(course, reported(LAB))
    store(run, reported(LAB).entries[:3])
    run = proven(run)
    assert {"row", "row_step", "digest"} <= set(named(run))
    grade, work = Grade.objects.get(), run.submission
    assert (grade.score, work.score, work.steps_met, work.finished_at) == (0, 0, 0, None)
    submissions.note(work.sandbox, reported(LAB).row)
    assert Grade.objects.get().score == 0, "without a new entry a claim changes nothing"


def test_a_row_that_claims_another_result_is_named_by_its_step(course: Course) -> None:
    report = reported(LAB)
    steps = [{**step, "met": {**step["met"], "given": "8", "accurate": True}} for step in report.row["steps"][:1]]
    row = {**report.row, "steps": [*steps, *report.row["steps"][1:]], "score": 99}
    run = proven(student(course, report._replace(row=row)))
    assert named(run) == {"row_step": 1, "row": None}


def test_a_row_that_is_older_than_the_list_is_no_difference(course: Course) -> None:
    started, predicted, *_ = reported(LAB).entries

    def first(player: LabPlayer, browser: BrowserRun) -> None:
        browser.run((predicted["ms"] - started["ms"]) / 1000)
        player.predict(predicted["fields"]["value"])

    run = proven(student(course, reported(LAB)._replace(row=reported(LAB, first).row)))
    assert (run.proof, named(run)) == ("equal", {})


@pytest.mark.parametrize(
    "row", [{}, [], "row", {"lab": "other"}, {"lab": LAB, "steps": 7}, {"lab": LAB, "steps": [{}]}]
)
def test_a_report_that_is_no_lab_is_a_difference_and_no_failure(course: Course, row: Any) -> None:
    run = student(course, reported(LAB))
    LiteRun.objects.filter(pk=run.pk).update(row=row)
    run = proven(run)
    assert (run.proof, named(run)) == ("differs", {"row_form": None})
    assert Grade.objects.get().score == 100


def test_a_reported_time_far_ahead_does_not_keep_the_server_busy(
    course: Course, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proofs, "IDLE_MS", 10_000)
    run = student(course, reported(LAB))
    LiteRun.objects.filter(pk=run.pk).update(at_ms=run.at_ms + 10**12)
    run = proven(run)
    assert (run.proof, named(run)) == ("equal", {})


def test_an_unknown_engine_is_named(course: Course) -> None:
    assert named(proven(student(course, reported(LAB)), engines=("another",))) == {"engine": None}


def test_an_engine_with_another_constant_is_named_by_the_first_answer_that_differs(
    course: Course, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(paced, "FLUSH_S", (0.05, 0.4))
        report = reported.__wrapped__("flush-and-replicate")
    run = proven(student(course, report))
    assert run.proof == "differs"
    assert named(run)["digest"] in range(1, len(report.row["receipts"]) + 1)


def test_another_seed_is_named_from_the_first_answer_on(course: Course) -> None:
    run = proven(student(course, reported(LAB), seed="5"))
    assert run.proof == "differs"
    assert named(run)["digest"] == 1


def test_what_no_honest_page_sends_is_named_by_its_kind(course: Course) -> None:
    run = student(course, reported(LAB))
    LiteRun.objects.filter(pk=run.pk).update(odd={"teacher": 2, "order": 1})
    run = proven(run)
    assert named(run) == {"odd": None, "teacher": None}
    assert [row["values"]["count"] for row in run.differences] == [1, 2]


def test_a_run_of_other_limits_cannot_be_executed_and_the_grade_stays(course: Course) -> None:
    run = student(course, reported(LAB))
    LiteRun.objects.filter(pk=run.pk).update(conditions="other")
    run = proven(run)
    assert (run.proof, named(run)) == ("failed", {"refused_run": None})
    assert Grade.objects.get().score == 100
    assert not engine.directory_of(run.submission.sandbox.slug).exists()


def test_a_full_disk_and_a_long_execution_are_failures_with_a_sentence(
    course: Course, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = student(course, reported(LAB))
    monkeypatch.setattr(proofs, "FREE_BYTES", 2**60)
    assert named(proven(run)) == {"refused_run": None}
    monkeypatch.undo()
    monkeypatch.setattr(proofs, "MOST_CPU_S", 0.0)
    run = proven(run)
    assert (run.proof, "seconds" in named(run)) == ("failed", True)


def test_the_highest_priority_is_executed_first_then_the_oldest(course: Course) -> None:
    runs = [student(course, reported(LAB)) for _ in range(4)]
    for run, priority in zip(
        runs, (proof_requests.WHOLE_CLASS, proof_requests.WHOLE_CLASS, proof_requests.FINISHED, 0), strict=True
    ):
        proof_requests.ask(run, priority)
    proof_requests.ask(runs[3], proof_requests.CONTESTED)
    proof_requests.ask(runs[3], proof_requests.WHOLE_CLASS)
    assert proof_requests.progress_of(course) == {"waits": 4}
    assert [proof_requests.next_run() for _ in range(5)] == [runs[3], runs[2], runs[0], runs[1], None]


def test_a_finished_lab_is_executed_before_the_class_and_once(course: Course) -> None:
    run = student(course, reported(LAB))
    work = run.submission
    submissions.Submission.objects.filter(pk=work.pk).update(finished_at=None)
    submissions.note(work.sandbox, reported(LAB).row)
    run = LiteRun.objects.get()
    assert (run.proof, run.priority) == ("waits", proof_requests.FINISHED)
    proven(run)
    submissions.note(work.sandbox, reported(LAB).row)
    assert LiteRun.objects.get().proof == "equal"


def test_a_claim_does_not_return_while_the_run_waits_again(course: Course) -> None:
    run = student(course, reported(LAB))
    store(run, reported(LAB).entries[:3])
    proven(run)
    proof_requests.ask(run, 0)
    submissions.note(run.submission.sandbox, reported(LAB).row)
    assert Grade.objects.get().score == 0


def test_a_run_left_by_a_killed_worker_is_taken_again_once(course: Course) -> None:
    run = student(course, reported(LAB))
    proof_requests.ask(run, 0)
    for state in ("waits", "failed"):
        assert proof_requests.next_run() == run
        proof_requests.take_up()
        assert LiteRun.objects.get().proof == state
    assert proven(run).proof == "equal"


def test_a_request_meanwhile_is_executed_once_more(course: Course) -> None:
    run = student(course, reported(LAB))
    proof_requests.ask(run, 0)
    claimed = proof_requests.next_run()
    assert claimed is not None
    proof_requests.ask(run, 1)
    proofs.prove(claimed, engines=(ENGINE,))
    assert LiteRun.objects.get().proof == "waits"


def test_a_worker_that_ends_leaves_the_run_for_the_next_one(course: Course) -> None:
    run = student(course, reported(LAB))
    proof_requests.ask(run, 0)
    claimed = proof_requests.next_run()
    assert claimed is not None
    proofs.prove(claimed, engines=(ENGINE,), is_over=lambda: True)
    assert LiteRun.objects.get().proof == "runs"
    proof_requests.take_up()
    assert proof_requests.next_run() == run


def test_the_directory_goes_with_the_sandbox_also_while_it_is_executed(course: Course) -> None:
    run = student(course, reported(LAB))
    sandbox = run.submission.sandbox
    proven(run)
    assert engine.directory_of(sandbox.slug).exists()
    proof_requests.ask(run, 0)
    claimed = proof_requests.next_run()
    assert claimed is not None
    deleted = False

    def is_over() -> bool:
        nonlocal deleted
        if not deleted:
            Sandbox.objects.all().delete()
            deleted = True
        return False

    proofs.prove(claimed, engines=(ENGINE,), is_over=is_over)
    assert not engine.directory_of(sandbox.slug).exists()
    assert not list((engine.directory_of("x").parents[1] / "proofs").iterdir())
