"""The division of the audit of many stores into pieces, by names and sizes of files alone."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from sandbox.store.reader_index import NAME_DIGITS
from sandbox.store.reader_listing import files_in, length_of, named_files_in, queues_in
from sandbox.store.reader_lock import lock_of
from sandbox.store_audit.around import around, queue_file_bytes
from sandbox.store_audit.index_audit import audit_index
from sandbox.store_audit.index_cover import Stretch
from sandbox.store_audit.log_audit import Place, audit_log
from sandbox.store_audit.lost_ranges import Lost
from sandbox.store_audit.piece_results import Part
from sandbox.store_audit.queue_audit import QueueFile, audit_queues
from sandbox.store_audit.uncovered_keys import audit_cover, logs_of, stretches_of
from sandbox.store_columns.packing import packed
from sandbox.store_columns.queue_positions import Log

PIECE_BYTES = 64 * 1024 * 1024  # of log files; smaller files share a piece
QUEUE_PIECE_BYTES = 8 * 1024 * 1024  # 400,000 units, each of which reads the log


class LogPiece(NamedTuple):
    """Piece of the audit: some consecutive files of a store's log."""

    place: Place
    logs: tuple[Log, ...]

    def run(self) -> Part:
        return audit_log(self.place, self.logs)


class QueuePiece(NamedTuple):
    """Piece of the audit: some consume queue files of a store."""

    place: Place
    files: tuple[QueueFile, ...]
    lost: Lost

    def run(self) -> Part:
        return audit_queues(self.place, self.files, self.lost)


class IndexPiece(NamedTuple):
    """Piece of the audit: one index file of a store."""

    place: Place
    name: str
    lost: Lost

    def run(self) -> Part:
        return audit_index(self.place, (self.name,), self.lost)


class CoverPiece(NamedTuple):
    """Piece of the audit: log files with parts that no index file covers."""

    place: Place
    logs: tuple[Log, ...]
    stretches: tuple[Stretch, ...]

    def run(self) -> Part:
        return audit_cover(self.place, self.logs, self.stretches)


Piece = LogPiece | QueuePiece | IndexPiece | CoverPiece


def places_of(
    stores: Mapping[str, Path], delay_levels_ms: tuple[int, ...] | None = None, index_slots: int | None = None
) -> list[Place]:
    return [_place(name, root, delay_levels_ms, index_slots) for name, root in sorted(stores.items())]


def _place(name: str, root: Path, delay_levels_ms: tuple[int, ...] | None, index_slots: int | None) -> Place:
    """Return a store with its log files as the audit reads them.

    A log file that is longer than the others is read up to their length.
    """
    files, _ = files_in(root / "commitlog")
    size = length_of(files)
    logs = tuple(Log(file.path, file.start, min(file.end, file.start + size)) for file in files)
    is_open = (root / "abort").exists() or bool(lock_of(root).holder)
    findings = tuple(around(root, is_open=is_open, index_slots=index_slots))
    size = queue_file_bytes(file.end - file.start for file in _queue_files(root))
    return Place(name, root, logs, is_open, delay_levels_ms, index_slots, findings, size)


def log_pieces(places: Sequence[Place]) -> list[LogPiece]:
    """Return the first pieces: the log files of all stores."""
    return [LogPiece(store, tuple(logs)) for store in places for logs in packed(store.logs, PIECE_BYTES)]


def derived_pieces(places: Sequence[Place], lost: Mapping[str, Lost]) -> list[Piece]:
    """Return the second pieces, which need the lost parts of the logs: queues, index files and uncovered log ranges."""
    pieces: list[Piece] = []
    for store in places:
        pieces += [
            QueuePiece(store, tuple(files), lost[store.name])
            for files in packed(_queue_files(store.root), QUEUE_PIECE_BYTES)
        ]
        pieces += [IndexPiece(store, name, lost[store.name]) for name in _index_names(store.root)]
        stretches = tuple(stretches_of(store))
        pieces += [CoverPiece(store, tuple(logs), stretches) for logs in packed(logs_of(store, stretches), PIECE_BYTES)]
    return pieces


def _queue_files(root: Path) -> list[QueueFile]:
    return [
        QueueFile(topic, queue_id, file.start, file.end)
        for topic, queue_id in queues_in(root)[0]
        for file in files_in(root / "consumequeue" / topic / str(queue_id))[0]
    ]


def _index_names(root: Path) -> list[str]:
    return [Path(path).name for path, _ in named_files_in(root / "index", NAME_DIGITS)[0]]
