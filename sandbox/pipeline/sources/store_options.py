"""Options of the source `rocketmq-store`; every error is one sentence."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from sandbox.kernel import json_bytes
from sandbox.kernel.errors import StoreError
from sandbox.pipeline.sources.batch_limits import PACE
from sandbox.pipeline.sources.local_directories import PATHS, has_names, local_path, named_directories
from sandbox.pipeline.sources.option_hints import OF_STORE
from sandbox.pipeline.sources.option_values import MIN_PARTITIONS, check_names, listed, meant_columns, number_of
from sandbox.pipeline.sources.records import SOURCE_SCHEMA, STORE
from sandbox.pipeline.sources.source_columns import HEADER_LIST, INCLUDE_HEADERS, INSTANT, with_headers
from sandbox.pipeline.sources.time_bounds import FROM_TIME, TO_TIME
from sandbox.pipeline.sources.topic_pattern import PATTERN, pattern_of
from sandbox.store.reader import StoreReader
from sandbox.store_columns.queue_positions import Wanted

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

STORES = "stores"
NO_STORE = "No store. Set load(DIR), or the option stores as JSON {name: directory}."
DDL = {
    pa.string(): "STRING",
    pa.int32(): "INT",
    pa.int64(): "BIGINT",
    pa.binary(): "BINARY",
    pa.map_(pa.string(), pa.string()): "MAP<STRING, STRING>",
    INSTANT: "TIMESTAMP",
    HEADER_LIST: "ARRAY<STRUCT<key: STRING, value: BINARY>>",
}


class Root(NamedTuple):
    """A store directory.

    `name` is None for the only store of a read, which has no column for it.
    """

    name: str | None
    path: Path


def is_named(options: Mapping[str, str]) -> bool:
    """Return True if the stores of a read have names, which are the column `store`."""
    return has_names(options, STORES)


def roots_of(options: Mapping[str, str]) -> list[Root]:
    """Return the stores of `load(DIR)`, `load([DIR, DIR])` or the option `stores`.

    Raises ValueError, and StoreError for a directory without a store.
    """
    if not is_named(options):
        if not options.get("path"):
            raise ValueError(NO_STORE)
        return [Root(None, store_at(local_path(options["path"])))]
    if options.get("path"):
        raise ValueError("Set load(DIR) or the option stores, not both.")
    return [Root(name, store_at(path)) for name, path in sorted(named_directories(options, STORES).items())]


def store_at(path: Path) -> Path:
    """Return the path.  Raises StoreError if it has no store."""
    try:
        StoreReader(path).close()
    except StoreError:
        raise StoreError(
            f"{path} is not a store: it has no directory commitlog. Choose the store directory of a broker."
        ) from None
    return path


TOPICS = ("topic", "subscribe", PATTERN)
NAMES = (
    "path",
    STORES,
    "columns",
    *TOPICS,
    "queueId",
    "startingOffsets",
    "endingOffsets",
    *FROM_TIME,
    *TO_TIME,
    INCLUDE_HEADERS,
    *PACE,
    MIN_PARTITIONS,
    "failOnDataLoss",
    "skippedLogs",
)


def schema_of(options: Mapping[str, str]) -> pa.Schema:
    """Return the columns that the options choose.  Raises ValueError for an unknown option or column."""
    check_names(options, NAMES, OF_STORE, PATHS)
    store = [pa.field(STORE, pa.string())] if is_named(options) else []
    return pa.schema([*store, *(SOURCE_SCHEMA.field(name) for name in columns_of(options))])


def ddl_of(columns: pa.Schema) -> str:
    """Return the columns of messages in Spark's DDL."""
    return ", ".join(f"{field.name} {DDL[field.type]}" for field in columns)


def columns_in(schema: "StructType | None", options: Mapping[str, str]) -> list[str]:
    """Return the columns of a schema (with `store`), or without a schema those of the options.  Raises ValueError."""
    if schema is None:
        return [STORE] * is_named(options) + columns_of(options)
    return fields_in(schema, SOURCE_SCHEMA, {STORE: "STRING"} if is_named(options) else {})


def fields_in(schema: "StructType", known: pa.Schema, more: Mapping[str, str] | None = None) -> list[str]:
    """Return the names in a user's schema.  Raises ValueError for a column that is unknown or has another type."""
    types = {name: DDL[known.field(name).type] for name in known.names} | dict(more or {})
    for field in schema.fields:
        if (kind := types.get(field.name)) is None:
            near = meant_columns([field.name], types)
            raise ValueError(f"No column {field.name}.{near} Columns are: {', '.join(types)}.")
        if "".join(kind.split()).lower() != field.dataType.simpleString():
            raise ValueError(
                f"Column {field.name} is {kind}, not {field.dataType.simpleString().upper()}. Read it as "
                "that type and cast it."
            )
    return [field.name for field in schema.fields]


def columns_of(options: Mapping[str, str]) -> list[str]:
    """Return the message columns that the options choose, without `store`.  Raises ValueError for an unknown one."""
    asked = [name for name in listed(options, "columns") if name != STORE or not is_named(options)]
    return with_headers(named_columns(asked, SOURCE_SCHEMA), SOURCE_SCHEMA, options)


def named_columns(asked: list[str], known: pa.Schema) -> list[str]:
    """Return the requested columns.  Raises ValueError for an unknown one."""
    if unknown := [name for name in asked if name not in known.names]:
        near = meant_columns(unknown, known.names)
        raise ValueError(f"No column {', '.join(unknown)}.{near} Columns are: {', '.join(known.names)}.")
    return asked


def wanted_of(options: Mapping[str, str]) -> Wanted:
    """Return the queues that the options choose.  Raises ValueError for an invalid number or pattern."""
    if len(names := [name for name in TOPICS if name in options]) > 1:
        raise ValueError(f"Set {' or '.join(names)}, not {'both' if len(names) == 2 else 'all'}.")
    ids = frozenset(number_of("queueId", number) for number in listed(options, "queueId"))
    topics = frozenset(listed(options, "topic") + listed(options, "subscribe"))
    if "subscribe" in options and not topics:
        raise ValueError("Option subscribe names no topic. Write topics, separated by commas.")
    pattern = pattern_of(options[PATTERN]) if PATTERN in options else None
    return Wanted(topics or None, ids or None, pattern, "subscribe" in options)


Skipped = Mapping[str, Mapping[int, int]]
"""By store (empty for the only one) and start of a log file: up to where it is not read."""


def skipped_of(options: Mapping[str, str], roots: Sequence[Root]) -> Skipped:
    """Return the parts of logs in the option skippedLogs, by store.

    The option is `[[start, end], ...]` in positions of the log, or such lists by store.  Its caller reads these
    messages elsewhere (`sealed.reading`).  Raises ValueError.
    """
    if (text := options.get("skippedLogs")) is None:
        return {}
    try:
        value = json_bytes.loads(text)
        lists = value if is_named(options) else {"": value}
        skipped = {name: {int(start): int(end) for start, end in ranges} for name, ranges in lists.items()}
    except (json_bytes.JSONDecodeError, TypeError, ValueError, AttributeError) as error:
        shape = "{store: [[start, end], ...]}" if is_named(options) else "[[start, end], ...]"
        raise ValueError(f"Option skippedLogs must be JSON {shape}: {error}.") from None
    if unknown := sorted(set(skipped) - {root.name or "" for root in roots}):
        raise ValueError(f"Option skippedLogs names store {unknown[0]}, which does not exist.")
    return skipped
