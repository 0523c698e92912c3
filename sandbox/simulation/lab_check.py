"""Plays every script of labs for some seeds: does the right one solve, and is every other answered by its sentence?"""

from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from typing import Any, NamedTuple

from sandbox.labs.catalogue import LABS
from sandbox.labs.grade import grade
from sandbox.labs.lab import Lab
from sandbox.labs.script import Play, nothing
from sandbox.labs.verdict import Verdict
from sandbox.simulation.lab_player import Played, play

Row = dict[str, Any]

SOLVE, EMPTY = "solve", "empty"


class Judged(NamedTuple):
    """`same`: graded again from the journal's entries alone, it is what was graded live."""

    script: str
    solved: bool
    verdict: Verdict
    same: bool
    minutes: float


def scripts_of(lab: Lab) -> dict[str, Play]:
    return {SOLVE: lab.solve, EMPTY: nothing, **{wrong.name: wrong.play for wrong in lab.wrong}}


def judge(lab: Lab, script: str, seed: int) -> Judged:
    played = play(lab, scripts_of(lab)[script], seed)
    attempt = played.attempt
    return Judged(script, attempt.finished, attempt.verdict, graded_the_same(played), played.minutes)


def graded_the_same(played: Played) -> bool:
    [graded] = grade(played.entries)
    return (graded.found == graded.live and graded.attempt.verdict == played.attempt.verdict
            and graded.attempt.receipts.kept == played.attempt.receipts.kept)


def check_lab(lab: Lab, seeds: Iterable[int]) -> Row:
    """The row of one lab (`manage.py lab check --json`)."""
    found = {script: [judge(lab, script, seed) for seed in seeds] for script in scripts_of(lab)}
    texts = [wrong.sentence for wrong in lab.wrong]
    return {
        "lab": lab.slug, "number": lab.number, "title": lab.title,
        "solved": all(one.solved and one.same for one in found[SOLVE]),
        "empty_fails": not any(one.solved for one in found[EMPTY]),
        "wrong": [{"script": wrong.name, "misconception": wrong.misconception,
                   "fails": texts.count(wrong.sentence) == 1 and all(
                       not one.solved and one.same and one.verdict.text == wrong.sentence for one in found[wrong.name]),
                   "sentence": found[wrong.name][0].verdict.sentence()} for wrong in lab.wrong],
        "seeds": len(found[SOLVE]), "minutes": lab.minutes,
        "played_minutes": round(max(one.minutes for one in found[SOLVE]), 1),
    }  # fmt: skip


def is_whole(row: Row) -> bool:
    """Whether it may be given to students: it is solved, and at least three usual mistakes are answered."""
    return bool(row["solved"] and row["empty_fails"] and len(row["wrong"]) >= 3
                and all(wrong["fails"] for wrong in row["wrong"]))


def check_labs(slugs: list[str], seeds: range, workers: int) -> Iterator[Row]:
    """In order, as they are done."""
    with ProcessPoolExecutor(min(workers, len(slugs))) as pool:
        yield from pool.map(_check, slugs, [seeds] * len(slugs))


def _check(slug: str, seeds: range) -> Row:
    return check_lab(LABS[slug], seeds)
