"""The grades of one journal as rows of plain values, by the function that graded live (`sandbox.labs.grade`)."""

from collections.abc import Callable, Iterable, Iterator
from itertools import takewhile, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from sandbox.journal.events import LabFinished, StepMet
from sandbox.journal.schema import from_row
from sandbox.journal.segments import rows_since
from sandbox.kernel.errors import CorruptRecord
from sandbox.labs.grade import Graded, grade
from sandbox.labs.lab import shown

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Row = tuple[Any, ...]
Outcome = StepMet | LabFinished

_OF_ATTEMPT = "sandbox STRING, lab STRING, attempt BIGINT, "
TABLES = {
    "attempts": _OF_ATTEMPT + "began_seq BIGINT, events BIGINT, exam BOOLEAN, met BIGINT, steps BIGINT, "
    "score BIGINT, finished BOOLEAN, hints BIGINT, mistakes BIGINT, phase STRING, "
    "said STRING, digest STRING",
    "steps": _OF_ATTEMPT + "step BIGINT, seq BIGINT, at_ms BIGINT, took_ms BIGINT, said STRING, "
    "rests_on ARRAY<BIGINT>, given STRING, truth STRING, accurate BOOLEAN, hints BIGINT",
    "mistakes": _OF_ATTEMPT + "step BIGINT, seq BIGINT, text STRING, said STRING",
    "receipts": _OF_ATTEMPT + "step BIGINT, part STRING, seq BIGINT, at_ms BIGINT, digest STRING",
    "differences": _OF_ATTEMPT + "step BIGINT, live STRING, found STRING",
    "unread": "sandbox STRING, why STRING",
}
LONG = 1 << 63


class Piece(NamedTuple):
    """A journal to grade, and the number of its last entry to read."""

    sandbox: str
    directory: Path
    true_to: int


class Rows(NamedTuple):
    """The rows of each table that `jobs.grading` describes."""

    attempts: list[Row] = []
    steps: list[Row] = []
    mistakes: list[Row] = []
    receipts: list[Row] = []
    differences: list[Row] = []
    unread: list[Row] = []

    @classmethod
    def joined(cls, parts: "list[Rows]") -> "Rows":
        return cls(*([row for part in parts for row in part[at]] for at in range(len(cls._fields))))


def tables_of(session: "SparkSession", rows: Rows) -> "dict[str, DataFrame]":
    return {name: session.createDataFrame(table, TABLES[name]).coalesce(1) for name, table in rows._asdict().items()}


def graded(piece: Piece) -> Rows:
    """Grade every attempt in the journal and return the rows.

    A journal that cannot be graded gives one `unread` row.
    """
    try:
        entries = map(from_row, rows_since(piece.directory, 0))
        attempts = grade(takewhile(lambda entry: entry.seq <= piece.true_to, entries))
        rows = _rows(piece.sandbox, attempts)
        _demand_columns(rows)
    except Exception as error:  # whatever a forged journal says, the others are graded
        return Rows(unread=[(piece.sandbox, f"{type(error).__name__}: {error}")])
    return rows


def _rows(sandbox: str, attempts: list[Graded]) -> Rows:
    def of_each(rows: Callable[[Graded], Iterable[Row]]) -> list[Row]:
        return [
            (sandbox, attempt.attempt.lab.slug, attempt.attempt.attempt, *row)
            for attempt in attempts
            for row in rows(attempt)
        ]

    return Rows(of_each(_attempt), of_each(_steps), of_each(_mistakes), of_each(_receipts), of_each(_differences))


def _demand_columns(rows: Rows) -> None:
    """Raise CorruptRecord if a value does not fit its column.

    The tables are those of a whole class, so one journal must not break them.
    """
    for name, table in rows._asdict().items():
        columns = [column.split() for column in TABLES[name].split(", ")]
        for row in table:
            for (column, kind), value in zip(columns, row, strict=True):
                if value is not None and not _fits(kind, value):
                    raise CorruptRecord(f"{column} of {name} is {value!r:.60}")


def _fits(kind: str, value: object) -> bool:
    if kind == "BIGINT":
        return type(value) is int and -LONG <= value < LONG
    if kind == "ARRAY<BIGINT>":
        return isinstance(value, list) and all(_fits("BIGINT", item) for item in value)
    return isinstance(value, bool if kind == "BOOLEAN" else str)


def _attempt(graded_attempt: Graded) -> Iterator[Row]:
    attempt = graded_attempt.attempt
    kept = attempt.receipts.kept
    yield (
        attempt.began,
        attempt.evidence.count,
        attempt.exam,
        len(attempt.met),
        len(attempt.lab.steps),
        attempt.score,
        attempt.finished,
        sum(attempt.hints.values()),
        len(attempt.mistakes),
        attempt.phase,
        attempt.verdict.sentence(),
        kept[-1].digest if kept else None,
    )


def _steps(graded_attempt: Graded) -> Iterator[Row]:
    for met, took_ms in zip(graded_attempt.attempt.met, graded_attempt.took_ms, strict=True):
        answer_text, truth = (None if answer is None else shown(answer) for answer in (met.given, met.truth))
        yield (
            met.step,
            met.seq,
            met.at_ms,
            took_ms,
            met.text.format(**met.values),
            list(met.rests_on),
            answer_text,
            truth,
            met.accurate,
            graded_attempt.attempt.hints.get(met.step, 0),
        )


def _mistakes(graded_attempt: Graded) -> Iterator[Row]:
    for step, seq, verdict in graded_attempt.attempt.mistakes:
        yield step, seq, verdict.text, verdict.sentence()


def _receipts(graded_attempt: Graded) -> Iterator[Row]:
    for receipt in graded_attempt.attempt.receipts.kept:
        yield receipt.step, receipt.part, receipt.seq, receipt.at_ms, receipt.digest


def _differences(graded_attempt: Graded) -> Iterator[Row]:
    """Yield the steps graded differently, in order: step, live grade, recomputed grade.

    The recomputed grade may be ahead of the live one if the server was killed before it wrote that.
    """
    for live, replayed in zip_longest(graded_attempt.live, graded_attempt.replayed):
        if live != replayed:
            yield _step_of(live or replayed), _said(live), _said(replayed)


def _step_of(outcome: Outcome) -> int | None:
    return outcome.step if isinstance(outcome, StepMet) else None


def _said(outcome: Outcome | None) -> str | None:
    if outcome is None:
        return None
    if isinstance(outcome, LabFinished):
        return f"finished with {outcome.score}"
    return f"{outcome.why} (events {', '.join(map(str, outcome.evidence))})"
