"""What one journal gives for grades: rows of plain values, by the function that graded live (`sandbox.labs.grade`)."""

from collections.abc import Callable, Iterable, Iterator
from itertools import takewhile, zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from sandbox.journal.events import LabFinished, StepMet
from sandbox.journal.schema import from_row
from sandbox.journal.segments import rows_since
from sandbox.labs.grade import Graded, grade
from sandbox.labs.lab import shown

Row = tuple[Any, ...]
Outcome = StepMet | LabFinished


class Piece(NamedTuple):
    """A journal, and the last of its entries to read."""

    sandbox: str
    directory: Path
    true_to: int


class Rows(NamedTuple):
    """Of each table that `jobs.grading` describes."""

    attempts: list[Row] = []
    steps: list[Row] = []
    mistakes: list[Row] = []
    receipts: list[Row] = []
    differences: list[Row] = []
    unread: list[Row] = []


def graded(piece: Piece) -> Rows:
    """Of every attempt in the journal."""
    try:
        entries = map(from_row, rows_since(piece.directory, 0))
        found = grade(takewhile(lambda entry: entry.seq <= piece.true_to, entries))
    except Exception as why:  # whatever a forged journal says, the others are graded
        return Rows(unread=[(piece.sandbox, f"{type(why).__name__}: {why}")])

    def of_each(rows: Callable[[Graded], Iterable[Row]]) -> list[Row]:
        return [(piece.sandbox, one.attempt.lab.slug, one.attempt.attempt, *row) for one in found for row in rows(one)]

    return Rows(of_each(_attempt), of_each(_steps), of_each(_mistakes), of_each(_receipts), of_each(_differences))


def _attempt(one: Graded) -> Iterator[Row]:
    attempt = one.attempt
    kept = attempt.receipts.kept
    yield (attempt.began, attempt.evidence.count, len(attempt.met), len(attempt.lab.steps), attempt.score,
           attempt.finished, sum(attempt.hints.values()), len(attempt.mistakes), attempt.verdict.sentence(),
           kept[-1].digest if kept else None)


def _steps(one: Graded) -> Iterator[Row]:
    for met in one.attempt.met:
        given, truth = (None if answer is None else shown(answer) for answer in (met.given, met.truth))
        yield met.step, met.seq, met.text.format(**met.values), list(met.rests_on), given, truth, met.accurate


def _mistakes(one: Graded) -> Iterator[Row]:
    for step, seq, verdict in one.attempt.mistakes:
        yield step, seq, verdict.sentence()


def _receipts(one: Graded) -> Iterator[Row]:
    yield from one.attempt.receipts.kept


def _differences(one: Graded) -> Iterator[Row]:
    """In their order; the grade found again may be ahead of what was written before the server was killed."""
    for live, found in zip_longest(one.live, one.found):
        if live != found:
            yield _step_of(live or found), _said(live), _said(found)


def _step_of(outcome: Outcome) -> int | None:
    return outcome.step if isinstance(outcome, StepMet) else None


def _said(outcome: Outcome | None) -> str | None:
    if outcome is None:
        return None
    if isinstance(outcome, LabFinished):
        return f"finished with {outcome.score}"
    return f"{outcome.why} (events {', '.join(map(str, outcome.evidence))})"
