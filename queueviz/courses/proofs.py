"""Proof of grades of labs in students' browsers: one execution (`proof_requests`: the queue).

The list of outside events is executed on the server; the executed lab decides the grade, up to a limit if the
execution ended there.  If the list is not the one that was received, or cannot be executed, the grade stays.
"""

import logging
import time
from collections.abc import Callable, Collection
from dataclasses import replace

from django.utils import timezone

from queueviz.courses import proof_files, submissions
from queueviz.courses.grade_models import Grade
from queueviz.courses.lite_claims import claim_of
from queueviz.courses.lite_models import LiteRun
from queueviz.courses.lite_runs import CONFIG, order_of
from queueviz.courses.models import Submission
from queueviz.courses.proof_codes import FAILURES, UNTRUSTED, Difference, difference, refusal
from queueviz.courses.proof_differences import awake_ms, differences_of
from queueviz.courses.proof_requests import ask as ask
from sandbox.control.branch_orders import RunOrder
from sandbox.control.limits import MIB
from sandbox.hosting.proof_run import Bounds, execute
from sandbox.kernel.errors import ActionRefused, SandboxError

log = logging.getLogger(__name__)

MOST_CPU_S = 600.0  # of one execution
IDLE_MS = 3_600_000  # executed after the last entry
FREE_BYTES = 512 * MIB  # of the data home, before one
State = LiteRun.Proof


def prove(run: LiteRun, *, engines: Collection[str], is_over: Callable[[], bool] = lambda: False) -> None:
    """Execute a claimed run and store the result; if `is_over` returns True, it is left for the next worker."""
    run = LiteRun.objects.select_related("submission__sandbox").get(pk=run.pk)
    entries = list(run.entries.all())  # after the run: they have at least what its row has
    submission, sandbox = run.submission, run.submission.sandbox
    began_s = time.process_time()
    if sandbox is None:
        _keep(run, 0, 0, [difference("gone")])
        return
    draft = proof_files.new_draft(sandbox.slug)
    idle_ms = max((entry.ms for entry in entries), default=0) + IDLE_MS
    bounds = Bounds(awake_ms(run.began_at, timezone.now()), idle_ms, MOST_CPU_S, FREE_BYTES, is_over)
    try:
        executed = execute(
            _order(run, order_of(run, entries)), draft, home=proof_files.home(), config=CONFIG, bounds=bounds
        )
    except Exception as error:
        proof_files.remove(draft)
        if not isinstance(error, SandboxError | OSError):
            log.exception("the run of submission %d was not executed", submission.pk)
        message, values = (error.message, error.values) if isinstance(error, ActionRefused) else (str(error), {})
        _keep(run, 0, began_s, [refusal("refused_run", None, message, values)])
        return
    if executed.stopped == "over":
        proof_files.remove(draft)
        return
    grade = Grade.objects.filter(submission=submission).first()
    differences = differences_of(run, entries, executed, engines=engines, kept={} if grade is None else grade.receipts)
    is_deleted = not Submission.objects.filter(pk=submission.pk, sandbox=sandbox).exists()
    length = 0 if executed.stopped == "disk" else len(entries)
    if is_deleted or not _keep(run, length, began_s, differences):
        proof_files.remove(draft)  # it was requested again, or deleted
        return
    proof_files.put_in_place(draft)
    if not any(row["code"] in UNTRUSTED for row in differences):
        submissions.note_executed(submission, [row for row in executed.rows if row["lab"] == submission.lab])


def _order(run: LiteRun, order: RunOrder) -> RunOrder:
    """Return the order, up to the newest result that the browser reports."""
    claim = claim_of(run)
    return order if claim is None else replace(order, until_ms=max([order.until_ms, *claim.met_ms]))


def _keep(run: LiteRun, length: int, began_s: float, differences: list[Difference]) -> bool:
    """Store the result; return False if the run was requested again meanwhile, or is deleted."""
    is_failed = any(row["code"] in FAILURES for row in differences)
    state = State.FAILED if is_failed else State.DIFFERS if differences else State.EQUAL
    changed = LiteRun.objects.filter(pk=run.pk, proof=State.RUNS).update(
        proof=state,
        proven_at=timezone.now(),
        proven_length=length,
        proof_ms=round((time.process_time() - began_s) * 1000) if began_s else 0,
        differences=differences,
    )
    return bool(changed)
