"""A run of the pipeline command: in a warm Spark process or in one of its own, with progress and errors."""

import os
import signal
from contextlib import suppress
from pathlib import Path

from django.core.management import CommandError

from queueviz.runs.directories import WORKER_FOLDER
from queueviz.runs.progress_line import ProgressLine
from sandbox.kernel.errors import SandboxError
from sandbox.pipeline.runs.error_sentences import sentence_of
from sandbox.pipeline.runs.kept_session import KeptSession, kept_in, session_in
from sandbox.pipeline.runs.launch import ENDED, Child, Order, Report, Where
from sandbox.pipeline.spark.small_runs import is_few

INTERRUPTED = 130
KEEP, OWN = "keep", "own"


def reported(order: Order, where: Where, home: Path, session: str | None) -> Report:
    """Run the order in a warm or a new process and return its last report.

    Raises CommandError if no report ended the run.
    """
    scratch = home / "pipeline" / ".spark"
    log = scratch / f"{order.run}.log"
    code = None
    try:
        scratch.mkdir(parents=True, exist_ok=True)
        reads_few = is_few(order.stores, order.journals, order.options)
        if (warm := warm_session(where, scratch, session, reads_few=reads_few)) is not None:
            with warm, ProgressLine("Waiting for Spark") as line:
                ended = _heard(warm, order, line)
            if ended is not None:
                return with_log(ended, warm.log)
        with (
            ProgressLine("Starting Spark") as line,
            log.open("w+b") as words,
            Child(where, scratch, os.environ, errors=words, reads_few=reads_few) as child,
        ):
            if (ended := _heard(child, order, line)) is not None:
                return _with_words(ended, log)
        code = child.exit_code
    except KeyboardInterrupt:
        raise CommandError("Interrupted. The last result is unchanged.", returncode=INTERRUPTED) from None
    except SandboxError as error:
        log.unlink(missing_ok=True)
        raise CommandError(str(error), returncode=1) from None
    except OSError as error:
        raise CommandError(sentence_of(error), returncode=1) from None
    how = f"was killed ({signal.Signals(-code).name})" if code is not None and code < 0 else "ended"
    raise CommandError(f"The Spark process {how} before the job was done. Its output is in {log}.", returncode=1)


def _with_words(ended: Report, log: Path) -> Report:
    """Return the report, with a note on Spark's log if the run failed and wrote to it.

    Otherwise the log is deleted.  It is also deleted if the failure has a reason of QueueViz's own.
    """
    report = with_log(ended, log) if log.stat().st_size else ended
    if report is ended:
        log.unlink()
    return report


def _heard(child: Child | KeptSession, order: Order, line: ProgressLine) -> Report | None:
    """Send the order and return the last report of its run.  None: the process ended before the run began.

    Ctrl-C ends a run with `--follow`, which is then complete; any other run is interrupted.
    """
    with suppress(ConnectionError):  # gone already
        child.order(order)
    try:
        return _follow(child, line)
    except KeyboardInterrupt:
        if order.options.get("follow") != "true":
            raise
        child.end(order.run)
        return _follow(child, line)


def _follow(child: Child | KeptSession, line: ProgressLine) -> Report | None:
    """Show the progress and return the last report of the run.

    None: the process ended before it.  Raises CommandError if a warm process ended during the run.
    """
    report: Report | None = None
    for report in child.reports():
        if report["state"] in ENDED:
            return report
        line.show(report)
    if report is not None and isinstance(child, KeptSession):
        raise CommandError("The warm Spark session ended during the run. Run the command again.", returncode=1)
    return None


def warm_session(where: Where, scratch: Path, session: str | None, *, reads_few: bool) -> KeptSession | None:
    """Return a connection to the warm process for this command, or None if the command needs its own.

    Without `--session`, only a command that reads few bytes takes it: a longer one would delay runs of the pages.
    Raises CommandError for `--session keep` with an address, and NoJava.
    """
    if session == KEEP and where != Where():
        raise CommandError(
            "--session keep keeps a Spark of this machine. Remove --master or --remote, whose servers stay warm "
            "by themselves, or remove --session.",
            returncode=1,
        )
    if session == OWN or where != Where():
        return None
    if session == KEEP:
        return kept_in(scratch, os.environ)
    return (session_in(scratch) or session_in(scratch.with_name(WORKER_FOLDER))) if reads_few else None


def with_log(ended: Report, log: Path | None) -> Report:
    """Return the report of a failed run with the path of Spark's output."""
    if ended["state"] != "failed" or ended.get("is_ours") or log is None:
        return ended
    return {**ended, "why": f"{ended['why']} Spark's output is in {log}."}
