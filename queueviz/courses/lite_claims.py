"""Reports of browsers on their labs (`LiteRun.row`), read as data that anyone may have written."""

from typing import Any, NamedTuple

from queueviz.courses.lite_models import LiteRun

Result = tuple[object, ...]
NOT_MET: Result = ()


class Claim(NamedTuple):
    """The reported lab.

    `results`: of each step, NOT_MET or its values as of `result_of`.  `receipts`: event and digest of each answer.
    """

    attempt: int
    score: int
    finished: bool
    results: tuple[Result, ...]
    met_ms: tuple[int, ...]
    receipts: tuple[tuple[int, str], ...]

    @property
    def met(self) -> int:
        return sum(result != NOT_MET for result in self.results)


class Unreadable(ValueError):
    """Error: the report is not a `LabRow` of this lab."""


def claim_of(run: LiteRun) -> Claim | None:
    """Return what the browser reports, or None if it reports nothing that can be read."""
    try:
        return read(run.row, run.submission.lab)
    except Unreadable:
        return None


def read(row: Any, lab: str) -> Claim | None:
    """Return the claim of a reported row, None without one.  Raises Unreadable."""
    if row is None:
        return None
    try:
        if row["lab"] != lab:
            raise Unreadable("another lab")
        steps = row["steps"]
        return Claim(
            int(row["attempt"]),
            int(row["score"]),
            bool(row["finished"]),
            tuple(result_of(step) for step in steps),
            tuple(int(step["met"]["at_ms"]) for step in steps if step["met"] is not None),
            tuple((int(receipt["seq"]), str(receipt["digest"])) for receipt in row["receipts"]),
        )
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise Unreadable(str(error)) from error


def result_of(step: Any) -> Result:
    """Return the values of a step's result that are compared, NOT_MET before it."""
    met = step["met"]
    if met is None:
        return NOT_MET
    return met["seq"], met["at_ms"], met["given"], met["truth"], met["accurate"], step["hints"]
