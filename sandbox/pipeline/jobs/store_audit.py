"""Job `store_audit`: queues and index of stores verified against the log, and the checksums of bodies.

The job derives queues and index from the log again and compares them byte for byte.  That a store is in use, has
retention or crashed gives no finding.  `checked` has the counts of items read, and the range of the log.  The work
is distributed twice: files of the log first, then files of queues and index, which need the lost parts of the log.
The rules are those of `mqstore verify` (`sandbox.store_audit`); a store is unsound if a finding is an error.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sandbox.pipeline.jobs.job import Given, Job, WrongOption
from sandbox.pipeline.sources.store_options import store_at
from sandbox.pipeline.spark.parallel_work import spread
from sandbox.store.config import parse_delay_levels
from sandbox.store_audit.piece_results import Part
from sandbox.store_audit.plan import Piece, derived_pieces, log_pieces, places_of
from sandbox.store_audit.verdict import Verdict, lost_of, verdict_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FINDINGS = (
    "sandbox STRING, store STRING, kind STRING, file STRING, position BIGINT, topic STRING, queue STRING, "
    "queue_offset BIGINT, says STRING, severity STRING"
)
CHECKED = "sandbox STRING, store STRING, what STRING, items BIGINT"
DELAY_LEVELS, INDEX_SLOTS = "delay_levels", "index_slots"


def run(job_input: Given) -> "Mapping[str, DataFrame]":
    if not job_input.source.stores:
        raise WrongOption("No store to audit: no broker of this sandbox has stored a message yet.")
    stores = {name: store_at(path) for name, path in job_input.source.stores.items()}
    places = places_of(stores, _levels(job_input.options.get(DELAY_LEVELS)), _slots(job_input.options.get(INDEX_SLOTS)))
    first = spread(job_input.session, log_pieces(places), _run)
    lost = {store.name: lost_of(store, first) for store in places}
    second = spread(job_input.session, derived_pieces(places, lost), _run)
    verdicts = [verdict_of(store, first, second) for store in places]
    findings = [row for verdict in verdicts for row in findings_of(verdict)]
    checked = [
        (sandbox_of(verdict.store), verdict.store, what, items)
        for verdict in verdicts
        for what, items in verdict.checked.items()
    ]
    return {
        "findings": job_input.session.createDataFrame(findings, FINDINGS).coalesce(1),
        "checked": job_input.session.createDataFrame(checked, CHECKED).coalesce(1),
    }


def _run(piece: Piece) -> Part:
    return piece.run()


def findings_of(verdict: Verdict) -> list[tuple[Any, ...]]:
    """Return the rows of the table `findings` for one store."""
    sandbox, broker = sandbox_of(verdict.store), verdict.store.rpartition("/")[2]
    return [
        (
            sandbox,
            verdict.store,
            finding.kind,
            finding.file,
            finding.position,
            finding.topic,
            None if finding.queue_id is None else f"{broker}:{finding.queue_id}",
            finding.queue_offset,
            finding.says,
            finding.severity,
        )
        for finding in verdict.findings
    ]


def sandbox_of(store: str) -> str:
    """Return the sandbox of a store: `payments-1` of `payments-1/broker-a`.

    A name without a slash is returned as it is.
    """
    return store.partition("/")[0]


def _levels(text: str | None) -> tuple[int, ...] | None:
    try:
        return parse_delay_levels(text) if text else None
    except ValueError as error:
        raise WrongOption(
            f"--option {DELAY_LEVELS} must be a broker's messageDelayLevel, such as 1s 5s 10s: {error}."
        ) from None


def _slots(text: str | None) -> int | None:
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise WrongOption(
            f"--option {INDEX_SLOTS} must be a number of slots, as a broker's maxHashSlotNum, not {text}."
        )
    return int(text)


STORE_AUDIT = Job(
    "store_audit", "Are commit log, consume queues and index of a store consistent?", run, (DELAY_LEVELS, INDEX_SLOTS)
)
