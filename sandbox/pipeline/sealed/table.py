"""The sealed files of a store as an Apache Iceberg table: registered as they are, without being copied.

    <directory>/iceberg/catalog.db            catalog `queueviz` in SQLite, table `queueviz.messages`
    <directory>/iceberg/messages/metadata/    Iceberg's own

The table consists of the Parquet files that jobs read instead of log files.  Every run that seals into the directory
keeps it so: removed and added files are one snapshot.  A file that the table names is removed only after a snapshot
without it, so that a run killed at any step leaves the old table or the new one, whole.  Readers of earlier
snapshots miss such files.
"""

import errno
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from sandbox.pipeline.runs.iceberg import CATALOG_FILE, ICEBERG, NoIceberg, check, opened
from sandbox.pipeline.sealed.entries import Entry
from sandbox.pipeline.sealed.writing import STATISTICS
from sandbox.pipeline.sources.records import SCHEMA

if TYPE_CHECKING:
    from pyiceberg.manifest import DataFile
    from pyiceberg.table import Table

NAME = "messages"
STORE = "queueviz.store"  # property of the table: the store's directory
METRICS = {
    "write.metadata.metrics.default": "none",
    **{f"write.metadata.metrics.column.{name}": "truncate(16)" for name in STATISTICS},
}


class Kept(NamedTuple):
    """The content of the newest snapshot.  `catalog`: its file.  `snapshot`: its id, None before the first."""

    catalog: Path
    rows: int
    files: int
    snapshot: int | None


def is_in(directory: Path) -> bool:
    """Return True if the directory has an Iceberg table of its sealed files."""
    return (directory / ICEBERG / CATALOG_FILE).exists()


def named(directory: Path, root: Path) -> set[str]:
    """Return the names of the Parquet files in the table; create the table if it does not exist.

    Raises NoIceberg, or OSError.
    """
    with _table(directory, root) as table:
        return {Path(file.file_path).name for file in _files(table)}


def keep(directory: Path, root: Path, entries: Sequence[Entry]) -> None:
    """Make the table consist of these sealed files alone, in one snapshot.

    Raises NoIceberg, also if a file that is new to the table is damaged, or OSError; the table is then unchanged.
    """
    from pyiceberg.io.pyarrow import parquet_file_to_data_file

    expected = {
        (f"file://{directory.resolve() / entry.file}", entry.file_bytes): directory / entry.file
        for entry in entries
        if entry.rows
    }
    with _table(directory, root) as table:
        known = {(file.file_path, file.file_size_in_bytes): file for file in _files(table)}
        gone, new = known.keys() - expected.keys(), sorted(expected.keys() - known.keys())
        for key in new:
            _check_pages(expected[key])
        if gone or new:
            with table.transaction() as change:
                mapping = change.table_metadata.schema().name_mapping.model_dump_json()
                change.set_properties({"schema.name-mapping.default": mapping})  # the files know no ids of columns
                snapshot = change.update_snapshot()
                with snapshot.overwrite() if gone else snapshot.fast_append() as update:
                    for key in gone:
                        update.delete_data_file(known[key])
                    for path, _ in new:
                        update.append_data_file(parquet_file_to_data_file(table.io, change.table_metadata, path))


def kept(directory: Path, root: Path) -> Kept:
    """Return the content of the newest snapshot.  Raises NoIceberg, or OSError."""
    with _table(directory, root) as table:
        files, snapshot = _files(table), table.current_snapshot()
        return Kept(
            directory / ICEBERG / CATALOG_FILE,
            sum(file.record_count for file in files),
            len(files),
            None if snapshot is None else snapshot.snapshot_id,
        )


def _files(table: "Table") -> "list[DataFile]":
    return [task.file for task in table.scan().plan_files()]


@contextmanager
def _table(directory: Path, root: Path) -> "Iterator[Table]":
    check()
    home, store = directory.resolve() / ICEBERG, str(root.resolve())
    home.mkdir(parents=True, exist_ok=True)
    try:
        with opened(home, NAME, SCHEMA, {STORE: store, **METRICS}) as table:
            if (table.properties.get(STORE), table.location()) != (store, f"file://{home / NAME}"):
                raise NoIceberg(
                    f"{home} has the Iceberg table of {table.properties.get(STORE)}, created at "
                    f"{table.location()}. Choose another --sealed for {store}, or delete that directory."
                )
            yield table
    except NoIceberg:
        raise
    except Exception as error:  # of pyiceberg, SQLAlchemy, pydantic
        if isinstance(error, OSError) and error.errno not in (None, errno.ENOENT):
            raise
        lines = str(getattr(error, "orig", error)).strip().splitlines() or [type(error).__name__]
        raise NoIceberg(
            f"The Iceberg table in {home} cannot be used ({lines[0]}). If it is damaged, delete the "
            "directory and seal again with --format iceberg."
        ) from error


def _check_pages(path: Path) -> None:
    """Raise NoIceberg if a page of the file is damaged.

    Readers of the table do not compare checksums of pages.
    """
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            for number in range(file.num_row_groups):
                file.read_row_group(number)
    except (OSError, ValueError) as error:
        raise NoIceberg(
            f"The sealed log file {path} is damaged; the Iceberg table is unchanged. Delete the file "
            "and run the job again."
        ) from error
