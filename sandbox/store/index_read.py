"""Reads by key: the records that the index names."""

from sandbox.message import record
from sandbox.store.commit_log import CommitLog
from sandbox.store.index_service import IndexService
from sandbox.store.results import QueryResult

MAX_QUERY_BYTES = 12 * 1024 * 1024  # in one answer, which must fit into a frame
_ROUNDS = 3


def read_by_key(
    index: IndexService, log: CommitLog, topic: str, key: str, max_count: int, begin_ms: int, end_ms: int
) -> QueryResult:
    """Return records by key, ascending, with those of other keys of the same hash, which the client drops.

    RocketMQ: `DefaultMessageStore.queryMessage`.
    """
    last_ms = end_ms
    last_update = (0, 0)
    for _ in range(_ROUNDS):
        walk = index.query(topic, key, max_count, begin_ms, last_ms)
        if not walk.found:
            break
        last_update = (walk.last_update_ms, walk.last_update_physical)
        offsets = sorted(walk.found)
        records = log.read_records(offsets, MAX_QUERY_BYTES)
        if records:
            return QueryResult(records, *last_update)
        first = log.store_time(offsets[0], record.FIXED_BYTES)
        if first is None or first < begin_ms:
            break
        last_ms = first
    return QueryResult([], *last_update)


def has_key(log: CommitLog, physical_offset: int, topic: str, key: str) -> bool:
    """Return True if the record at this position is a message of the topic with the key."""
    message = log.read_message(physical_offset)
    if message is None or message.topic != topic:
        return False
    return key in message.properties.get("KEYS", "").split(" ") or message.properties.get("UNIQ_KEY") == key
