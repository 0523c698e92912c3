"""The sealing of one log file: audit it, write its rows as Parquet, then its entry once the rows are on the disk.

A run killed at any step leaves a complete entry or none.  Files are written under a draft's name, synced, and
renamed, the rows before the entry.
"""

import os
import platform
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from sandbox.pipeline.sealed.entries import (
    DRAFT,
    VERSION,
    Entry,
    as_bytes,
    entry_path,
    footer_crc,
    rows_name,
    sha256_of,
    state_of,
)
from sandbox.pipeline.sealed.plan import Task
from sandbox.pipeline.sealed.units import units_of
from sandbox.pipeline.sources.records import SCHEMA, batches
from sandbox.store_audit.log_audit import audit_log
from sandbox.store_audit.piece_results import Part
from sandbox.store_columns.queue_positions import queues_of, sorted_places, unit_parts

ROW_GROUP_ROWS = 1 << 20
ROW_GROUP_BYTES = 128 << 20  # in memory: Spark's task, and all of a log file of that size
PAGE_BYTES = 1 << 20
DICTIONARIES = [
    "topic",
    "queueId",
    "tags",
    "bornHost",
    "storeHost",
    "reconsumeTimes",
    "sysFlag",
    "properties.key_value.key",
]
STATISTICS = ["topic", "queueId", "queueOffset", "physicalOffset", "bornTimestamp", "storeTimestamp"]  # for filters
TICK_NS = 20_000_000  # of the clock that a file system stamps files with, and room; HZ=100 has 10 ms

SEALED, REFUSED = "sealed", "refused"


class Outcome(NamedTuple):
    """The result for one log file.

    `state`: `sealed`, or `refused` for the reason `why`; a refused log file is read from the log as before.
    """

    store: str
    log_start: int
    rows: int
    file_bytes: int
    state: str
    why: str | None = None


def seal(task: Task) -> Outcome:
    """Seal one log file and return the outcome.

    A file that cannot be sealed is refused and read as before; only errors that end the process are raised.
    """
    drafts: list[Path] = []
    try:
        return _seal(task, drafts)
    except _Refused as error:
        reason = str(error)
    except FileNotFoundError:
        reason = "it was deleted during the run"
    except OSError as error:
        reason = f"its Parquet file cannot be written: {(error.strerror or str(error)).lower()}"
    for draft in drafts:
        draft.unlink(missing_ok=True)
    return Outcome(task.place.name, task.log.start, 0, 0, REFUSED, reason)


class _Refused(Exception):
    """Raised with the reason why a log file is not sealed."""


def _seal(task: Task, drafts: list[Path]) -> Outcome:
    log, directory = task.log, Path(task.directory)
    wait_a_tick(log.path)
    before = state_of(log.path)
    sha256 = sha256_of(log.path)
    _must_be_sound(task, audit_log(task.place, (log,)))
    queues = queues_of(task.place.root)
    parts = unit_parts(task.place.root, queues, log.start, log.end)
    [units] = units_of(queues, parts, [log])
    places = sorted_places(queues, parts)
    file = directory / rows_name(log.start, sha256, units.crc)
    draft = _draft_of(file, drafts)
    rows = 0
    with pq.ParquetWriter(
        draft,
        SCHEMA,
        compression="none",
        use_dictionary=DICTIONARIES,
        write_statistics=STATISTICS,
        data_page_size=PAGE_BYTES,
        write_page_index=True,
        write_page_checksum=True,
        store_schema=False,
    ) as writer:
        for group in _groups(batches(log, places, SCHEMA.names)):
            writer.write_table(group, row_group_size=ROW_GROUP_ROWS)
            rows += len(group)
    if rows != len(places):
        raise _Refused(f"{len(places) - rows} queue units do not point to a record of their queue")
    if state_of(log.path) != before:
        raise _Refused("it was changed during the run")
    file_bytes, footer_at = draft.stat().st_size, _pages_end(draft)
    footer = footer_crc(draft, footer_at)
    _put(draft, file)
    end = log.end if task.is_rolled else int((places.physical + places.size).max(initial=log.start))
    entry = Entry(
        VERSION, log.start, log.end, end, before, sha256, units.crc, file.name, file_bytes, footer_at, footer, rows
    )
    path = entry_path(directory, log.start)
    draft = _draft_of(path, drafts)
    draft.write_bytes(as_bytes(entry))
    _put(draft, path)
    return Outcome(task.place.name, log.start, rows, file_bytes, SEALED)


def wait_a_tick(path: str) -> None:
    """Wait until a write to the file would change its times, which have the resolution of one tick."""
    left_ns = TICK_NS - (time.time_ns() - state_of(path).ctime_ns)
    if 0 < left_ns <= TICK_NS:
        time.sleep(left_ns / 1e9)


def _must_be_sound(task: Task, part: Part) -> None:
    """Raise _Refused if the log file has audit findings, or records that are not yet in their queues.

    Such a file is read by the reader of damaged files instead.
    """
    if part.found:
        raise _Refused(f"the audit reports: {part.found[0].says}")
    unexplained = [stop for stop in part.stops if task.is_rolled or part.pointed_at or not stop.untouched]
    if unexplained:
        raise _Refused(
            f"the audit reports no record at {unexplained[0].position - task.log.start}: {unexplained[0].why}"
        )
    if part.counts.get("not_dispatched"):
        raise _Refused("its records are not yet in their queues")


def _pages_end(path: Path) -> int:
    """Return the byte position after the last page of a Parquet file."""
    metadata = pq.read_metadata(path)
    ends = [0]
    for group in map(metadata.row_group, range(metadata.num_row_groups)):
        for column in map(group.column, range(group.num_columns)):
            start = column.dictionary_page_offset if column.has_dictionary_page else column.data_page_offset
            ends.append(start + column.total_compressed_size)
    return max(ends)


def _groups(made: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Yield tables of consecutive batches, each as large as one row group."""
    held: list[pa.RecordBatch] = []
    for batch in made:
        if held and (
            sum(map(len, held)) + len(batch) > ROW_GROUP_ROWS
            or sum(held_batch.nbytes for held_batch in held) + batch.nbytes > ROW_GROUP_BYTES
        ):
            yield pa.Table.from_batches(held)
            held = []
        held.append(batch)
    if held:
        yield pa.Table.from_batches(held)


def _draft_of(path: Path, drafts: list[Path]) -> Path:
    """Return a draft path that no other process writes, and add it to `drafts`.

    If Spark takes an executor for lost, its task may continue beside the one that replaces it: on another machine or
    in another container, with the same process id.
    """
    draft = path.with_name(f"{DRAFT}{path.name}.{platform.node()}.{os.getpid()}")
    drafts.append(draft)
    return draft


def _put(draft: Path, path: Path) -> None:
    """Rename the draft to its final path, synced before and after, so that a power cut loses nothing."""
    _sync(draft)
    os.replace(draft, path)
    _sync(path.parent)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
