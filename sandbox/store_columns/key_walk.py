"""The index content that the log implies: hash, position and store time of every key, in log order."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from sandbox.message.string_hash import java_hash
from sandbox.message.sys_flag import TRANSACTION_MASK, TRANSACTION_ROLLBACK
from sandbox.store_columns.log_columns import LogFile, Records
from sandbox.store_columns.property_texts import Texts
from sandbox.store_columns.queue_positions import Longs
from sandbox.store_columns.store_log import Stopped, StoreLog
from sandbox.store_columns.topics import named, topics_in

_UNSIGNED = 0xFFFF_FFFF


class LogKeys(NamedTuple):
    """Expected index entries of a part of the log that ends at `end`, as columns in log order."""

    end: int
    hash: Longs
    physical: Longs
    store_ms: Longs

    def part(self, start: int, stop: int | None = None) -> "LogKeys":
        return LogKeys(self.end, *(column[start:stop] for column in self[1:]))


def keys_between(log: StoreLog, begin: int, end: int) -> Iterator[LogKeys]:
    """Yield the keys of the records that begin in `[begin, end]`."""
    logs = [segment for segment in log.logs if segment.end > begin and segment.start <= end]
    for item in log.walk(logs, begin):
        if not isinstance(item, Stopped):
            file, records = item
            physical = records.at + file.log.start
            if physical[0] > end:
                return
            yield _keys_of(file, records.part((physical >= begin) & (physical <= end)))


def _keys_of(file: LogFile, records: Records) -> LogKeys:
    end = int(file.log.start + records.at[-1] + records.size[-1]) if len(records) else 0
    records = records.part((records.sys_flag & TRANSACTION_MASK) != TRANSACTION_ROLLBACK)
    topics, topic_of = topics_in(file, records)
    is_named = named(topics, topic_of)
    records, topic_of = records.part(is_named), topic_of[is_named]
    heads = np.array([java_hash(f"{topic}#") & _UNSIGNED for topic in topics], np.uint32)
    keys = Texts(file.texts(records)).keys(heads[topic_of] if len(records) else np.zeros(0, np.uint32))
    return LogKeys(end, keys.hash, file.log.start + records.at[keys.row], records.store_ms[keys.row])
