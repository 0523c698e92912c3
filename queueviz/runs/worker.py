"""The pipeline worker: it takes runs in the order of their requests, and one warm Spark child executes them.

The child starts with the first run and is closed after a while without requests.  Any end of a run also ends its
row: no row is `running` while no worker executes it.
"""

import logging
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from queue import Empty, SimpleQueue
from types import MappingProxyType
from typing import NamedTuple, Protocol

from django.db import DatabaseError, close_old_connections, models
from django.utils import timezone
from django.utils.translation import override

from queueviz.courses import course_runs
from queueviz.models import PipelineRun
from queueviz.runs import directories, worker_errors
from queueviz.runs.heartbeat import Heartbeat
from queueviz.texts import Text
from sandbox.control.limits import HostLimits
from sandbox.kernel.errors import SandboxError
from sandbox.pipeline.runs.launch import ENDED, Order, Report
from sandbox.pipeline.runs.results import manifest_of

log = logging.getLogger(__name__)

LOOK_EVERY_S = 0.5
GRACE_S = 20.0  # from a cancellation to the end of a run; then its process goes
END_WITHIN_S = 3.0  # at the worker's own end
WORDS = "words"  # what Spark's process says beside its answers
LAST_WORDS_BYTES = 4_096
State = PipelineRun.State


class Child(Protocol):
    """The part of `launch.Child` that a worker needs."""

    @property
    def is_alive(self) -> bool: ...
    @property
    def exit_code(self) -> int | None: ...
    def order(self, order: Order) -> None: ...
    def cancel(self, run: str) -> None: ...
    def reports(self) -> Iterator[Report]: ...
    def kill(self) -> None: ...
    def close(self) -> None: ...


class Said(NamedTuple):
    """A report of a child process.  `report` None: the child has ended."""

    child: Child
    report: Report | None


class Outcome(NamedTuple):
    """The end of a run, as written into its row."""

    state: State
    why: Text = ""
    values: Mapping[str, object] = MappingProxyType({})
    tables: Mapping[str, int] = MappingProxyType({})
    true_to: int | None = None


class Current:
    """The active run.  `outcome`: the values for its row, until they are written."""

    __slots__ = ("began_s", "cancelled_s", "is_heard", "order", "outcome", "pk", "values", "why")

    def __init__(self, pk: int, order: Order, now_s: float) -> None:
        self.pk, self.order, self.began_s = pk, order, now_s
        self.cancelled_s: float | None = None
        self.why: Text = ""
        self.values: Mapping[str, object] = {}
        self.outcome: Outcome | None = None
        self.is_heard = False  # the child has said something of it


class Worker:
    """A pipeline worker.

    `open_child` starts a process that writes its output into the given file; it may raise SandboxError.
    """

    def __init__(
        self,
        directory: Path,
        open_child: Callable[[Path], Child],
        *,
        limits: HostLimits | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self.heartbeat = Heartbeat(directory)
        self._words = directory / WORDS
        self._open_child, self._limits, self._now = open_child, limits or HostLimits(), now
        self._said: SimpleQueue[Said] = SimpleQueue()
        self._child: Child | None = None
        self._current: Current | None = None
        self._used_s = 0.0
        self._is_used = False  # the child has carried something out

    def begin(self) -> bool:
        """Take the heartbeat and return True.  Return False if another worker is alive.

        Runs that an earlier worker left active are closed as failed.
        """
        if not self.heartbeat.take():
            return False
        _close(PipelineRun.objects.filter(state=State.RUNNING), Outcome(State.FAILED, worker_errors.WORKER_ENDED))
        return True

    def run(self, over: Callable[[], bool]) -> None:
        """Take turns until `over` returns True.  If the database fails for a moment, the turn is repeated."""
        while not over():
            try:
                close_old_connections()
                self.turn(LOOK_EVERY_S)
            except DatabaseError:
                log.exception("the database does not answer")
                time.sleep(LOOK_EVERY_S)
        self.end()

    def turn(self, patience_s: float) -> None:
        """Take one turn: read the child's reports for `patience_s`, then check requests and time limits."""
        self.heartbeat.beat()
        if self._current is not None and self._current.outcome is not None:
            self._settle(self._current)
        self._hear(patience_s)
        if self._current is not None:
            self._look_at(self._current)
        elif not self._take() and self._child is not None and self._is_idle():
            log.info("Spark is let go: nothing was asked of it for %.0f s", self._limits.pipeline_idle_s)
            self._let_go()

    def _is_idle(self) -> bool:
        return self._now() - self._used_s >= self._limits.pipeline_idle_s

    def end(self) -> None:
        """End the worker: fail the current run, close the child, and release the heartbeat."""
        if self._current is not None:
            self._finish(Outcome(State.FAILED, worker_errors.WORKER_STOPPED))
        if self._child is not None:
            self._child.kill()
            self._let_go(END_WITHIN_S)
        self.heartbeat.stop()

    def _hear(self, patience_s: float) -> None:
        try:
            received = self._said.get(timeout=patience_s)
            while True:
                self._note(received)
                received = self._said.get_nowait()
        except Empty:
            pass

    def _note(self, received: Said) -> None:
        current = self._current
        if received.child is not self._child:
            return  # the last words of one let go
        self._used_s = self._now()  # also by a command
        if received.report is None:
            self._died()
        elif current is None or received.report["run"] != current.order.run:
            return
        else:
            current.is_heard = True
            self._hear_of(current, received.report)

    def _hear_of(self, current: Current, report: Report) -> None:
        if report["state"] in ENDED:
            self._is_used = True
            self._ended(current, report)
        elif "tasks" in report:
            _row(current).update(stage=report["stage"], tasks_done=report["done"], tasks=report["tasks"])

    def _ended(self, current: Current, report: Report) -> None:
        if report["state"] == "done":
            self._finish(_done(current, report))
        elif current.cancelled_s is not None:  # whatever Spark makes of it
            self._finish(Outcome(State.CANCELLED, current.why, current.values))
        else:
            self._finish(Outcome(State(report["state"]), report.get("why", "")))

    def _look_at(self, current: Current) -> None:
        now_s = self._now()
        if current.cancelled_s is not None:
            if now_s - current.cancelled_s >= GRACE_S and self._child is not None:
                log.warning("run %s does not end: its process is killed", current.order.run)
                self._child.kill()
                self._let_go()
                self._finish(Outcome(State.CANCELLED, current.why, current.values))
            return
        wish = PipelineRun.objects.filter(pk=current.pk).values_list("cancel_asked", flat=True).first()
        if wish is None or wish:  # the sandbox is gone, or a visitor cancelled it
            self._cancel(current)
        elif now_s - current.began_s >= self._limits.pipeline_run_s:
            self._cancel(current, worker_errors.LATE, minutes=f"{self._limits.pipeline_run_s / 60:g}")

    def _cancel(self, current: Current, reason: Text = "", /, **values: object) -> None:
        current.cancelled_s, current.why, current.values = self._now(), reason, values
        if self._child is not None:
            try:
                self._child.cancel(current.order.run)
            except OSError:
                self._died()

    def _take(self) -> bool:
        """Start the oldest queued run, unless it was just cancelled.  Return False if no run is queued."""
        run = PipelineRun.objects.filter(state=State.QUEUED).select_related("sandbox", "course").order_by("pk").first()
        if run is None:
            return False
        mine = PipelineRun.objects.filter(pk=run.pk, state=State.QUEUED)
        if mine.update(state=State.RUNNING, started_at=timezone.now()):
            self._start(run)
        return True

    def _start(self, run: PipelineRun) -> None:
        slug, sources = course_runs.slug_and_sources(run)
        out = str(directories.result_of(run.job, slug))
        sealed = directories.sealed_of(sources.stores) if sources is not None else {}
        order = Order(run.run, run.job, *(sources or ({}, {})), out, run.options, sealed)
        self._current = Current(run.pk, order, self._now())
        if sources is None:
            return self._finish(Outcome(State.FAILED, worker_errors.NO_SANDBOX))
        try:
            self._warm().order(order)
        except SandboxError as error:
            self._finish(Outcome(State.FAILED, str(error)))
        except OSError as error:
            self._let_go()
            self._finish(Outcome(State.FAILED, worker_errors.NOT_STARTED, {"why": error.strerror or str(error)}))
        return None

    def _warm(self) -> Child:
        """Return the running child, or start one."""
        if self._child is not None and not self._child.is_alive:
            self._let_go()
        if self._child is None:
            self._words.unlink(missing_ok=True)
            child = self._child = self._open_child(self._words)
            self._is_used = False
            threading.Thread(target=self._listen, args=(child,), daemon=True).start()
        return self._child

    def _listen(self, child: Child) -> None:
        try:
            for report in child.reports():
                self._said.put(Said(child, report))
        except (ValueError, OSError):  # no line of ours, or closed meanwhile
            log.warning("Spark's process cannot be understood any more")
            child.kill()
        self._said.put(Said(child, None))

    def _died(self) -> None:
        """Handle a child that ended by itself: a run not yet begun is queued again, any other is cancelled or fails."""
        child, current = self._child, self._current
        self._let_go()
        if current is None or child is None:
            return None
        if current.cancelled_s is not None:
            return self._finish(Outcome(State.CANCELLED, current.why, current.values))
        code = _exit_code(child)
        if self._is_used and not current.is_heard and not code:  # it had ended before it could hear of this one
            _row(current).update(state=State.QUEUED, started_at=None)
            self._current = None
            return None
        if b"OutOfMemoryError" in self._last_words():
            return self._finish(Outcome(State.FAILED, worker_errors.NO_MEMORY))
        if code < 0:
            return self._finish(Outcome(State.FAILED, worker_errors.KILLED, {"signal": -code}))
        return self._finish(Outcome(State.FAILED, worker_errors.DIED, {"code": code}))

    def _last_words(self) -> bytes:
        try:
            with self._words.open("rb") as file:
                file.seek(max(0, self._words.stat().st_size - LAST_WORDS_BYTES))
                return file.read()
        except OSError:
            return b""

    def _finish(self, outcome: Outcome) -> None:
        self._used_s = self._now()
        if self._current is not None and self._current.outcome is None:
            self._current.outcome = outcome
            self._settle(self._current)

    def _settle(self, current: Current) -> None:
        """Write the outcome into the row.  If the database fails now, the next turn retries."""
        outcome = current.outcome
        assert outcome is not None, "it has ended"
        if not _close(_row(current), outcome) and not _exists(current):
            for made in (current.order.out, *current.order.sealed.values()):  # its sandbox was deleted while it ran
                shutil.rmtree(made, ignore_errors=True)
        self._current = None
        log.info("run %s of %s: %s", current.order.run, current.order.job, outcome.state)

    def _let_go(self, patience_s: float = 0.0) -> None:
        """Close the child in a thread, and wait at most `patience_s` for it."""
        child, self._child = self._child, None
        if child is not None:
            closing = threading.Thread(target=child.close)
            closing.start()
            if patience_s:
                closing.join(patience_s)


def _done(current: Current, report: Report) -> Outcome:
    """Return the outcome of a run that Spark ended well.  The grading of a course becomes a regrade."""
    run = PipelineRun.objects.filter(pk=current.pk).select_related("course").first()
    if run is not None and run.course is not None and run.job == course_runs.GRADING:
        try:
            course_runs.regraded(run.course, run.started_at or run.asked_at, {})
        except SandboxError as error:
            return Outcome(State.FAILED, str(error))
    return Outcome(State.DONE, tables=report["tables"], true_to=_true_to(current))


def _row(current: Current) -> models.QuerySet[PipelineRun]:
    return PipelineRun.objects.filter(pk=current.pk, state=State.RUNNING)


def _exit_code(child: Child) -> int:
    """Return the child's exit code, after a short wait: its last line may arrive before its end."""
    ends_s = time.monotonic() + LOOK_EVERY_S
    while child.exit_code is None and time.monotonic() < ends_s:
        time.sleep(0.01)
    return child.exit_code or 0


def _exists(current: Current) -> bool:
    return PipelineRun.objects.filter(pk=current.pk).exists()


def _close(rows: models.QuerySet[PipelineRun], outcome: Outcome) -> int:
    with override(None):
        text = str(outcome.why)
    return rows.update(
        state=outcome.state,
        ended_at=timezone.now(),
        why=text,
        why_values=dict(outcome.values),
        tables=dict(outcome.tables),
        true_to=outcome.true_to,
    )


def _true_to(current: Current) -> int | None:
    """Return the last event in the current manifest, since the run may have had nothing new to read.  None: unknown."""
    try:
        manifest = manifest_of(Path(current.order.out))
    except SandboxError:
        return None
    return next(iter(manifest.true_to.values()), None) if manifest is not None else None
