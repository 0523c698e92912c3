"""The part of a store that survives a power cut, and the part that is lost."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from sandbox.message import record
from sandbox.store.disk import Disk
from sandbox.store.mapped_file import MappedFile
from sandbox.store.message_store import MessageStore


class Unflushed(NamedTuple):
    """A record of the log that is only in the page cache.  `is_message` is False for the blank at the end of a file."""

    physical_offset: int
    path: str
    position: int
    file_bytes: int
    is_message: bool


def mapped_files(store: MessageStore) -> Iterator[MappedFile]:
    """Yield the files that are only appended to: those of the log and the queues."""
    yield from store.log.files.files
    for topic, queue_id in store.queues():
        yield from store.queue(topic, queue_id).files.files


def flushed_positions(store: MessageStore) -> dict[str, int]:
    """Return by path the number of bytes of the file that survive a power cut; 0: the file itself may be lost.

    Index files are written at random positions, and flushed once, when they are full.  Others count as lost, as in a
    recovery, which deletes them (spec store-format 7).
    """
    positions = {file.path: file.flushed for file in mapped_files(store)}
    for index in store.index.files:
        trusted = index.full and index.end_ms <= store.checkpoint.index_ms
        positions[index.file.path] = index.file.size if trusted else 0
    return positions


def unflushed_records(store: MessageStore, positions: Mapping[str, int]) -> list[Unflushed]:
    """Return every record of the log beyond the flushed positions, in order."""
    records: list[Unflushed] = []
    offset: int | None = _flushed_end(store, positions)
    while offset is not None:
        file, _, layout, after = store.log.step(offset, check_crc=False)
        if file is None:
            break
        records.append(Unflushed(offset, file.path, offset - file.base, file.size, layout is not None))
        offset = after
    return records


def _flushed_end(store: MessageStore, positions: Mapping[str, int]) -> int:
    end = store.log.min_offset
    for file in store.log.files.files:
        end = file.base + min(file.wrote, positions.get(file.path, 0))
        if end < file.end:
            break
    return end


def lost_of(disk: Disk, records: list[Unflushed], *, check_crc: bool) -> list[Unflushed]:
    """Return the records that a recovery will not find: the first one damaged on disk, and all after it."""
    for number, lost in enumerate(records):
        if not _is_found(disk, lost, check_crc=check_crc):
            return records[number:]
    return []


def _is_found(disk: Disk, unflushed: Unflushed, *, check_crc: bool) -> bool:
    if disk.size_of(unflushed.path) != unflushed.file_bytes:
        return False
    mapped = disk.map(unflushed.path, unflushed.file_bytes)
    try:
        result = record.examine(mapped.view, unflushed.position, unflushed.file_bytes, check_crc=check_crc)
        if isinstance(result, record.Layout):
            return unflushed.is_message and result.physical_offset == unflushed.physical_offset
        return isinstance(result, record.Blank) and unflushed.position + result.size == unflushed.file_bytes
    finally:
        mapped.close()
