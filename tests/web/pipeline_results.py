"""Results as jobs leave them, written without Spark: the tables' columns are those every job has agreed on."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet

from queueviz.runs import directories
from sandbox.pipeline.runs.results import Manifest, Table, publish

NUMBERS = {
    "queue_offset",
    "after_offset",
    "seq",
    "first_seq",
    "last_seq",
    "example_seq",
    "messages",
    "deliveries",
    "first_ms",
    "last_ms",
    "from_ms",
    "produced",
    "consumed",
    "lag",
    "lag_ms",
}
COLUMNS = {
    ("delivery_audit", "messages"): "sandbox group topic queue queue_offset message_id keys verdict cause deliveries "
    "first_ms last_ms first_seq last_seq",
    ("delivery_audit", "summary"): "sandbox group topic verdict cause messages example_seq",
    ("delivery_audit", "order_breaks"): "sandbox group topic queue key queue_offset after_offset seq",
    ("lag_history", "seconds"): "sandbox group topic queue from_ms produced consumed lag lag_ms",
    ("lag_history", "tens"): "sandbox group topic queue from_ms produced consumed lag lag_ms",
    ("lag_history", "fives"): "sandbox group topic queue from_ms produced consumed lag lag_ms",
}


def leave(
    job: str,
    slug: str,
    tables: dict[str, list[dict[str, Any]]],
    *,
    true_to: int | None = 18_390,
    made_ms: int = 1_795_142_525_350,
    run: str = "r1",
) -> Path:
    """Write a result of `run`; rows may omit columns, which are null then."""
    out = directories.result_of(job, slug)
    out.mkdir(parents=True, exist_ok=True)
    made = {}
    for name, rows in tables.items():
        columns = COLUMNS[job, name].split()
        schema = pa.schema([(column, pa.int64() if column in NUMBERS else pa.string()) for column in columns])
        full = [{"sandbox": slug, **row} for row in rows]
        path = out / f"run-{run}" / name
        path.mkdir(parents=True)
        pyarrow.parquet.write_table(pa.Table.from_pylist(full, schema), path / "part-0.parquet")
        (path / "_SUCCESS").touch()
        made[name] = Table(f"run-{run}/{name}", len(rows))
    publish(out, Manifest(job, run, made, {} if true_to is None else {slug: true_to}, made_ms, {}))
    return out
