"""Differences between what a browser reported and the execution of its list on the server."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime

from queueviz.courses.grades import Receipt
from queueviz.courses.lite_claims import NOT_MET, Claim, Unreadable, read, result_of
from queueviz.courses.lite_models import LiteEntry, LiteRun
from queueviz.courses.lite_runs import Entry, receipt_of
from queueviz.courses.proof_codes import Code, Difference, difference, refusal
from sandbox.hosting.proof_run import Executed, Stop
from sandbox.queries.rows.labs import LabRow

TOLERANCE_MS = 5_000  # of an entry's arrival, before it counts as too early


def differences_of(
    run: LiteRun,
    entries: Sequence[LiteEntry],
    executed: Executed,
    *,
    engines: Collection[str],
    kept: Mapping[str, list[Receipt]],
) -> list[Difference]:
    """Return the first difference of each code.  `kept`: receipts that were noted while the student worked."""
    rows = {row["attempt"]: row for row in executed.rows if row["lab"] == run.submission.lab}
    every = [
        *_of_chain(run, entries),
        *([] if run.engine in engines else [difference("engine", engine=run.engine[:12])]),
        *_of_odd(run),
        *sorted([*_of_execution(executed), *_of_clock(run, entries, executed)], key=lambda row: row["n"] or 0),
        *_of_claim(run, kept, rows),
        *_of_stop(executed.stopped),
    ]
    first: dict[Code, Difference] = {}
    for row in every:
        first.setdefault(row["code"], row)
    return list(first.values())


def _of_chain(run: LiteRun, entries: Sequence[LiteEntry]) -> Iterator[Difference]:
    """Yield the first entry whose receipt does not follow from the entries before it."""
    receipt = ""
    for number, entry in enumerate(entries, start=1):
        receipt = receipt_of(receipt, _sent(entry))
        if entry.n != number or entry.receipt != receipt:
            yield difference("chain", number)
            return
    if (run.length, run.receipt) != (len(entries), receipt):
        yield difference("chain_end", len(entries), length=run.length)


def _sent(entry: LiteEntry) -> Entry:
    return Entry(entry.n, entry.turn, entry.ms, entry.at_ms, entry.name, entry.fields, entry.by)


def _of_odd(run: LiteRun) -> Iterator[Difference]:
    for kind, count in sorted(run.odd.items()):
        if kind == "teacher" or kind == "late":
            yield difference(kind, None, count=count)
        else:
            yield difference("odd", None, kind=kind, count=count)


def _of_clock(run: LiteRun, entries: Iterable[LiteEntry], executed: Executed) -> Iterator[Difference]:
    for entry in entries:
        most_ms = awake_ms(run.began_at, entry.arrived_at)
        if entry.ms > most_ms:
            yield difference("clock", entry.n, ms=entry.ms, most_ms=most_ms)
        moment_ms = executed.moments.get(entry.n)
        if moment_ms is not None and moment_ms != entry.at_ms:
            yield difference("clock_at", entry.n, at_ms=entry.at_ms, executed_ms=moment_ms)


def awake_ms(began_at: datetime, now: datetime) -> int:
    """Return the most ms that a run can have been awake."""
    return round((now - began_at).total_seconds() * 1000) + TOLERANCE_MS


def _of_execution(executed: Executed) -> Iterator[Difference]:
    for entry in executed.refused:
        yield refusal("refused", entry.n, entry.message, entry.values)
    for moved in executed.moved:
        yield difference("position", moved.n, turn=moved.reached.turn, ms=moved.reached.ms)


def _of_stop(stopped: Stop | None) -> Iterator[Difference]:
    if stopped == "clock":
        yield difference("clock_end")
    elif stopped is not None and stopped != "over":
        yield difference(stopped)


def _of_claim(run: LiteRun, kept: Mapping[str, list[Receipt]], rows: Mapping[int, LabRow]) -> Iterator[Difference]:
    """Compare the receipts, as they were noted and as the browser reports them, and then the reported result."""
    claim: Claim | None = None
    try:
        claim = read(run.row, run.submission.lab)
    except Unreadable:
        yield difference("row_form")
    claimed = {int(attempt): [(row["seq"], row["digest"]) for row in noted] for attempt, noted in kept.items()}
    if claim is not None:
        claimed[claim.attempt] = sorted({*claimed.get(claim.attempt, []), *claim.receipts})
    yield from _of_receipts(claimed, rows)
    if claim is not None:
        yield from _of_result(claim, rows.get(claim.attempt))


def _of_receipts(claimed: Mapping[int, list[tuple[int, str]]], rows: Mapping[int, LabRow]) -> Iterator[Difference]:
    for attempt, receipts in sorted(claimed.items()):
        recorded = {(int(row["seq"]), row["digest"]) for row in rows[attempt]["receipts"]} if attempt in rows else set()
        seqs = sorted({seq for seq, _ in receipts})
        for seq, digest in receipts:
            if (seq, digest) not in recorded:
                yield difference("digest", seqs.index(seq) + 1, seq=seq, attempt=attempt)
                return


def _of_result(claim: Claim, executed: LabRow | None) -> Iterator[Difference]:
    """Compare the results.  The claim may be older than the end of the list, so it may have fewer steps."""
    results = [] if executed is None else [result_of(step) for step in executed["steps"]]
    for number, result in enumerate(claim.results, start=1):
        if result != NOT_MET and (len(results) < number or result != results[number - 1]):
            yield difference("row_step", number)
            break
    score, met = (0 if executed is None else executed["score"]), sum(result != NOT_MET for result in results)
    is_older = claim.met < met and claim.score <= score and not claim.finished
    if (claim.score, claim.met) != (score, met) and not is_older:
        yield difference("row", None, score=claim.score, met=claim.met, executed_score=score, executed_met=met)
