"""Cost of grading a course again: `grading` on Spark over the journals of 60 students and 16 labs.

Each lab's own script is played in virtual time for a few seeds, and a student has one of these journals under a name of
its own: the journals of several students are the same bytes, which the job does not know.  Twelve of the thirteen
differ in nothing but the seed.  Ten journals are forged and one is edited (`tests/web/test_regrading.py` has more).
Goals: five minutes on two cores, no difference in an honest journal, every changed one named.
"""

import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from sandbox.journal.events import Entry, LabFinished, PredictionGiven, StepMet
from sandbox.journal.segments import SegmentWriter
from sandbox.labs.catalogue import LABS
from sandbox.pipeline.runs.launch import ENDED, Child, Order
from sandbox.simulation.lab_player import play

JOB = "grading"
GOAL_S = 300.0


class Scale(NamedTuple):
    """`seeds`: journals of each lab that are played; the students share them."""

    students: int
    labs: int
    seeds: int


SCALES = {"full": Scale(60, 16, 3), "quick": Scale(6, 3, 1), "smallest": Scale(2, 1, 1)}
Change = Callable[[list[Entry]], list[Entry]]


class Written(NamedTuple):
    """Journals by sandbox; the score each was played with, and the digest of its last receipt."""

    journals: dict[str, str]
    scores: dict[str, int]
    receipts: dict[str, str]
    entries: int


def run(child: Child, home: Path, scale: Scale) -> dict[str, Any]:
    """Return seconds, and the differences found.  `child` has run nothing yet; `home`: for scratch files."""
    began_s = time.perf_counter()
    whole = written(home / "journals", scale)
    made_s = time.perf_counter() - began_s
    cold_s = _seconds(child, whole.journals, "cold", home / "grades")
    warm_s = _seconds(child, whole.journals, "warm", home / "grades")
    return {
        "students": scale.students,
        "labs": scale.labs,
        "attempts": scale.students * scale.labs,
        "entries": whole.entries,
        "played": scale.labs * scale.seeds,
        "made_s": round(made_s, 1),
        "with_start_s": round(cold_s, 1),
        "grading_s": round(warm_s, 1),
        "goal_s": GOAL_S,
        **compared(home / "grades", whole),
    }


def written(directory: Path, scale: Scale) -> Written:
    """Write a journal a student and lab, and the changed ones beside them."""
    journals: dict[str, str] = {}
    scores: dict[str, int] = {}
    receipts: dict[str, str] = {}
    entries = 0
    for lab in list(LABS.values())[: scale.labs]:
        made: list[tuple[Path, int, str, int]] = []
        for seed in range(1, scale.seeds + 1):
            played = play(lab, lab.solve, seed)
            path = _journal(directory / "played" / f"{lab.slug}-{seed}", list(played.entries))
            made.append((path, played.attempt.score, played.attempt.receipts.kept[-1].digest, len(played.entries)))
        for student in range(scale.students):
            path, score, receipt, count = made[student % len(made)]
            name = f"s{student:02}-{lab.slug}"
            shutil.copytree(path, directory / name)
            journals[name], scores[name], receipts[name] = str(directory / name), score, receipt
            entries += count
    played = play(LABS[_LAB], LABS[_LAB].solve, 1)
    for name, change in CHANGES.items():
        journals[name] = str(_journal(directory / name, change(list(played.entries))))
        scores[name], receipts[name] = played.attempt.score, played.attempt.receipts.kept[-1].digest
    return Written(journals, scores, receipts, entries)


def compared(out: Path, whole: Written) -> dict[str, int]:
    """`differences` of honest journals; of the changed ones, how many are named."""
    attempts, differences, unread = (_rows(out, name) for name in ("attempts", "differences", "unread"))
    found = {row["sandbox"]: row for row in attempts}
    named = {row["sandbox"] for row in (*differences, *unread)}
    for name, score in whole.scores.items():
        row = found.get(name)
        if row is None or row["score"] != score or row["digest"] != whole.receipts[name]:
            named.add(name)
    return {
        "differences": len(named - set(CHANGES)),
        "forged": len(FORGED),
        "forged_named": len(named & set(FORGED)),
        "edited": len(EDITED),
        "edited_named": len(named & set(EDITED)),
    }


def _rows(out: Path, table: str) -> list[dict[str, Any]]:
    import pyarrow.dataset

    from sandbox.pipeline.runs.results import manifest_of

    manifest = manifest_of(out)
    assert manifest is not None
    files = [str(path) for path in (out / manifest.tables[table].path).rglob("*.parquet")]
    rows: list[dict[str, Any]] = pyarrow.dataset.dataset(files, format="parquet").to_table().to_pylist()
    return rows


def _seconds(child: Child, journals: dict[str, str], name: str, out: Path) -> float:
    began = time.perf_counter()
    child.order(Order(name, JOB, {}, journals, str(out), {}))
    last = next(line for line in child.reports() if line["state"] in ENDED)
    assert last["state"] == "done", last
    return time.perf_counter() - began


def _journal(directory: Path, entries: list[Entry]) -> Path:
    writer = SegmentWriter(directory)
    for entry in entries:
        writer.append(entry)
    writer.close()
    return directory


def _with(kind: type, **fields: object) -> Change:
    """These fields in every event of the kind."""

    def changed(entries: list[Entry]) -> list[Entry]:
        return [
            entry._replace(event=entry.event._replace(**fields)) if isinstance(entry.event, kind) else entry
            for entry in entries
        ]  # type: ignore[attr-defined]

    return changed


def _without(kind: type) -> Change:
    return lambda entries: [entry for entry in entries if not isinstance(entry.event, kind)]


def _and(*events: Any) -> Change:
    """More lines at the end."""
    return lambda entries: [
        *entries,
        *(Entry(entries[-1].seq + n, entries[-1].at_ms, None, event) for n, event in enumerate(events, start=1)),
    ]


_LAB = "members-and-queues"
FORGED: dict[str, Change] = {
    "praise": _with(StepMet, why="Well done."),
    "evidence": _with(StepMet, evidence=(1,)),
    "step": _with(StepMet, step=1),
    "score": _with(LabFinished, score=101),
    "attempt": _with(LabFinished, attempt=2),
    "twice": _and(LabFinished(_LAB, 1, 100)),
    "another": _and(StepMet(_LAB, 3, "Done.", (1,))),
    "unmet": _without(StepMet),
    "unfinished": _without(LabFinished),
    "cut": lambda entries: entries[: len(entries) // 2],
}
EDITED: dict[str, Change] = {"sealed": _with(PredictionGiven, value="1")}
CHANGES = FORGED | EDITED
