"""Counts of the keys of records that no index file covers, by log file (`sandbox.store_audit.index_cover`)."""

from collections.abc import Iterator, Sequence

import numpy as np

from sandbox.store.reader_files import OpenFiles
from sandbox.store.reader_index import index_files
from sandbox.store_audit.index_cover import NO_KEYS, NOT_INDEXED, Keys, Stretch, readable, uncovered
from sandbox.store_audit.log_audit import Place
from sandbox.store_audit.piece_results import Notes, Part
from sandbox.store_columns.key_walk import keys_between
from sandbox.store_columns.queue_positions import Log
from sandbox.store_columns.store_log import StoreLog


def stretches_of(store: Place) -> list[Stretch]:
    """Return the log ranges that no index file covers, from the headers and last entries of the index files alone."""
    with OpenFiles() as opened:
        files, faults = readable(index_files(store.root / "index", opened, store.index_slots), in_use=store.open)
        return uncovered(files, faults.keys(), log_start=store.logs[0].start if store.logs else 0, in_use=store.open)


def logs_of(store: Place, stretches: Sequence[Stretch]) -> list[Log]:
    """Return the log files that overlap one of the stretches."""
    return [log for log in store.logs if any(gap.begin < log.end and gap.end > log.start for gap in stretches)]


def audit_cover(store: Place, logs: Sequence[Log], stretches: Sequence[Stretch]) -> Part:
    """Count the keys of these log files in each stretch.

    The counts are in `uncovered` of the result.
    """
    log, uncovered_keys = StoreLog(store.root, store.logs), dict[Stretch, Keys]()
    for segment in logs:
        for stretch in stretches:
            low, high = max(stretch.begin, segment.start), min(stretch.end, segment.end)
            for keys in _keys(log, low, high):
                uncovered_keys[stretch] = uncovered_keys.get(stretch, NO_KEYS) + keys
    return Notes().part(store.name, uncovered=uncovered_keys)


def has_keys(log: StoreLog, stretch: Stretch) -> bool:
    return any(keys.number for keys in _keys(log, stretch.begin, stretch.end))


def torn_at(log: StoreLog, stretches: Sequence[Stretch], begin: int, end: int) -> set[int]:
    """Return the positions of the records at the edges of an index file whose keys a missing file may hold in part.

    The index file covers the log from `begin` to `end`; the missing file would be beside it.
    """
    return {
        edge
        for stretch in stretches
        if stretch.kind != NOT_INDEXED and set(stretch.edges) & {begin, end} and has_keys(log, stretch)
        for edge in stretch.edges
    }


def _keys(log: StoreLog, begin: int, end: int) -> Iterator[Keys]:
    """Yield the keys of records that begin in `[begin, end)`.

    The walk starts at the record before `begin`, because its position is known.
    """
    if begin >= end:
        return
    for keys in keys_between(log, max(log.start, begin - 1), end - 1):
        inside = keys.physical >= begin
        if inside.any():
            pairs = np.unique(np.stack([keys.physical[inside], keys.hash[inside]]), axis=1)  # a key twice is one entry
            yield Keys(pairs.shape[1], int(pairs[0, 0]), int(pairs[0, -1]))
