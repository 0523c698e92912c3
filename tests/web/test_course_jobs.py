"""Analytics and regrade by buttons: asked for by the teacher, executed by the worker, shown with progress."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from django.test import Client

from queueviz.courses import regrading
from queueviz.courses.course_runs import sources_of_course
from queueviz.models import Course, PipelineRun
from queueviz.runs import directories
from queueviz.runs.worker import Worker
from sandbox.labs.catalogue import LABS
from sandbox.simulation.lab_player import Played, play
from tests.web.courses import course_of, joined
from tests.web.engine_calls import HTMX
from tests.web.graded_course import leave_graded, student_of
from tests.web.markup import compact
from tests.web.scripted_child import ScriptedChild

pytestmark = pytest.mark.django_db
LAB = "members-and-queues"
course = course_of(LAB)


@cache
def solved() -> Played:
    return play(LABS[LAB], LABS[LAB].solve, 1)


@pytest.fixture
def worker(tmp_path: Path) -> Iterator[Worker]:
    worker = Worker(tmp_path / directories.FOLDER, ScriptedChild)
    assert worker.begin()
    yield worker
    worker.end()


def asked(browser: Client, course: Course, job: str) -> int:
    return browser.post(f"/c/{course.slug}/runs/", {"job": job}, headers=HTMX).status_code


def executed(worker: Worker) -> PipelineRun:
    for _ in range(400):
        if PipelineRun.objects.get().is_over:
            break
        worker.turn(0.05)
    return PipelineRun.objects.get()


def test_the_analytics_page_has_the_button_and_says_that_a_run_waits(course: Course, teacher: Client) -> None:
    page = compact(teacher.get(f"/c/{course.slug}/analytics/").content.decode())
    assert 'name="job" value="class_analytics"' in page
    assert "manage.py pipeline" not in page
    assert asked(teacher, course, "class_analytics") == 200
    run = PipelineRun.objects.get()
    assert (run.course, run.sandbox, run.state) == (course, None, PipelineRun.State.QUEUED)
    part = teacher.get(f"/c/{course.slug}/runs/class_analytics/").content.decode()
    assert "computing" in part
    assert f'value="{run.run}"' in part
    assert asked(teacher, course, "class_analytics") == 409
    teacher.post(f"/c/{course.slug}/runs/", {"cancel": run.run}, headers=HTMX)
    run.refresh_from_db()
    assert run.state == PipelineRun.State.CANCELLED


def test_only_the_teacher_may_ask_and_only_for_these_jobs(course: Course, teacher: Client) -> None:
    assert asked(joined(course), course, "grading") == 403
    assert asked(Client(), course, "grading") == 404
    assert asked(teacher, course, "seal") == 422
    assert not PipelineRun.objects.exists()


def test_a_regrade_by_the_button_lists_differences_and_publishes_nothing(
    course: Course, teacher: Client, worker: Worker
) -> None:
    student_of(course, "Ada", solved())
    leave_graded(course, sources_of_course(course).journals)
    assert asked(teacher, course, "grading") == 200
    run = executed(worker)
    assert (run.state, run.why) == (PipelineRun.State.DONE, "")
    assert run.tables == {"attempts": 1}, "the journals of the course's sandboxes were read"
    reloads = [
        teacher.get(f"/c/{course.slug}/runs/grading/?seen=older").get("HX-Refresh"),
        teacher.get(f"/c/{course.slug}/runs/grading/?seen=r-0").get("HX-Refresh"),
    ]
    assert reloads == ["true", None]
    made = regrading.newest(course)
    assert made is not None
    assert (made.attempts, made.published_at) == (1, None)
    page = compact(teacher.get(f"/c/{course.slug}/results/").content.decode())
    assert "No difference: every grade is confirmed." in page
    assert "Publish this regrade" in page


def test_the_page_does_not_reload_before_the_regrade_is_there(course: Course, teacher: Client) -> None:
    leave_graded(course, {})
    assert asked(teacher, course, "grading") == 200
    part = teacher.get(f"/c/{course.slug}/runs/grading/?seen=older")
    assert "HX-Refresh" not in part
    assert "?seen=older" in part.content.decode(), "the next poll, after the end, reloads"


def test_a_student_who_began_nothing_has_no_score(course: Course, teacher: Client) -> None:
    joined(course, "Ada")
    page = compact(teacher.get(f"/c/{course.slug}/results/").content.decode())
    assert "Total of 100" in page
    assert 'Ada</a></th><td>–</td><td class="note">–</td><td class="r">–</td><td class="r">–</td></tr>' in page
    rows = teacher.get(f"/c/{course.slug}/results/gradebook.csv").content.decode().splitlines()
    assert rows[1] == "Ada,,,,,"
