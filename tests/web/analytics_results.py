"""Class analytics as the job leaves them, written without Spark."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet

from sandbox.pipeline.runs.results import Manifest, Table, publish
from tests.web.courses import LAB

COLUMNS = ("lab", "step", "met", "median_ms", "p90_ms", "hints", "hinted", "predicted", "wrong")
STEPS = [
    dict(zip(COLUMNS, row, strict=True))
    for row in (
        (LAB, 1, 4, 90_000, 240_000, 3, 2, 4, 1),
        (LAB, 2, 2, 30_000, 31_000, 0, 0, 0, 0),
        ("orderly-lock", 1, 9, 1, 1, 0, 0, 1, 1),
    )
]
TABLES: dict[str, list[dict[str, Any]]] = {
    "steps": STEPS,
    "predictions": [{"lab": LAB, "step": 1, "given": "<b>0</b>", "truth": "2", "count": 1}],
    "mistakes": [
        {"lab": LAB, "step": 1, "text": text, "said": said, "count": count, "sandboxes": 1}
        for text, said, count in (("You {given}.", "You wrote 0.", 5), ("Look again.", "Look again.", 1))
    ],
    "dead_ends": [{"lab": LAB, "step": 2, "phase": "do", "count": 2, "sandboxes": 2}],
}


def leave_analytics(out: Path, tables: dict[str, list[dict[str, Any]]] = TABLES) -> None:
    """`out`: where the results of one course lie."""
    made = {}
    for name, rows in tables.items():
        path = out / "run-r" / name
        path.mkdir(parents=True)
        pyarrow.parquet.write_table(pa.Table.from_pylist(rows), path / "part-0.parquet")
        made[name] = Table(f"run-r/{name}", len(rows))
    publish(out, Manifest("class_analytics", "r", made, {}, 1_795_142_537_350, {}))
