"""The messages of stores as a table: sealed log files by Spark's Parquet reader, the rest by `rocketmq-store`.

The rows are those of `rocketmq-store` alone, sealed or not.  The choice of sealed files is made when the table is
made; the source plans its part when the table is used.  Between the two a broker may continue: the source skips the
sealed records, but not those written to their log file since.
"""

import re
from collections.abc import Mapping, Sequence
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from sandbox.kernel import json_bytes
from sandbox.pipeline.sealed.plan import is_whole, look
from sandbox.pipeline.sources.local_directories import local_path
from sandbox.pipeline.sources.option_values import listed, number_of
from sandbox.pipeline.sources.records import SCHEMA, STORE
from sandbox.pipeline.sources.store_options import DDL, named_columns, store_at
from sandbox.pipeline.spark.read_here import table_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

MOST_SEALED_STORES = 64  # of one read: each is a part of the query's plan, which gets slow; others are read as they are
ROWS = ", ".join(f"{field.name} {DDL[field.type]}" for field in SCHEMA)
NARROWED = {"topic", "queueId"}  # options for a Parquet reader; with others the source reads everything
VERIFY = "parquet.page.verify-checksum.enabled"  # of Spark's reader: off by default, and damaged pages would be rows
_GLOB = re.compile(r"([\\*?{}\[\]])")


class Parts(NamedTuple):
    """The sealed part of one store.

    `files`: Parquet files to read.  `skipped`: the parts of the log that they replace.  `is_whole`: nothing else is
    to be read.
    """

    files: list[Path]
    skipped: list[tuple[int, int]]
    is_whole: bool


NOTHING = Parts([], [], False)


def parts_of(root: Path, directory: Path | None) -> Parts:
    """Return the sealed part of the store.  Raises StoreError as a reader of the store does."""
    if directory is None or not directory.is_dir():
        return NOTHING
    looked = look(root, directory)
    entries = [item.entry for item in looked if item.is_sealed and item.entry is not None]
    return Parts(
        [directory / entry.file for entry in entries],
        [(entry.log_start, entry.sealed_end) for entry in entries],
        bool(entries) and is_whole(root, looked),
    )


def messages(
    session: "SparkSession",
    stores: Mapping[str, Path | str],
    sealed: Mapping[str, Path | str],
    columns: Sequence[str] | None = None,
    options: Mapping[str, str] | None = None,
    *,
    named: bool = False,
) -> "DataFrame":
    """Return one row per message of these stores, with `columns` in their order (default: all stored ones).

    `sealed`: the directory of sealed files by store.  `named`: add a first column `store`; without it there must be
    exactly one store.  `options`: those of `rocketmq-store`.  Raises ValueError and StoreError as that source does.
    """
    roots = {name: local_path(root) for name, root in stores.items()}
    files = {name: local_path(directory) for name, directory in sealed.items()}
    if not named and len(stores) != 1:
        raise ValueError(f"Rows of {len(stores)} stores need a column with the name of the store.")
    requested = dict(options or {})
    names = named_columns(list(columns or ()), SCHEMA) or list(SCHEMA.names)
    parts = _parts(roots, files) if set(requested) <= NARROWED else dict.fromkeys(roots, NOTHING)
    tables = []
    live = {name: root for name, root in roots.items() if not parts[name].is_whole}
    if live:  # first, as a task of the log takes longest
        skipped = {name: parts[name].skipped for name in live if parts[name].skipped}
        tables.append(_of_logs(session, live, skipped, names, requested, named=named))
    tables += [
        _of_files(session, name if named else None, part.files, names, requested)
        for name, part in parts.items()
        if part.files
    ]
    return reduce(lambda table, other: table.unionAll(other), tables)


def _parts(stores: Mapping[str, Path], sealed: Mapping[str, Path]) -> dict[str, Parts]:
    parts: dict[str, Parts] = {}
    for name, root in sorted(stores.items()):
        has_room = sum(bool(part.files) for part in parts.values()) < MOST_SEALED_STORES
        parts[name] = parts_of(store_at(root), sealed.get(name)) if has_room else NOTHING
    return parts


def _of_files(
    session: "SparkSession",
    store: str | None,
    files: Sequence[Path],
    columns: Sequence[str],
    options: Mapping[str, str],
) -> "DataFrame":
    from pyspark.sql import functions as f

    rows = session.read.schema(ROWS).option(VERIFY, "true").parquet(*(_GLOB.sub(r"\\\1", str(file)) for file in files))
    if topics := listed(options, "topic"):
        rows = rows.where(f.col("topic").isin(*topics))
    if ids := listed(options, "queueId"):
        rows = rows.where(f.col("queueId").isin(*(number_of("queueId", text) for text in ids)))
    name = [] if store is None else [f.lit(store).alias(STORE)]
    return rows.select(*name, *columns)


def _of_logs(
    session: "SparkSession",
    stores: Mapping[str, Path],
    skipped: Mapping[str, list[tuple[int, int]]],
    columns: Sequence[str],
    options: Mapping[str, str],
    *,
    named: bool,
) -> "DataFrame":
    from sandbox.pipeline.sources.store import StoreSource

    options = {**options, "columns": ",".join(columns)}
    if named:
        options["stores"] = json_bytes.dumps({name: str(root) for name, root in stores.items()}).decode()
    else:
        [options["path"]] = map(str, stores.values())
    if skipped:
        value = skipped if named else next(iter(skipped.values()))
        options["skippedLogs"] = json_bytes.dumps(value).decode()
    return table_of(session, StoreSource, options)
