"""One batch of the stream: new entries of each sandbox applied to its saved state, one sandbox per task."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from sandbox.pipeline.lag import fold_json, result_store
from sandbox.pipeline.lag.fold import Fold, JournalLine
from sandbox.pipeline.lag.result_store import STATE, Place
from sandbox.pipeline.lag.rows import COLUMNS, WIDTHS_MS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

TASKS = 8  # at most, of one batch; a sandbox belongs to one task
TABLES = ("seconds", *WIDTHS_MS)

ROWS = pa.schema(
    [(name, pa.string() if name in ("sandbox", "group", "topic", "queue") else pa.int64()) for name in COLUMNS]
)
STATES = pa.schema([("sandbox", pa.string()), ("true_to", pa.int64()), (STATE, pa.binary())])
BOTH = pa.schema([("table", pa.string()), *ROWS, ("true_to", pa.int64()), (STATE, pa.binary())])
BOTH_DDL = (
    "table STRING, sandbox STRING, `group` STRING, topic STRING, queue STRING, from_ms BIGINT, "
    "produced BIGINT, consumed BIGINT, lag BIGINT, lag_ms BIGINT, true_to BIGINT, state BINARY"
)
STATES_DDL = "sandbox STRING, true_to BIGINT, state BINARY"


def take(entries: "DataFrame", batch: int, *, out: str, checkpoint: str, run: str, source: dict[str, Any]) -> None:
    """Add the stream's next batch to the result at `out`, unless it was added before."""
    stream = result_store.checkpoint_of(Path(checkpoint))
    assert stream is not None, "Spark writes it before the first batch"
    position = Place(stream, batch)
    if result_store.is_in(Path(out), position):
        return
    session = entries.sparkSession
    before = result_store.state_before(Path(out), position)
    states = session.createDataFrame([], STATES_DDL) if before is None else session.read.parquet(str(before))
    tasks = max(1, min(TASKS, len(source["journals"])))
    made = (
        entries.repartition(tasks, "sandbox")
        .groupBy("sandbox")
        .cogroup(states.repartition(tasks, "sandbox").groupBy("sandbox"))
        .applyInArrow(folded, BOTH_DDL)
        .toArrow()
    )
    tables = {name: rows_of(made, name, ROWS.names) for name in TABLES}
    tables[STATE] = rows_of(made, STATE, STATES.names)
    true_to = {
        row["sandbox"]: row["true_to"]
        for row in tables[STATE].select(["sandbox", "true_to"]).to_pylist()
        if row["true_to"] is not None
    }
    result_store.add(Path(out), position, tables, job="lag_history", run=run, true_to=true_to, source=source)


def folded(entries: pa.Table, states: pa.Table) -> pa.Table:
    """Return the new rows of one sandbox, for all tables, and one row with its saved state."""
    if entries.num_rows == 0:
        return _with_nulls(states, STATE)
    fold = fold_json.load(states.column(STATE)[0].as_py()) if states.num_rows else Fold()
    entries = entries.sort_by("seq")
    columns = [entries.column(name).to_pylist() for name in ("seq", "at_ms", "event", "fields")]
    fold.take(map(JournalLine, *columns))
    sandbox = entries.column("sandbox")[0].as_py()
    parts = [_rows(sandbox, name, fold) for name in TABLES]
    state = pa.table([[sandbox], [fold.true_to], [fold_json.dump(fold)]], schema=STATES)
    return pa.concat_tables([*parts, _with_nulls(state, STATE)])


def rows_of(made: pa.Table, name: str, columns: list[str]) -> pa.Table:
    """Return the rows of one table, sorted."""
    rows = made.filter(pc.equal(made.column("table"), name)).select(columns)
    return rows if name == STATE else rows.sort_by([(column, "ascending") for column in COLUMNS[:5]])


def _rows(sandbox: str, name: str, fold: Fold) -> pa.Table:
    rows = fold.rows[name]
    plain = [(sandbox, row.group, row.topic, row.queue, row.from_ms, *row.figures) for row in rows]
    columns = zip(*plain, strict=True) if plain else [()] * len(ROWS)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, ROWS, strict=True)]
    return _with_nulls(pa.Table.from_arrays(arrays, schema=ROWS), name)


def _with_nulls(table: pa.Table, name: str) -> pa.Table:
    """Return the table with the columns of `BOTH`: null columns for missing ones, and `name` in the column `table`."""
    count = table.num_rows
    arrays = [
        pa.array([name] * count, pa.string())
        if field.name == "table"
        else table.column(field.name)
        if field.name in table.column_names
        else pa.nulls(count, field.type)
        for field in BOTH
    ]
    return pa.Table.from_arrays(arrays, schema=BOTH)
