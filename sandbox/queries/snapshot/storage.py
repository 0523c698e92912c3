"""The last records of the log, and the index (channels `store/<slug>/<node>`, `index/<slug>/<node>`)."""

from sandbox.cluster.broker_node import BrokerNode
from sandbox.cluster.cluster import Cluster
from sandbox.queries.rows.storage import Index, IndexedKey, IndexEntry, LogPositions, Store, TapeRecord
from sandbox.queries.snapshot.tape import topics_in_colour_order
from sandbox.queries.snapshot_cache import cache_of
from sandbox.store.message_store import MessageStore

LAST_ENTRIES = 64
NEWEST_KEYS = 12


def read_store(cluster: Cluster, node: BrokerNode) -> Store:
    store = node.running.store
    return {
        "log": log_row(store),
        "files": {file.name: {"bytes": str(file.size), "wrote": str(file.wrote)} for file in store.log.files.files},
        "records": cache_of(cluster).tape(node.node).read(store),
        "topics": topics_in_colour_order(store),
    }


def log_row(store: MessageStore) -> LogPositions:
    return {
        "min": str(store.min_physical_offset),
        "max": str(store.max_physical_offset),
        "flushed": str(store.flushed_offset),
        "dispatched": str(store.dispatched_offset),
        "file_bytes": str(store.config.commit_log_file_bytes),
    }


def read_index(cluster: Cluster, node: BrokerNode) -> Index:
    store = node.running.store
    files = store.index.files
    return {
        "keys": _newest_keys(cache_of(cluster).tape(node.node).read(store)),
        "files": {
            file.name: {
                "begin_ms": file.begin_ms,
                "end_ms": file.end_ms,
                "begin_physical": str(file.begin_physical),
                "end_physical": str(file.end_physical),
                "slots_used": file.slots_used,
                "count": file.index_count,
                "slots": file.slots,
                "entries": file.entries,
            }
            for file in files
        },
        "entries": _last_entries(node),
    }


def _newest_keys(records: dict[str, TapeRecord]) -> list[IndexedKey]:
    """Return the keys of the log's last records: each key once, the newest first.

    A message may have several keys, separated by blanks.
    """
    keys = {
        (record["topic"], key): None
        for record in reversed(records.values())
        if record["kind"] == "normal"
        for key in (record["key"] or "").split()
    }
    return [{"topic": topic, "key": key} for topic, key in list(keys)[:NEWEST_KEYS]]


def _last_entries(node: BrokerNode) -> dict[str, IndexEntry]:
    """Return the newest entries of all index files, oldest first."""
    entries: dict[str, IndexEntry] = {}
    left = LAST_ENTRIES
    for file in reversed(node.running.store.index.files):
        first = max(1, file.index_count - left)
        rows: dict[str, IndexEntry] = {}
        for no in range(first, file.index_count):
            entry = file.entry(no)
            if entry is not None:
                rows[f"{file.name}:{no}"] = {
                    "hash": entry.hash,
                    "physical": str(entry.physical_offset),
                    "time_diff_s": entry.time_diff_s,
                    "previous": entry.previous,
                    "slot": entry.hash % file.slots,
                }
        entries = {**rows, **entries}
        left -= len(rows)
        if left <= 0:
            break
    return entries
