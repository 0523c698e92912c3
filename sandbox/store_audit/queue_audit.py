"""Audit of consume queue files: each unit points to a record of its queue and offset, or to a deleted one."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sandbox.store.config import CONSUME_QUEUE_UNIT_BYTES as UNIT_BYTES
from sandbox.store.config import FILLER_BYTES
from sandbox.store.reader_files import OpenFiles
from sandbox.store_audit.findings import Finding, orphan_unit_text
from sandbox.store_audit.log_audit import Place
from sandbox.store_audit.lost_ranges import Lost
from sandbox.store_audit.piece_results import Notes, Part
from sandbox.store_columns.queue_positions import Longs, log_files
from sandbox.store_columns.queue_units import UNITS_AT_ONCE, QueueUnits
from sandbox.store_columns.store_log import StoreLog


class QueueFile(NamedTuple):
    """A consume queue file; `[start, end)` are bytes of the queue."""

    topic: str
    queue_id: int
    start: int
    end: int


def audit_queues(store: Place, files: Sequence[QueueFile], lost: Lost) -> Part:
    """Audit these consume queue files and return the findings and counts.

    `lost`: missing parts of the log, from the audit of the log.
    """
    notes, log, into = Notes(), StoreLog(store.root, store.logs), dict[int, tuple[int, int]]()
    with OpenFiles() as opened:
        for file in files:
            queue = QueueUnits(store.root, file.topic, file.queue_id, opened, store.queue_file_bytes)
            start, end = file.start // UNIT_BYTES, file.end // UNIT_BYTES
            for begin in range(start, min(queue.end, end), UNITS_AT_ONCE):
                stop = min(begin + UNITS_AT_ONCE, end)
                _check(notes, store, log, queue, np.arange(begin, stop), lost, into)
    return notes.part(store.name, into=into)


def _check(
    notes: Notes,
    store: Place,
    log: StoreLog,
    queue: QueueUnits,
    offsets: Longs,
    lost: Lost,
    into: dict[int, tuple[int, int]],
) -> None:
    units = queue.at(offsets)
    real = (units["size"] > 0) & (units["size"] != FILLER_BYTES)
    real &= (units["physical"] < 0) | (units["physical"] >= log.start)
    units, offsets = units[real], offsets[real]
    notes.counts["queue_units"] += len(units)
    home = log.leads_home(units, offsets, queue.topic, queue.queue_id)
    for begin, end in lost.stretches:
        home &= (units["physical"] < begin) | (units["physical"] >= end)
    rows = np.flatnonzero(~home)
    moved = _moved(store, queue, units[rows], offsets[rows]) if store.open else np.zeros(len(rows), bool)
    for row, is_moved in zip(rows.tolist(), moved.tolist(), strict=True):
        offset, physical = int(offsets[row]), int(units["physical"][row])
        if (queue.topic, queue.queue_id, offset) in lost.named:
            continue
        stretch = lost.stretch_of(physical)
        if stretch is not None:
            into[stretch] = into.get(stretch, (0, 0))[0] + 1, 0
        elif is_moved:
            notes.counts["queue_units"] -= 1
        else:
            notes.add(
                Finding(
                    "orphan_unit",
                    *queue.file_of(offset),
                    orphan_unit_text(offset, physical),
                    queue.topic,
                    queue.queue_id,
                    offset,
                )
            )


def _moved(store: Place, queue: QueueUnits, units: NDArray[Any], offsets: Longs) -> NDArray[np.bool_]:
    """Return a mask of the units whose records were written, or deleted, since the audit began."""
    log = StoreLog(store.root, log_files(store.root))
    physical = units["physical"]
    deleted: NDArray[np.bool_] = (physical >= 0) & (physical < log.start)
    return deleted | log.leads_home(units, offsets, queue.topic, queue.queue_id)
