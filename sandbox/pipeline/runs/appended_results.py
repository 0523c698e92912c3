"""Appending to a result: new rows go beside the old ones, whose files become links.

No position is stored beside a result: the next read starts after the largest queue offset of each queue in its rows.
"""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from sandbox.kernel import json_bytes
from sandbox.kernel.errors import SandboxError
from sandbox.pipeline.runs import results
from sandbox.pipeline.runs.iceberg import ICEBERG
from sandbox.pipeline.sources.records import STORE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

MESSAGES = "messages"


class OtherResult(SandboxError):
    """Error: rows cannot be appended to the existing result; the sentence says why."""


class Before(NamedTuple):
    """The existing result and its rows."""

    table: results.Table
    rows: "DataFrame"


def before(session: "SparkSession", out: Path, stores: Mapping[str, str], kind: str) -> Before | None:
    """Return the existing result to append to, or None if there is none yet or none with a file.

    `kind`: format.  Raises OtherResult if it is of another job, other stores or another format, CorruptRecord if its
    manifest is damaged.
    """
    manifest = results.manifest_of(out)
    if manifest is None:
        return None
    table = manifest.tables.get(MESSAGES)
    if table is None:
        raise OtherResult(
            f"{out} has a result of {manifest.job}. Only results of export can be appended to: choose another --out."
        )
    old: Mapping[str, Any] = manifest.source["stores"]
    if (
        (len(old) == 1) != (len(stores) == 1)
        or any(old.get(name, path) != path for name, path in stores.items())
        or (len(stores) == 1 and old != stores)
    ):
        raise OtherResult(
            f"{out} was exported from other stores ({', '.join(sorted(old.values()))}). Choose another --out."
        )
    if not any((out / table.path).rglob("*.parquet")):
        if table.rows:
            raise OtherResult(f"{out} is not Parquet, and only Parquet can be appended to. Choose another --out.")
        return None
    if table.path.startswith(f"{ICEBERG}/") != (kind == ICEBERG):
        raise OtherResult(f"{out} does not have the format {kind}. Choose another --out or the earlier --format.")
    return Before(table, read(session, out, table))


def read(session: "SparkSession", out: Path, table: results.Table) -> "DataFrame":
    """Return a table of Parquet files, some of whose columns may be in the names of their directories."""
    path = out / table.path
    if not table.partitions:
        return session.read.option("recursiveFileLookup", "true").parquet(str(path))
    schema = session.read.parquet(str(next(path.rglob("*.parquet")))).schema
    for name, kind in table.partitions.items():
        schema = schema.add(name, kind)
    return session.read.schema(schema).parquet(str(path))


def goes_on(rows: "DataFrame", stores: Mapping[str, str], options: Mapping[str, str]) -> str:
    """Return the store source's option `startingOffsets` that continues after these rows.

    Only stores, topics and queues that the options select are in it; without rows it is `earliest`.
    """
    from pyspark.sql import functions as f

    keys = [*([STORE] if STORE in rows.columns else []), "topic", "queueId"]
    offsets: dict[str, Any] = {}
    for name, column in (("topic", "topic"), ("queueId", "queueId"), ("", STORE)):
        asked = list(stores) if column == STORE else [part.strip() for part in options.get(name, "").split(",")]
        if column in keys and any(asked):
            rows = rows.where(f.col(column).cast("string").isin(asked))
    for row in rows.groupBy(*keys).agg((f.max("queueOffset") + 1).alias("_next")).collect():
        topics = offsets.setdefault(row[STORE], {}) if STORE in keys else offsets
        topics.setdefault(row["topic"], {})[str(row["queueId"])] = row["_next"]
    return json_bytes.dumps(offsets).decode() if offsets else "earliest"


def check_columns(out: Path, old: "StructType", new: "StructType") -> None:
    """Raise OtherResult if the columns or types of the old and the new rows differ."""
    old_types, new_types = (
        {field.name: field.dataType.simpleString() for field in schema.fields} for schema in (old, new)
    )
    if different := sorted(name for name in old_types | new_types if old_types.get(name) != new_types.get(name)):
        raise OtherResult(
            f"The type of {different[0]} in {out} is {old_types.get(different[0], 'none')}, in the new rows "
            f"{new_types.get(different[0], 'none')}. Choose another --out."
        )


def check_unchanged(out: Path, manifest: results.Manifest | None) -> None:
    """Raise OtherResult if another run replaced the result that this run continues."""
    if results.manifest_of(out) != manifest:
        raise OtherResult(
            f"Another run changed the result in {out} at the same time. Nothing was appended: run the job again."
        )


def joined(out: Path, made: Mapping[str, results.Table]) -> dict[str, results.Table]:
    """Return the tables of a run with the earlier tables of the same names added in front."""
    manifest = results.manifest_of(out)
    old = {} if manifest is None else manifest.tables
    return {name: _joined(out, old[name], table) if name in old else table for name, table in made.items()}


def _joined(out: Path, old: results.Table, new: results.Table) -> results.Table:
    files = sorted((out / old.path).rglob("*.parquet"))
    if not new.rows and files:
        for empty in (out / new.path).rglob("*.parquet"):
            empty.unlink()
    for file in files:
        target = out / new.path / file.relative_to(out / old.path)
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.link(file, target)
        except OSError:  # a file system without links
            shutil.copyfile(file, target)
    malformed = None if new.malformed is None else new.malformed + (old.malformed or 0)
    return new._replace(rows=old.rows + new.rows, malformed=malformed)
