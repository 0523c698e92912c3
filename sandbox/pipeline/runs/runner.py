"""The execution of runs one after the other in one session, with progress reports and errors as sentences."""

import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sandbox.journal.segments import last_seq
from sandbox.kernel.clock import wall_ms
from sandbox.kernel.errors import SandboxError
from sandbox.pipeline.jobs.all_jobs import JOBS
from sandbox.pipeline.jobs.job import Given, Job, Source, WrongOption, one_of
from sandbox.pipeline.runs import results
from sandbox.pipeline.runs.appended_results import check_unchanged, joined
from sandbox.pipeline.runs.error_sentences import SPARK_GONE, last_words, sentence_of
from sandbox.pipeline.runs.iceberg import ICEBERG, registered
from sandbox.pipeline.runs.launch import Order
from sandbox.pipeline.runs.result_files import write
from sandbox.pipeline.sources.option_values import listed
from sandbox.pipeline.spark.java_classes import keep
from sandbox.pipeline.spark.small_runs import is_few, settings_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOOK_EVERY_S = 0.5
EVERYTHING = (1 << 63) - 1
Report = Callable[[dict[str, object]], None]


class Runner:
    """Executor of runs; it calls `report` with the reports that `launch` describes, from two threads."""

    def __init__(self, report: Report, *, master: str | None, remote: str | None) -> None:
        self._lock = threading.Lock()
        self._on_report = report
        self._where = (master, remote)
        self._session: SparkSession | None = None
        self._cancelled: set[str] = set()
        self._ending: set[str] = set()
        self._has_done = False
        self.is_useless = False  # its Spark has ended; another process is needed

    def run(self, order: Order) -> None:
        """Execute one run to its end and report its result, cancellation or failure."""
        if order.run in self._cancelled:
            self._report(order.run, state="cancelled")
            return
        out = Path(order.out)
        kept = out / f".kept-{order.run}"
        try:
            job = job_of(order)
            make_room(out)
            is_more = order.options.get("append") == "true"
            earlier = results.manifest_of(out) if is_more else None
            self._report(order.run, state="starting")
            session = self._opened(kept)
            if order.run in self._cancelled:
                raise Cancelled
            is_small = is_few(order.stores, order.journals, order.options)
            with (
                settings_of(session, is_small=is_small),
                Progress(session, order.run, lambda **values: self._report(order.run, **values)),
            ):
                source = Source(
                    {name: Path(path) for name, path in order.stores.items()},
                    {name: Path(path) for name, path in order.journals.items()},
                )
                true_to = ends_of(source)
                tables = job.run(
                    Given(
                        session,
                        source,
                        order.options,
                        out,
                        true_to,
                        order.run,
                        lambda: order.run in self._cancelled or order.run in self._ending,
                        {name: Path(path) for name, path in order.sealed.items()},
                    )
                )
                kind = format_of(job, order.options)
                directories = listed(order.options, "partition_by")
                made = {
                    name: write(table, out, f"run-{order.run}/{name}", kind, directories)
                    for name, table in tables.items()
                }
                if is_more:
                    check_unchanged(out, earlier)
                if kind == ICEBERG:
                    made = {
                        name: registered(out, order.run, name, table, append=is_more) for name, table in made.items()
                    }
                elif is_more:
                    made = joined(out, made)
            if order.run in self._cancelled:
                raise Cancelled
            if not job.publishes:
                results.publish(
                    out,
                    results.Manifest(
                        job.name,
                        order.run,
                        made,
                        true_to,
                        wall_ms(),
                        {"stores": order.stores, "journals": order.journals},
                    ),
                )
            elif (manifest := results.manifest_of(out)) is not None:
                made = manifest.tables
            malformed = {name: table.malformed for name, table in made.items() if table.malformed is not None}
            self._has_done = True
            self._report(
                order.run,
                state="done",
                tables={name: table.rows for name, table in made.items()},
                **({"malformed": malformed} if malformed else {}),
            )
        except Exception as error:
            results.discard(out, order.run)
            if order.run in self._cancelled:
                self._report(order.run, state="cancelled")
            else:
                sentence = (
                    SPARK_GONE if has_ended(self._session) else sentence_of(error, log=last_words(sys.stderr.fileno()))
                )
                self.is_useless = sentence == SPARK_GONE
                ours = {"is_ours": True} if isinstance(error, SandboxError | WrongOption) else {}
                self._report(order.run, state="failed", why=sentence, **ours)
        finally:
            shutil.rmtree(kept, ignore_errors=True)

    def cancel(self, run: str) -> None:
        self._cancelled.add(run)
        if self._session is not None:
            self._session.interruptTag(tag_of(run))

    def end(self, run: str) -> None:
        """End a run that follows; its state is then done, not cancelled."""
        self._ending.add(run)

    def close(self, archive: Path | None = None) -> None:
        """Stop the session.  `archive`: the draft that its Java writes at its end (`java_classes`)."""
        if self._session is None or self.is_useless:
            return
        java = java_of(self._session)
        self._session.stop()
        if archive is not None and java is not None:
            keep(archive, java, is_wanted=self._has_done)

    def _opened(self, kept: Path) -> "SparkSession":
        """Return the session, opened at the first run.  `kept`: directory for the intermediate tables of this run."""
        from sandbox.pipeline.session import keep_in_files, open_session

        if self._session is None:
            self._session = open_session(master=self._where[0], remote=self._where[1])
        keep_in_files(self._session, kept)
        return self._session

    def _report(self, run: str, **values: Any) -> None:
        with self._lock:
            self._on_report({"run": run, **values})


class Cancelled(Exception):
    """Raised when a run is cancelled between Spark jobs, where Spark has nothing to interrupt."""


class Progress:
    """Reports of stages and tasks during a run.

    A Connect server does not report them: then the reports have only the state.
    """

    def __init__(self, session: "SparkSession", run: str, report: Callable[..., None]) -> None:
        self._session, self._run, self._report = session, run, report
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> "Progress":
        self._session.addTag(tag_of(self._run))
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        self._session.removeTag(tag_of(self._run))

    def _look(self) -> None:
        context = getattr(self._session, "_sc", None)
        last: tuple[int, int, int] | None = None
        if context is None:
            self._report(state="running")
            return
        while not self._over.wait(LOOK_EVERY_S):
            tracker = context.statusTracker()
            for stage in tracker.getActiveStageIds():
                info = tracker.getStageInfo(stage)
                if info is not None and (now := (stage, info.numCompletedTasks, info.numTasks)) != last:
                    last = now
                    self._report(state="running", stage=stage, done=info.numCompletedTasks, tasks=info.numTasks)


def job_of(order: Order) -> Job:
    """Return the job of an order.  Raises WrongOption for an unknown job, option or format."""
    job = JOBS.get(order.job)
    if job is None:
        raise WrongOption(f"No job {order.job}. Jobs are: {', '.join(sorted(JOBS))}.")
    if unknown := sorted(set(order.options) - set(job.options)):
        raise WrongOption(f"{job.name} has no option {', '.join(unknown)}. Options are: {', '.join(job.options)}.")
    format_of(job, order.options)
    return job


def format_of(job: Job, options: Mapping[str, str]) -> str:
    """Return the format of the files the job writes.  Raises WrongOption."""
    return one_of(options, "format", job.formats) if len(job.formats) > 1 else job.formats[0]


def has_ended(session: "SparkSession | None") -> bool:
    """Return True if this process started the session's Java process and that has ended."""
    process = java_of(session)
    return process is not None and process.poll() is not None


def java_of(session: "SparkSession | None") -> "subprocess.Popen[bytes] | None":
    """Return the Java process that this process started for the session; None for a Connect session."""
    process: subprocess.Popen[bytes] | None = getattr(
        getattr(getattr(session, "_sc", None), "_gateway", None), "proc", None
    )
    return process


def make_room(out: Path) -> None:
    """Create the result's directory.  Raises WrongOption if a file has its name, OSError if it cannot be created."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise WrongOption(f"{out} is a file or is below a file. Choose a directory for the result.") from None


def ends_of(source: Source) -> dict[str, int]:
    """Return the number of each journal's last entry at the start of the run; later entries are for the next run."""
    return {sandbox: seq for sandbox, directory in source.journals.items() if (seq := end_of(directory)) is not None}


def end_of(directory: Path) -> int | None:
    """Return the number of the journal's last entry, or None if the journal is empty.

    If the last line is not an entry, return EVERYTHING: the job reads all and reports the fault of that journal.
    """
    try:
        seq = last_seq(directory)
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return EVERYTHING
    return None if seq is None else max(-1, min(seq, EVERYTHING))


def tag_of(run: str) -> str:
    return f"queueviz-{run}"
