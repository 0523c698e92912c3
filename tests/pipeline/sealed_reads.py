"""Sealing and reading without Spark: what its tasks and its readers do, in this process."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson
import pyarrow.parquet as pq

from sandbox.pipeline.sealed.entries import held
from sandbox.pipeline.sealed.reading import parts_of
from sandbox.pipeline.sealed.sealing import prepared
from sandbox.pipeline.sealed.writing import Outcome, seal
from sandbox.pipeline.sources.records import SCHEMA
from sandbox.pipeline.sources.store import StoreSource
from tests.unit.store.damage import overwrite

Row = dict[str, Any]
NO_SESSION: Any = None  # of what executes its tasks here


def sealed(root: Path, directory: Path) -> list[Outcome]:
    """Seal the log and return the outcome of each file."""
    with held(directory):
        said, tasks = prepared("s", root, directory)
        return sorted(said + [seal(task) for task in tasks], key=lambda one: one.log_start)


def states(root: Path, directory: Path) -> list[str]:
    return [one.state for one in sealed(root, directory)]


def rows_alone(root: Path, options: Mapping[str, str] | None = None) -> list[Row]:
    """Without sealed files."""
    columns = ",".join(SCHEMA.names)
    reader = StoreSource({"path": str(root), "columns": columns, **(options or {})}).reader(None)
    return [row for part in reader.partitions() for made in reader.read(part) for row in made.to_pylist()]


def rows_through(root: Path, directory: Path) -> list[Row]:
    """Read with sealed files and return rows in the order of the log."""
    parts = parts_of(root, directory)
    rows = [row for file in parts.files for row in pq.read_table(file, schema=SCHEMA).to_pylist()]
    if not parts.is_whole:
        rows += rows_alone(root, {"skippedLogs": orjson.dumps(parts.skipped).decode()})
    return sorted(rows, key=lambda row: row["physicalOffset"])


def files_in(directory: Path) -> set[str]:
    return {path.name for path in directory.iterdir()} - {"lock"}


def spoil(path: Path) -> None:
    """Overwrite a few bytes of the bodies."""
    group = pq.ParquetFile(path).metadata.row_group(0)
    columns = (group.column(number) for number in range(group.num_columns))
    [body] = [column for column in columns if column.path_in_schema == "body"]
    overwrite(path, body.data_page_offset + body.total_compressed_size // 2, b"\x5a\xa5")
