"""Answers to pulls as Arrow columns, by the same code as the records of a store."""

from collections.abc import Iterator, Sequence
from struct import Struct
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from sandbox.kernel.errors import CorruptRecord
from sandbox.message.queue import MessageQueue
from sandbox.message.record import FIXED_BYTES
from sandbox.pipeline.sources.records import SOURCE_SCHEMA, batches_at
from sandbox.store_columns.queue_positions import Places

BROKER = "broker"
SCHEMA = pa.schema(
    [
        SOURCE_SCHEMA.field("topic"),
        (BROKER, pa.string()),
        *(field for field in SOURCE_SCHEMA if field.name not in ("topic", "tagsCode")),
    ]
)
"""One row per message, as of `rocketmq-store`; a pull says no `tagsCode`."""
_HEAD = Struct(">i16xqq")  # TOTALSIZE, QUEUEOFFSET, PHYSICALOFFSET


class Record(NamedTuple):
    """A record of a pull's answer: its position in `body`, in its queue and in its log."""

    at: int
    size: int
    queue_offset: int
    physical_offset: int


class Pulled(NamedTuple):
    """The requested records of one answer to a pull."""

    body: bytes
    records: list[Record]


def records_in(body: bytes) -> list[Record]:
    """Return the records in the order of the response.  Raises CorruptRecord if the body is no sequence of records."""
    records: list[Record] = []
    at, end = 0, len(body)
    while at < end:
        size, queue_offset, physical = _HEAD.unpack_from(body, at) if at + FIXED_BYTES <= end else (0, 0, 0)
        if size < FIXED_BYTES or at + size > end:
            raise CorruptRecord(f"a broker's response of {end} bytes has no record at byte {at}")
        records.append(Record(at, size, queue_offset, physical))
        at += size
    return records


def rows(queue: MessageQueue, pulled: Sequence[Pulled], columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Yield the records as Arrow batches: one, or more if bodies are large.

    Raises CorruptRecord for a record that is not the queue's.
    """
    begins = np.cumsum([0, *(len(answer.body) for answer in pulled)])
    positions = np.array(
        [
            (int(begin) + record.at, *record[1:])
            for begin, answer in zip(begins, pulled, strict=False)
            for record in answer.records
        ],
        np.int64,
    ).reshape(-1, 4)
    none = np.zeros(len(positions), np.int64)
    places = Places([(queue.topic, queue.queue_id)], positions[:, 3], positions[:, 1], none, none, positions[:, 2])
    own = [name for name in columns if name != BROKER] or ["queueOffset"]  # one at least: the number of rows is needed
    for batch in batches_at(b"".join(answer.body for answer in pulled), positions[:, 0], places, own):
        if BROKER in columns:
            batch = batch.append_column(BROKER, pa.repeat(pa.scalar(queue.broker), len(batch)))
        yield batch.select(list(columns))
