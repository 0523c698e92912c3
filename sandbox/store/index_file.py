"""A hash table of message keys on disk: header, slots, and a chain of entries behind each slot.

    40 bytes          header: begin_ms end_ms begin_physical end_physical slots_used index_count
    slots x 4         number of the newest entry of the slot; 0: none
    entries x 20      hash, physical offset, seconds since begin_ms, number of the entry before in this slot

Entries are numbered from 1, and entry n stands at `40 + slots * 4 + n * 20`: area 0 is never used.
RocketMQ: `IndexFile`, `IndexHeader` (spec store-format 5).
"""

from collections.abc import Iterator
from struct import Struct
from typing import NamedTuple

from sandbox.store.mapped_file import MappedFile, MapPool

HEADER_BYTES = 40
SLOT_BYTES = 4
ENTRY_BYTES = 20

_HEADER = Struct(">qqqqii")
_SLOT = Struct(">i")
_ENTRY = Struct(">iqii")  # hash physical time_diff_s previous
_read_slot, _write_slot, _write_entry = _SLOT.unpack_from, _SLOT.pack_into, _ENTRY.pack_into
_MAX_INT = 0x7FFF_FFFF


class IndexEntry(NamedTuple):
    """One entry of a chain, and where it stands."""

    no: int
    position: int
    hash: int
    physical_offset: int
    time_diff_s: int
    previous: int


IndexKey = tuple[int, int, int]  # what goes into one entry: hash, physical offset, store time


class IndexFile:
    """One index file.  The header is kept here and written through with every put."""

    def __init__(self, pool: MapPool, file: MappedFile, slots: int, entries: int) -> None:
        self._pool = pool
        self.file = file
        self.slots = slots
        self.entries = entries
        self._entries_at = HEADER_BYTES + slots * SLOT_BYTES
        self.begin_ms = self.end_ms = 0
        self.begin_physical = self.end_physical = 0
        self.slots_used = 0
        self.index_count = 1
        self.flushed = False

    @staticmethod
    def bytes_of(slots: int, entries: int) -> int:
        return HEADER_BYTES + slots * SLOT_BYTES + entries * ENTRY_BYTES

    @property
    def name(self) -> str:
        return self.file.path.rpartition("/")[2]

    @property
    def full(self) -> bool:
        return self.index_count >= self.entries

    @property
    def used_bytes(self) -> int:
        return HEADER_BYTES + self.slots_used * SLOT_BYTES + self.index_count * ENTRY_BYTES

    def load(self) -> None:
        """Read the header; an entry count of nothing is read as 1."""
        (self.begin_ms, self.end_ms, self.begin_physical, self.end_physical, self.slots_used,
         count) = _HEADER.unpack_from(self._pool.view(self.file), 0)
        self.index_count = max(count, 1)

    def begin_after(self, before: "IndexFile | None") -> None:
        """Preset the header from the file before; the first put overwrites its begin."""
        if before is not None:
            self.begin_ms = self.end_ms = before.end_ms
            self.begin_physical = self.end_physical = before.end_physical
        self._write_header(self._pool.view(self.file))

    def put(self, keys: list[IndexKey], start: int) -> int:
        """Add keys from `keys[start]` on until the file is full; returns how many went in."""
        view = self.file.view
        if view is None:
            view = self._pool.view(self.file)
        self.file.used = True
        count = self.index_count
        if count == 1:  # the first entry still counts its seconds from the preset begin, as in RocketMQ
            self._put_one(view, keys[start])
            return 1 + (self.put(keys, start + 1) if start + 1 < len(keys) and not self.full else 0)
        slots, begin_ms, used = self.slots, self.begin_ms, self.slots_used
        entry_at = self._entries_at + count * ENTRY_BYTES
        room = self.entries - count
        part = keys if start == 0 and len(keys) <= room else keys[start : start + room]
        for key_hash, physical, store_ms in part:
            slot_at = HEADER_BYTES + key_hash % slots * SLOT_BYTES
            previous = _read_slot(view, slot_at)[0]
            if previous <= 0 or previous > count:
                previous = 0
                used += 1
            diff = (store_ms - begin_ms) // 1000 if store_ms > begin_ms > 0 else 0
            _write_entry(view, entry_at, key_hash, physical, diff if diff <= _MAX_INT else _MAX_INT, previous)
            _write_slot(view, slot_at, count)
            entry_at += ENTRY_BYTES
            count += 1
        self.index_count, self.slots_used = count, used
        self.end_physical, self.end_ms = physical, store_ms
        _HEADER.pack_into(view, 0, begin_ms, store_ms, self.begin_physical, physical, used, count)
        return len(part)

    def _put_one(self, view: memoryview, key: IndexKey) -> None:
        key_hash, physical, store_ms = key
        slot_at = HEADER_BYTES + key_hash % self.slots * SLOT_BYTES
        previous = _SLOT.unpack_from(view, slot_at)[0]
        if previous <= 0 or previous > self.index_count:
            previous = 0
            self.slots_used += 1
        diff = (store_ms - self.begin_ms) // 1000 if store_ms > self.begin_ms > 0 else 0
        _ENTRY.pack_into(view, self._entries_at + self.index_count * ENTRY_BYTES, key_hash, physical,
                         min(diff, _MAX_INT), previous)
        _SLOT.pack_into(view, slot_at, self.index_count)
        if self.index_count <= 1:
            self.begin_ms, self.begin_physical = store_ms, physical
        self.index_count += 1
        self.end_ms, self.end_physical = store_ms, physical
        self._write_header(view)

    def _write_header(self, view: memoryview) -> None:
        _HEADER.pack_into(view, 0, self.begin_ms, self.end_ms, self.begin_physical, self.end_physical,
                          self.slots_used, self.index_count)

    def touches(self, begin_ms: int, end_ms: int) -> bool:
        """Whether [begin, end] and the file's own times have a moment in common, by RocketMQ's three tests."""
        return ((begin_ms < self.begin_ms and end_ms > self.end_ms)
                or self.begin_ms <= begin_ms <= self.end_ms
                or self.begin_ms <= end_ms <= self.end_ms)

    def slot_of(self, key_hash: int) -> tuple[int, int, int]:
        """Number, position and value of the slot of a hash."""
        slot = key_hash % self.slots
        position = HEADER_BYTES + slot * SLOT_BYTES
        return slot, position, _SLOT.unpack_from(self._pool.view(self.file), position)[0]

    def chain(self, key_hash: int) -> Iterator[IndexEntry]:
        """The entries behind a slot, newest first, as far as their links can be trusted."""
        no = self.slot_of(key_hash)[2]
        if self.index_count <= 1:
            return
        for _ in range(self.index_count):  # a circle in damaged links must end
            if no <= 0 or no > self.index_count:
                return
            position = self._entries_at + no * ENTRY_BYTES
            if position + ENTRY_BYTES > self.file.size:
                return
            entry = IndexEntry(no, position, *_ENTRY.unpack_from(self._pool.view(self.file), position))
            if entry.time_diff_s < 0:
                return
            yield entry
            if entry.previous == no:
                return
            no = entry.previous

    def entry(self, no: int) -> IndexEntry | None:
        """Entry `no`; None when there is none yet."""
        if not 1 <= no < self.index_count:
            return None
        position = self._entries_at + no * ENTRY_BYTES
        return IndexEntry(no, position, *_ENTRY.unpack_from(self._pool.view(self.file), position))
