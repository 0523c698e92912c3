"""Guided labs for a notebook: the open step as values, and the grade by the checks of the page (docs/labs.md)."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from sandbox.commands.labs import known_lab
from sandbox.journal.schema import Row, from_row
from sandbox.kernel.errors import ActionRefused
from sandbox.labs.catalogue import named
from sandbox.labs.grade import best, grade
from sandbox.labs.lab import Lab
from sandbox.queries.rows.labs import LabRow

PHASES = ("predict", "say", "why")  # in which something is asked


class LabTask(NamedTuple):
    """The open task of the lab in progress; texts are in English.

    `phase`: predict, do, say, why, done.  `question` and `options` (value, text) are those of the phase.
    `sentence`: the result of the last check, with what is missing or wrong.
    """

    lab: str
    title: str
    step: int
    phase: str
    do: str
    watch: str
    question: str
    options: tuple[tuple[str, str], ...]
    sentence: str


class LabResult(NamedTuple):
    """The result of the attempt that counts.

    `sentence` and `rests_on`: the verdict of its open phase, and the events that prove it.  `receipts`: digests of the
    journal up to each answer.
    """

    lab: str
    finished: bool
    score: int
    step: int
    sentence: str
    rests_on: tuple[int, ...]
    receipts: tuple[str, ...]


def lab_of(name: str) -> Lab:
    """Return the lab with this number or slug.  Raises ActionRefused (404) if none has it."""
    return named(name) or known_lab(name)


def task_of(row: LabRow) -> LabTask:
    numbers, step = row["numbers"], row["open"]
    if step is None:
        return LabTask(row["number"], row["title"], len(row["steps"]), "done", "", "", "", (), "All steps are done.")
    asked = {"predict": step["predict"], "say": step["say"], "why": step["why"]}.get(step["phase"])
    verdict = step["verdict"]
    return LabTask(
        row["number"],
        row["title"],
        step["step"],
        step["phase"],
        _filled(step["do"], numbers),
        _filled(step["watch"], numbers),
        "" if asked is None else _filled(asked["text"], numbers),
        () if asked is None else tuple((value, _filled(text, numbers)) for value, text in asked["options"]),
        _filled(verdict["text"], verdict["values"]),
    )


def result_of(lab: Lab, rows: Iterable[Row]) -> LabResult:
    """Return the grade of a lab from the journal alone.  Raises ActionRefused (409) if the lab was not begun."""
    graded = best(grade(map(from_row, rows)), lab.slug)
    if graded is None:
        raise ActionRefused(
            409, "Lab {lab} is not in progress here.", "Start the lab in a new sandbox.", lab=lab.number
        )
    attempt = graded.attempt
    return LabResult(
        lab.number,
        attempt.finished,
        attempt.score,
        attempt.step,
        attempt.verdict.sentence(),
        attempt.verdict.rests_on,
        tuple(receipt.digest for receipt in attempt.receipts.kept),
    )


def _filled(text: str, values: Mapping[str, object]) -> str:
    return text.format(**values)
