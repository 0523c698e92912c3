"""An export as an Apache Iceberg table: the Parquet files that Spark wrote, registered without being copied.

    <out>/iceberg/catalog.db                              catalog `queueviz` in SQLite, table `queueviz.messages`
    <out>/iceberg/messages/data/<first run>/<run>/*.parquet
    <out>/iceberg/messages/metadata/                      Iceberg's own

A run's directory is moved there in one step and its files are committed as one snapshot; without `append` that
snapshot has no other rows.  Files of earlier snapshots stay: to expire those is maintenance of the table.  If a
crash left rows between the two steps, the next append commits them and continues after them.
"""

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from sandbox.kernel.errors import SandboxError
from sandbox.pipeline.runs import results

if TYPE_CHECKING:
    import pyarrow as pa
    from pyiceberg.table import Table, Transaction

ICEBERG = "iceberg"
CATALOG = "queueviz"
CATALOG_FILE = "catalog.db"


class NoIceberg(SandboxError):
    """Error: the Iceberg table cannot be made; the sentence says why."""


def check() -> None:
    """Raise NoIceberg if the package pyiceberg is not installed."""
    if find_spec("pyiceberg") is None:
        raise NoIceberg("Iceberg needs the package pyiceberg. Install queueviz[iceberg].")


def registered(out: Path, run: str, name: str, new: results.Table, *, append: bool) -> results.Table:
    """Register the Parquet files of `new` as the newest snapshot of table `name` and return the table.

    Without `append` the snapshot has no other rows.  Raises NoIceberg, and then nothing is changed.
    """
    import pyarrow.parquet

    old = _before(out, name) if append else None
    generation = f"{ICEBERG}/{name}/data/{run}" if old is None else old.path
    moved = out / generation / run
    moved.parent.mkdir(parents=True, exist_ok=True)
    os.replace(out / new.path, moved)
    try:
        schema = pyarrow.parquet.read_schema(next(moved.glob("*.parquet"))).remove_metadata()
        if old is not None and not new.rows:
            shutil.rmtree(moved)
        _commit(out / ICEBERG, name, schema, out / generation, append=old is not None)
    except Exception as error:
        shutil.rmtree(moved, ignore_errors=True)
        if isinstance(error, TypeError | ValueError):  # of pyiceberg: columns that do not go together
            raise NoIceberg(
                f"The table in {out / ICEBERG} has other columns. Choose another --out "
                f"({str(error).strip().splitlines()[0]})."
            ) from error
        raise
    if old is None:
        return new._replace(path=generation)
    malformed = None if new.malformed is None else new.malformed + (old.malformed or 0)
    return results.Table(generation, old.rows + new.rows, malformed)


def _before(out: Path, name: str) -> results.Table | None:
    manifest = results.manifest_of(out)
    return None if manifest is None else manifest.tables.get(name)


def _commit(home: Path, name: str, schema: "pa.Schema", generation: Path, *, append: bool) -> None:
    with opened(home, name, schema) as table, table.transaction() as change:
        _change(table, change, schema, _filled(generation), append=append)


@contextmanager
def opened(home: Path, name: str, schema: "pa.Schema", properties: Mapping[str, str] = {}) -> "Iterator[Table]":
    """Open the Iceberg table of this name in `home`.

    Create it with these columns and properties if it does not exist.
    """
    from pyiceberg.catalog.sql import SqlCatalog

    catalog = SqlCatalog(CATALOG, uri=f"sqlite:///{home / CATALOG_FILE}", warehouse=f"file://{home}")
    try:
        catalog.create_namespace_if_not_exists(CATALOG)
        yield catalog.create_table_if_not_exists(
            f"{CATALOG}.{name}", schema, location=f"file://{home / name}", properties=dict(properties)
        )
    finally:
        catalog.engine.dispose()


def _change(table: "Table", change: "Transaction", schema: "pa.Schema", files: list[str], *, append: bool) -> None:
    from pyiceberg.expressions import AlwaysTrue

    known = set()
    if append:
        known = set(table.inspect.files().column("file_path").to_pylist())
    else:
        with change.update_schema() as columns:
            columns.union_by_name(schema)
        if table.current_snapshot() is not None:
            change.delete(AlwaysTrue())
    if missing := [file for file in files if file not in known]:
        change.add_files(missing)


def _filled(directory: Path) -> list[str]:
    """Return the addresses of the Parquet files in the directory that have rows."""
    import pyarrow.parquet

    return [
        f"file://{path}"
        for path in sorted(directory.rglob("*.parquet"))
        if pyarrow.parquet.read_metadata(path).num_rows
    ]
