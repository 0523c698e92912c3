"""The results page: what the execution of each browser's run resulted in, and the buttons that request it."""

import html
import os
import re
import signal
import subprocess
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from queueviz.courses import proof_files, proof_requests
from queueviz.courses.lite_models import LiteRun
from queueviz.management.commands import proofworker
from queueviz.models import Course
from queueviz.operations import proof_process
from queueviz.operations.proof_process import ProofProcess
from queueviz.runs.heartbeat import Heartbeat
from tests.web.courses import LAB, course_of, joined
from tests.web.lite_class import ENGINE, reported, store, student

pytestmark = pytest.mark.django_db
course = course_of(LAB)


def page(teacher: Client, course: Course) -> str:
    answer = teacher.get(f"/c/{course.slug}/results/")
    assert answer.status_code == 200
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", answer.content.decode())).split())


@pytest.fixture
def worker(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The command, in this process, whose priority and signals stay as they are."""
    monkeypatch.setattr(proofworker, "known_engines", lambda: frozenset({ENGINE}))
    monkeypatch.setattr(os, "nice", lambda niceness: 0)
    monkeypatch.setattr(signal, "signal", lambda number, handler: None)
    return lambda: call_command("proofworker")


def test_a_course_without_browsers_has_no_such_table(teacher: Client, course: Course) -> None:
    assert "Labs in browsers" not in page(teacher, course)


def test_the_teacher_requests_the_whole_class_and_sees_each_state_with_its_sentences(
    teacher: Client, course: Course, worker: Any
) -> None:
    student(course, reported(LAB), name="Lynx")
    forged = student(course, reported(LAB), name="Heron")
    store(forged, [{**one, "name": "WinLab"} if n == 2 else one for n, one in enumerate(reported(LAB).entries, 1)])
    text = page(teacher, course)
    assert "not executed: 2" in text
    assert "run exams on the server" in text

    answer = teacher.post(f"/c/{course.slug}/results/execute/")
    assert answer["Location"] == f"/c/{course.slug}/results/"
    assert "waiting: 2" in page(teacher, course)
    worker()
    text = page(teacher, course)
    assert "proven: 1" in text
    assert "different: 1" in text
    assert "Entry 2 is refused when it is executed: Action 'WinLab' does not exist." in text

    teacher.post(f"/c/{course.slug}/results/execute/")
    assert proof_requests.progress_of(course) == {"equal": 1, "waits": 1}, "what is proven is not executed again"


def test_one_submission_is_executed_before_the_class(teacher: Client, course: Course) -> None:
    runs = [student(course, reported(LAB)) for _ in range(3)]
    teacher.post(f"/c/{course.slug}/results/execute/")
    teacher.post(f"/c/{course.slug}/results/execute/", {"submission": runs[2].submission_id})
    assert proof_requests.next_run() == runs[2]


def test_what_came_after_the_execution_is_counted(teacher: Client, course: Course) -> None:
    run = student(course, reported(LAB))
    LiteRun.objects.update(proof="equal", proven_length=run.length - 1)
    assert "1 entry since" in page(teacher, course)


@pytest.mark.parametrize("number", ["0", "x", "²", "9" * 30])
def test_a_submission_of_no_or_another_course_is_not_executed(teacher: Client, course: Course, number: str) -> None:
    student(course, reported(LAB))
    assert teacher.post(f"/c/{course.slug}/results/execute/", {"submission": number}).status_code == 404
    assert LiteRun.objects.get().proof == "none"


def test_students_request_nothing_and_see_no_state(course: Course) -> None:
    browser = joined(course)
    student(course, reported(LAB))
    assert browser.post(f"/c/{course.slug}/results/execute/").status_code == 403
    assert browser.get(f"/c/{course.slug}/results/executions/").status_code == 403
    assert LiteRun.objects.get().proof == "none"


def test_a_data_home_has_one_worker(course: Course, worker: Any) -> None:
    other = Heartbeat(proof_files.home() / "proofs" / ".worker")
    assert other.take()
    with pytest.raises(CommandError, match="Another process"):
        worker()
    other.stop()
    worker()


class FakeProcess:
    def __init__(self) -> None:
        self.code: int | None = None

    def poll(self) -> int | None:
        return self.code


def test_the_server_has_one_process_while_a_run_waits_and_none_otherwise(
    course: Course, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[FakeProcess] = []

    def start(command: list[str], **_: Any) -> FakeProcess:
        assert command[2:4] == ["proofworker", "--beside"]
        started.append(FakeProcess())
        return started[-1]

    monkeypatch.setattr(subprocess, "Popen", start)
    beside = ProofProcess()
    run = student(course, reported(LAB))
    beside.turn()
    assert not started
    proof_requests.ask(run, 0)
    for _ in range(3):
        beside.turn()
    assert len(started) == 1
    started[0].code = 0
    beside.turn()
    assert len(started) == 2
    started[1].code = -9
    beside.turn()
    assert len(started) == 2, "after a failure it pauses"
    monkeypatch.setattr(proof_process, "PAUSE_S", 0.0)
    beside._not_before_s = 0.0
    beside.turn()
    assert len(started) == 3
