"""The worker: runs in order on one process, and whatever happens, no run is "at work" while no one is."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import OperationalError
from django.utils import timezone

from queueviz.models import PipelineRun, Sandbox
from queueviz.runs import directories, heartbeat
from queueviz.runs.worker import GRACE_S, Child, Worker
from sandbox.control.limits import HostLimits
from tests.web.scripted_child import ScriptedChild

pytestmark = pytest.mark.django_db
PATIENCE_TURNS = 400
State = PipelineRun.State


class Stage:
    """A worker whose clock is in hand, and every process it started."""

    def __init__(self, home: Path) -> None:
        self.home, self.now_s = home, 1_000.0
        self.children: list[ScriptedChild] = []
        self.worker = self.new_worker()
        assert self.worker.begin()

    def new_worker(self) -> Worker:
        return Worker(self.home / directories.FOLDER, self._open, limits=HostLimits(), now=lambda: self.now_s)

    def _open(self, words: Path) -> Child:
        self.children.append(ScriptedChild(words))
        return self.children[-1]

    def until(self, look: Callable[[], Any]) -> None:
        for _ in range(PATIENCE_TURNS):
            if look():
                return
            self.worker.turn(0.05)
        raise AssertionError("not within a while")

    def over(self, run: PipelineRun) -> PipelineRun:
        """The run when it is over."""
        self.until(lambda: PipelineRun.objects.get(pk=run.pk).is_over)
        run.refresh_from_db()
        return run

    def at_work(self, run: PipelineRun) -> None:
        self.until(lambda: PipelineRun.objects.get(pk=run.pk).tasks == 4)


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    made = Stage(tmp_path)
    yield made
    made.worker.end()
    for child in made.children:
        child.close()


@pytest.fixture
def sandbox(tmp_path: Path) -> Sandbox:
    directory = tmp_path / "sandboxes" / "quiet-otter"
    (directory / "broker-a" / "commitlog").mkdir(parents=True)
    (directory / "sandbox.json").write_text("{}")
    return Sandbox.objects.create(slug="quiet-otter", name="Otter", template="orders", visited_at=timezone.now())


def asked(sandbox: Sandbox, job: str) -> PipelineRun:
    return PipelineRun.objects.create(sandbox=sandbox, job=job, who="anonymous", visitor="v")


def test_runs_are_carried_out_in_the_order_they_were_asked_for_by_one_process(stage: Stage, sandbox: Sandbox) -> None:
    first, second = asked(sandbox, "done"), asked(sandbox, "done")
    stage.over(second)
    first.refresh_from_db()
    assert (first.state, second.state) == (State.DONE, State.DONE)
    assert first.ended_at is not None
    assert second.started_at is not None
    assert first.ended_at <= second.started_at
    assert (second.tables, second.true_to, second.why) == ({"summary": 7}, 18_390, "")
    assert (second.stage, second.tasks_done, second.tasks) == (3, 1, 4)
    assert len(stage.children) == 1


def test_no_process_is_started_before_the_first_run(stage: Stage) -> None:
    for _ in range(3):
        stage.worker.turn(0.0)
    assert stage.children == []


def test_a_job_is_given_the_stores_and_the_journal_by_the_names_of_their_sandbox(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    found = directories.sources_of(sandbox.slug)
    directory = tmp_path / "sandboxes" / "quiet-otter"
    assert found == ({"quiet-otter/broker-a": str(directory / "broker-a")}, {"quiet-otter": str(directory / "journal")})


def test_sealed_log_files_lie_beside_results_and_never_in_a_store(sandbox: Sandbox, tmp_path: Path) -> None:
    stores = directories.sources_of(sandbox.slug)
    assert stores is not None
    assert directories.sealed_of(stores.stores) == {
        "quiet-otter/broker-a": str(tmp_path / "pipeline" / "seal" / "quiet-otter" / "files" / "broker-a")
    }
    named = [
        directories.sealed_of({"broker-a": str(tmp_path / where / "broker-a")})["broker-a"] for where in ("x", "y")
    ]
    assert {str(Path(path).parent) for path in named} == {str(tmp_path / "pipeline" / "seal" / "broker-a" / "files")}
    assert len(set(named)) == 2, "two stores of one name"


def test_the_process_is_let_go_after_ten_idle_minutes_and_a_later_run_gets_another(
    stage: Stage, sandbox: Sandbox
) -> None:
    stage.over(asked(sandbox, "done"))
    stage.now_s += 599.0
    stage.worker.turn(0.0)
    assert stage.children[0].is_alive
    stage.now_s += 1.0
    stage.until(lambda: not stage.children[0].is_alive)
    stage.over(asked(sandbox, "done"))
    assert len(stage.children) == 2


def test_a_failure_is_reported_in_the_words_of_the_job(stage: Stage, sandbox: Sandbox) -> None:
    run = stage.over(asked(sandbox, "fails"))
    assert (run.state, run.why) == (State.FAILED, "The store is no store.")


@pytest.mark.parametrize(
    ("job", "why", "values"),
    [
        ("dies", "Spark's process ended early, with exit code {code}. Run it again.", {"code": 3}),
        (
            "kills",
            "Spark's process was killed by signal {signal}. If this machine is short of memory, run it again later.",
            {"signal": 9},
        ),
        (
            "nonsense",
            "Spark's process was killed by signal {signal}. If this machine is short of memory, run it again later.",
            {"signal": 9},
        ),
        ("memory", "Spark ran out of memory. Request less, or give the machine more.", {}),
    ],
)
def test_a_process_that_dies_fails_its_run_and_the_next_run_gets_a_new_one(
    stage: Stage, sandbox: Sandbox, job: str, why: str, values: dict[str, int]
) -> None:
    failed, after = asked(sandbox, job), asked(sandbox, "done")
    assert stage.over(after).state == State.DONE
    failed.refresh_from_db()
    assert (failed.state, failed.why, failed.why_values) == (State.FAILED, why, values)
    assert len(stage.children) == 2


def test_a_process_that_died_while_idle_costs_no_run(stage: Stage, sandbox: Sandbox) -> None:
    stage.over(asked(sandbox, "done"))
    stage.children[0].kill()
    assert stage.over(asked(sandbox, "done")).state == State.DONE


def test_a_process_that_ends_with_its_run_costs_the_next_one_nothing(stage: Stage, sandbox: Sandbox) -> None:
    failed, after = asked(sandbox, "ends"), asked(sandbox, "done")
    assert stage.over(after).state == State.DONE
    failed.refresh_from_db()
    assert (failed.state, failed.why) == (State.FAILED, "Spark is gone.")
    assert len(stage.children) == 2


def test_a_run_is_cancelled_when_someone_says_so(stage: Stage, sandbox: Sandbox) -> None:
    run = asked(sandbox, "waits")
    stage.at_work(run)
    PipelineRun.objects.filter(pk=run.pk).update(cancel_asked=True)
    stage.over(run)
    assert (run.state, run.why) == (State.CANCELLED, "")
    assert stage.children[0].is_alive, "a cancelled run leaves the session warm"


def test_a_run_is_cancelled_after_ten_minutes_with_a_sentence(stage: Stage, sandbox: Sandbox) -> None:
    run = asked(sandbox, "waits")
    stage.at_work(run)
    stage.now_s += 599.0
    stage.worker.turn(0.0)
    run.refresh_from_db()
    assert run.state == State.RUNNING
    stage.now_s += 1.0
    stage.over(run)
    assert (run.state, run.why, run.why_values) == (
        State.CANCELLED,
        "It took longer than {minutes} minutes and was stopped.",
        {"minutes": "10"},
    )


def test_a_process_that_does_not_hear_the_cancellation_is_killed(stage: Stage, sandbox: Sandbox) -> None:
    run = asked(sandbox, "deaf")
    stage.at_work(run)
    PipelineRun.objects.filter(pk=run.pk).update(cancel_asked=True)
    stage.worker.turn(0.0)
    run.refresh_from_db()
    assert run.state == State.RUNNING
    stage.now_s += GRACE_S
    stage.over(run)
    assert run.state == State.CANCELLED
    stage.until(lambda: not stage.children[0].is_alive)


def test_what_a_killed_worker_left_at_work_fails_with_the_next_worker(stage: Stage, sandbox: Sandbox) -> None:
    left, waiting = asked(sandbox, "waits"), asked(sandbox, "done")
    stage.at_work(left)
    stage.children[0].kill()
    stage.worker.heartbeat.stop()  # the file's lock goes with a killed process
    stage.worker = stage.new_worker()
    assert stage.worker.begin()
    left.refresh_from_db()
    assert (left.state, left.why) == (State.FAILED, "The worker ended while this ran. Run it again.")
    assert stage.over(waiting).state == State.DONE


def test_a_worker_that_is_stopped_leaves_no_run_at_work(stage: Stage, sandbox: Sandbox) -> None:
    run = asked(sandbox, "waits")
    stage.at_work(run)
    stage.worker.end()
    run.refresh_from_db()
    assert (run.state, run.why) == (State.FAILED, "The server was stopped while this ran. Run it again.")
    assert not heartbeat.is_beating(stage.home / directories.FOLDER)


def test_a_second_worker_of_the_same_data_home_does_not_begin(stage: Stage) -> None:
    assert not stage.new_worker().begin()


def test_a_run_that_another_process_took_in_the_same_moment_is_not_begun(
    stage: Stage, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = asked(sandbox, "done")
    found = PipelineRun.objects.select_related("sandbox").get(pk=run.pk)
    PipelineRun.objects.filter(pk=run.pk).update(state=State.CANCELLED)
    rows = type(
        "Rows",
        (),
        {
            "first": lambda self: found,
            "order_by": lambda self, _: self,
            "select_related": lambda self, *_: self,
            "update": lambda self, **_: 0,
        },
    )()
    monkeypatch.setattr(PipelineRun.objects, "filter", lambda **_: rows)
    stage.worker.turn(0.0)
    monkeypatch.undo()
    assert stage.children == []
    assert PipelineRun.objects.get(pk=run.pk).state == State.CANCELLED


def test_a_sandbox_without_files_fails_its_run_and_starts_no_process(stage: Stage, db: None) -> None:
    bare = Sandbox.objects.create(slug="bare", name="Bare", template="orders", visited_at=timezone.now())
    run = stage.over(asked(bare, "done"))
    assert (run.state, run.why) == (State.FAILED, "The sandbox has no files here.")
    assert stage.children == []


def test_a_sandbox_deleted_while_its_run_is_at_work_leaves_nothing(stage: Stage, sandbox: Sandbox) -> None:
    done, run = asked(sandbox, "done"), asked(sandbox, "waits")
    stage.at_work(run)
    assert done.pk
    result = directories.result_of("done", sandbox.slug)
    assert result.is_dir()
    assert stage.worker._current is not None
    [sealed] = map(Path, stage.worker._current.order.sealed.values())
    sealed.mkdir(parents=True)
    sandbox.delete()
    assert not result.exists()
    assert not sealed.exists()
    sealed.mkdir(parents=True)  # the run that is at work seals once more
    stage.until(lambda: stage.worker._current is None)
    assert not directories.result_of("waits", "quiet-otter").exists()
    assert not sealed.exists()


def test_an_outcome_that_cannot_be_written_down_at_once_is_written_later(
    stage: Stage, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = asked(sandbox, "waits")
    stage.at_work(run)
    PipelineRun.objects.filter(pk=run.pk).update(cancel_asked=True)
    stage.worker.turn(0.0)
    with monkeypatch.context() as broken:
        broken.setattr("queueviz.runs.worker._close", _locked)
        with pytest.raises(OperationalError):
            stage.until(lambda: False)
    assert stage.over(run).state == State.CANCELLED


def _locked(*args: Any, **more: Any) -> int:
    raise OperationalError("database is locked")


def test_a_worker_is_seen_alive_as_long_as_its_heartbeat_goes_on(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = stage.home / directories.FOLDER
    assert heartbeat.is_beating(directory)
    later = heartbeat.time.time() + heartbeat.LOST_AFTER_S
    monkeypatch.setattr(heartbeat.time, "time", lambda: later)
    assert not heartbeat.is_beating(directory)


def test_spark_is_not_in_the_memory_of_an_idle_worker() -> None:
    """Read in a process of its own: this one may have it already."""
    import subprocess
    import sys

    seen = subprocess.run(
        [
            sys.executable,
            "-c",
            "import django, os, sys; os.environ['DJANGO_SETTINGS_MODULE'] = "
            "'queueviz.settings'; django.setup(); import queueviz.management.commands.pipelineworker; "
            "print([m for m in ('pyspark', 'pyarrow', 'numpy', 'pandas') if m in sys.modules])",
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    assert seen.stdout.strip() == "[]"
