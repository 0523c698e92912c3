"""A check of labs: it plays every script of a lab with several seeds.

The solving script must solve the lab.  Every wrong script must fail with its own sentence.
"""

from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from typing import Any, NamedTuple

from sandbox.kernel.errors import ActionRefused
from sandbox.labs.grade import grade
from sandbox.labs.lab import Lab
from sandbox.labs.placeholders import unfinished
from sandbox.labs.script import Play, nothing
from sandbox.labs.verdict import Verdict
from sandbox.simulation.lab_loader import FILES, lab_of, line_in
from sandbox.simulation.lab_player import Played, play

Row = dict[str, Any]

SOLVE, EMPTY = "solve", "empty"


class Judged(NamedTuple):
    """The result of one script with one seed.

    `same`: grading again from the journal's entries alone gives the same result as live grading.  `stopped`: a
    sentence on why the script did not finish; empty: it did.
    """

    script: str
    solved: bool
    verdict: Verdict
    same: bool
    minutes: float
    stopped: str = ""


def scripts_of(lab: Lab) -> dict[str, Play]:
    return {SOLVE: lab.solve, EMPTY: nothing, **{wrong.name: wrong.play for wrong in lab.wrong}}


def judge(lab: Lab, script: str, seed: int) -> Judged:
    """Play a script of the lab with a seed and return the result.

    An exception of the script is part of the result, with its line, for the teacher who writes the script.
    """
    try:
        played = play(lab, scripts_of(lab)[script], seed)
    except Exception as error:
        stopped = _stopped(lab, error)
        return Judged(script, False, Verdict.wrong("{why}", why=stopped), False, 0.0, stopped)
    attempt = played.attempt
    return Judged(script, attempt.finished, attempt.verdict, graded_the_same(played), played.minutes)


def _stopped(lab: Lab, error: Exception) -> str:
    text = f"{error} {error.hint}".strip() if isinstance(error, ActionRefused) else f"{type(error).__name__}: {error}"
    line = line_in(FILES[lab.slug], error) if lab.slug in FILES else 0
    location = f"line {line}" if line else ", ".join(getattr(error, "__notes__", []))
    return f"{location}: {text}" if location else text


def graded_the_same(played: Played) -> bool:
    [graded] = grade(played.entries)
    return (
        graded.replayed == graded.live
        and graded.attempt.verdict == played.attempt.verdict
        and graded.attempt.receipts.kept == played.attempt.receipts.kept
    )


def check_lab(lab: Lab, seeds: Iterable[int]) -> Row:
    """Return the checked lab as a row (`manage.py lab check --json`)."""
    runs = {script: [judge(lab, script, seed) for seed in seeds] for script in scripts_of(lab)}
    texts = [wrong.sentence for wrong in lab.wrong]
    return {
        "lab": lab.slug,
        "number": lab.number,
        "title": lab.title,
        "solved": all(run.solved and run.same for run in runs[SOLVE]),
        "empty_fails": not any(run.solved for run in runs[EMPTY]),
        "wrong": [
            {
                "script": wrong.name,
                "misconception": wrong.misconception,
                "fails": texts.count(wrong.sentence) == 1
                and all(not run.solved and run.same and run.verdict.text == wrong.sentence for run in runs[wrong.name]),
                "sentence": runs[wrong.name][0].verdict.sentence(),
            }
            for wrong in lab.wrong
        ],
        "stopped": {script: judged[0].stopped for script, judged in runs.items() if judged[0].stopped},
        "to_fill_in": unfinished(lab),
        "seeds": len(runs[SOLVE]),
        "minutes": lab.minutes,
        "played_minutes": round(max(run.minutes for run in runs[SOLVE]), 1),
    }


def is_whole(row: Row) -> bool:
    """Return True if students may get the lab: it can be solved, and its wrong scripts fail as expected."""
    return bool(
        row["solved"]
        and row["empty_fails"]
        and not row["stopped"]
        and not row["to_fill_in"]
        and all(wrong["fails"] for wrong in row["wrong"])
    )


def check_labs(names: list[str], seeds: range, workers: int) -> Iterator[Row]:
    """Check labs and yield their rows in order.

    `names`: slugs, or paths of files, which each worker loads itself.
    """
    with ProcessPoolExecutor(min(workers, len(names))) as pool:
        yield from pool.map(_check, names, [seeds] * len(names))


def _check(name: str, seeds: range) -> Row:
    lab = lab_of(name)
    assert lab is not None, name
    return check_lab(lab, seeds)
