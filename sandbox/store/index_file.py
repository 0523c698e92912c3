"""A hash table of message keys on disk: header, slots, and a chain of entries for each slot.

    40 bytes          header: begin_ms end_ms begin_physical end_physical slots_used index_count
    slots x 4         number of the newest entry of the slot; 0: none
    entries x 20      hash, physical offset, seconds since begin_ms, number of the entry before in this slot

Entries are numbered from 1, and entry n is at `40 + slots * 4 + n * 20`: area 0 is never used.  RocketMQ:
`IndexFile`, `IndexHeader` (spec store-format 5).
"""

import sys
from array import array
from collections.abc import Iterable, Iterator
from itertools import repeat
from struct import Struct
from typing import NamedTuple

from sandbox.store.index_keys import IndexKeys
from sandbox.store.mapped_file import MappedFile, MapPool

HEADER_BYTES = 40
SLOT_BYTES = 4
ENTRY_BYTES = 20

_HEADER = Struct(">qqqqii")
_SLOT = Struct(">i")
_ENTRY = Struct(">iqii")  # hash physical time_diff_s previous
_read_slot, _write_slot, _write_entry = _SLOT.unpack_from, _SLOT.pack_into, _ENTRY.pack_into
_SLOTS_AT = HEADER_BYTES // SLOT_BYTES  # counted in slots from the file's start
_MAX_INT = 0x7FFF_FFFF


class IndexEntry(NamedTuple):
    """One entry of a chain, with its number and position."""

    no: int
    position: int
    hash: int
    physical_offset: int
    time_diff_s: int
    previous: int


def _turned(words: "array[int]") -> "array[int]":
    """Convert words between machine and file byte order, in place, and return them."""
    if sys.byteorder == "little":
        words.byteswap()
    return words


class IndexFile:
    """One index file.  The header is in memory and is written with every put."""

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
        """Read the header; an entry count of 0 is read as 1."""
        (self.begin_ms, self.end_ms, self.begin_physical, self.end_physical, self.slots_used, count) = (
            _HEADER.unpack_from(self._pool.view(self.file), 0)
        )
        self.index_count = max(count, 1)

    def begin_after(self, before: "IndexFile | None") -> None:
        """Preset the header from the file before; the first put replaces its begin.  Raises StoreFull."""
        if before is not None:
            self.begin_ms = self.end_ms = before.end_ms
            self.begin_physical = self.end_physical = before.end_physical
        view = self._pool.view(self.file)
        self._reserve(1)
        self._write_header(view)

    def put(self, keys: IndexKeys, start: int = 0) -> int:
        """Add entries from number `start` on until the file is full; return the number added.

        Raises StoreFull, and then none was added.
        """
        view = self.file.view
        if view is None:
            view = self._pool.view(self.file)
        self.file.used = True
        count = min(len(keys.hashes) - start, self.entries - self.index_count)
        if self._entries_at + (self.index_count + count) * ENTRY_BYTES > self.file.reserved:
            self._reserve(count)
        if count == 1 or self.index_count == 1:
            # the first entry of a file counts its seconds from the preset begin, as in RocketMQ
            self._put_one(view, keys.hashes[start], keys.physicals[start], keys.times[start])
            return 1 + (self.put(keys, start + 1) if count > 1 else 0)
        self._put_many(view, keys if count == len(keys.hashes) else keys.part(start, start + count))
        return count

    def _reserve(self, count: int) -> None:
        """Allocate blocks for `count` more entries, and for all slots, as any of them may be used."""
        self._pool.reserve(self.file, 0, self._entries_at + (self.index_count + count) * ENTRY_BYTES)

    def _put_many(self, view: memoryview, keys: IndexKeys) -> None:
        """Add several entries: all slots, then all entries as one piece, then the header.

        Before the header none counts.  Slots are read and written as machine words and byte-swapped together: a
        third of the cost of reading and packing each of them.
        """
        hashes, physicals, times = keys.hashes, keys.physicals, keys.times
        first_no, slots, words = self.index_count, self.slots, view.cast("I")
        numbers = range(first_no, first_no + len(hashes))
        met = array("I")
        note = met.append
        for key_hash, word in zip(hashes, _turned(array("I", numbers)), strict=True):
            slot = key_hash % slots + _SLOTS_AT
            note(words[slot])
            words[slot] = word
        previous = _turned(met).tolist()
        if max(previous) >= first_no:  # a slot used twice in this run; or an invalid one, which counts as empty
            previous = [before if before <= no else 0 for before, no in zip(previous, numbers, strict=True)]
        last_ms, last_physical, entry_at = times[-1], physicals[-1], self._entries_at + first_no * ENTRY_BYTES
        diffs: Iterable[int] = (
            repeat(self._seconds(last_ms)) if times.count(last_ms) == len(times) else map(self._seconds, times)
        )
        entries = b"".join(map(_ENTRY.pack, hashes, physicals, diffs, previous))
        view[entry_at : entry_at + len(entries)] = entries
        self.slots_used += previous.count(0)
        self.index_count += len(hashes)
        self.end_ms, self.end_physical = last_ms, last_physical
        self._write_header(view)

    def _put_one(self, view: memoryview, key_hash: int, physical: int, store_ms: int) -> None:
        no = self.index_count
        slot_at = HEADER_BYTES + key_hash % self.slots * SLOT_BYTES
        previous = _read_slot(view, slot_at)[0]
        if previous <= 0 or previous > no:
            previous = 0
            self.slots_used += 1
        _write_entry(view, self._entries_at + no * ENTRY_BYTES, key_hash, physical, self._seconds(store_ms), previous)
        _write_slot(view, slot_at, no)
        if no <= 1:
            self.begin_ms, self.begin_physical = store_ms, physical
        self.index_count = no + 1
        self.end_ms, self.end_physical = store_ms, physical
        self._write_header(view)

    def _seconds(self, store_ms: int) -> int:
        """Return the time field of an entry, in seconds since the file's begin."""
        begin_ms = self.begin_ms
        return min((store_ms - begin_ms) // 1000, _MAX_INT) if store_ms > begin_ms > 0 else 0

    def _write_header(self, view: memoryview) -> None:
        _HEADER.pack_into(
            view,
            0,
            self.begin_ms,
            self.end_ms,
            self.begin_physical,
            self.end_physical,
            self.slots_used,
            self.index_count,
        )

    def touches(self, begin_ms: int, end_ms: int) -> bool:
        """Return True if `[begin_ms, end_ms]` overlaps the file's own times, by RocketMQ's three tests."""
        return (
            (begin_ms < self.begin_ms and end_ms > self.end_ms)
            or self.begin_ms <= begin_ms <= self.end_ms
            or self.begin_ms <= end_ms <= self.end_ms
        )

    def slot_of(self, key_hash: int) -> tuple[int, int, int]:
        """Return number, position and value of the slot of a hash."""
        slot = key_hash % self.slots
        position = HEADER_BYTES + slot * SLOT_BYTES
        return slot, position, _SLOT.unpack_from(self._pool.view(self.file), position)[0]

    def chain(self, key_hash: int) -> Iterator[IndexEntry]:
        """Yield the entries of the hash's slot, newest first, as far as their links are valid."""
        no = self.slot_of(key_hash)[2]
        if self.index_count <= 1:
            return
        for _ in range(self.index_count):  # a cycle in damaged links must end
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
        """Return entry `no`, or None if it does not exist yet."""
        if not 1 <= no < self.index_count:
            return None
        position = self._entries_at + no * ENTRY_BYTES
        return IndexEntry(no, position, *_ENTRY.unpack_from(self._pool.view(self.file), position))
