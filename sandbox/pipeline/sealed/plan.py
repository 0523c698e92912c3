"""The choice of log files that are sealed or can be: by names, file states and the queue units that point into them."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from sandbox.pipeline.sealed.entries import Entry, entries_in, why_not
from sandbox.pipeline.sealed.units import units_by_log
from sandbox.pipeline.sources import store_offsets as offsets
from sandbox.pipeline.sources.store_options import Root
from sandbox.store.reader import StoreReader
from sandbox.store.reader_listing import files_in, length_of
from sandbox.store_audit.log_audit import Place
from sandbox.store_columns.log_columns import LogFile
from sandbox.store_columns.queue_positions import EVERYTHING, Bounds, Log, log_files

LIVE = "the broker still writes to it"
TRIMMED = "its queues begin or end within it"
ODD_LENGTH = "it is longer or shorter than the other files of the log"


class Looked(NamedTuple):
    """A log file and its sealed state.

    `why`: the reason why its Parquet file must not be read; None if it may, as `entry` describes it.  `is_empty`: no
    unit points into the log file.
    """

    log: Log
    entry: Entry | None
    why: str | None
    is_empty: bool

    @property
    def is_sealed(self) -> bool:
        return self.why is None


class Task(NamedTuple):
    """A log file to seal into `directory`, with its store as it was when the work was divided."""

    place: Place
    log: Log
    directory: str
    is_rolled: bool  # others follow; False: the last one of a closed store

    @property
    def log_bytes(self) -> int:
        return self.log.end - self.log.start


def is_closed(root: Path) -> bool:
    """Return True if no broker has the store open, by its files and the locks on this machine.  Raises StoreError."""
    with StoreReader(root) as reader:
        return not reader.aborted and reader.lock().holder == 0


def look(root: Path, directory: Path) -> list[Looked]:
    """Return every file of the log with its sealed state.  Raises StoreError as a reader of the store does.

    A log file is not read from Parquet if some rows are outside the bounds of their queues.  Retention may have
    trimmed a queue, or its end may be damaged; the store's reader would leave those rows out.
    """
    with StoreReader(root):
        pass
    entries = entries_in(directory)
    bounds = _bounds(root) if entries else {}
    looked = []
    for log, units in units_by_log(root, log_files(root)):
        entry = entries.get(log.start)
        reason = "it is not sealed" if entry is None else why_not(entry, directory, log, units)
        if reason is None and not units.within(bounds):
            reason = TRIMMED
        looked.append(Looked(log, entry, reason, not units.messages))
    return looked


def sealed_of(root: Path, directory: Path) -> list[Entry]:
    """Return the entries of the sealed files to read instead of their log files.  Raises StoreError."""
    return [item.entry for item in look(root, directory) if item.is_sealed and item.entry is not None]


def is_whole(root: Path, looked: Sequence[Looked]) -> bool:
    """Return True if the store is closed and its sealed files contain all its messages."""
    return is_closed(root) and all(item.is_sealed or item.is_empty for item in looked)


def tasks_of(name: str, root: Path, directory: Path, looked: Sequence[Looked]) -> tuple[list[Task], dict[int, str]]:
    """Return a task for each log file that can be sealed and is not, and by log start the reason for each other one.

    All but the last file that begins with a record are rolled.  Brokers create later files before they need them.
    """
    files, _ = files_in(root / "commitlog")
    size = length_of(files)
    sizes = {file.start: file.size_bytes for file in files}
    logs = tuple(Log(file.path, file.start, min(file.end, file.start + size)) for file in files)
    store = Place(name, root, logs, not is_closed(root), None, None, ())
    last = _last_written(logs)
    tasks, left = [], {}
    for log, reason in ((item.log, item.why) for item in looked if not item.is_sealed):
        if reason == TRIMMED:
            left[log.start] = reason
        elif sizes.get(log.start) != size or log.end != log.start + size:
            left[log.start] = ODD_LENGTH
        elif last is not None and (log.start < last or (log.start == last and not store.open)):
            tasks.append(Task(store, log, str(directory), log.start < last))
        else:
            left[log.start] = LIVE
    return tasks, left


def _last_written(logs: Sequence[Log]) -> int | None:
    """Return the start of the last log file that begins with a record, or None."""
    for log in reversed(logs):
        try:
            if LogFile(log).holds(0):
                return log.start
        except FileNotFoundError:
            continue
    return None


def _bounds(root: Path) -> Bounds:
    """Return the first and end offset of each queue, as a read of the whole store has them."""
    return {
        (queue.topic, queue.queue_id): (extent.first, extent.end)
        for queue, extent in offsets.extents([Root(None, root)], EVERYTHING).items()
    }
