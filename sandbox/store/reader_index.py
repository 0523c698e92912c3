"""Reads of index files that the reader does not own (spec store-format 5)."""

from collections.abc import Iterator
from pathlib import Path
from struct import Struct
from typing import NamedTuple

from sandbox.message import properties as names
from sandbox.message.message import StoredMessage
from sandbox.message.string_hash import index_key_hash
from sandbox.store.reader_files import OpenFiles
from sandbox.store.reader_listing import named_files_in

HEADER_BYTES = 40
SLOT_BYTES = 4
ENTRY_BYTES = 20
SLOTS_USED_AT, COUNT_AT = 32, 36  # in the header
MAX_SECONDS = 0x7FFF_FFFF
MAX_FOUND = 64  # RocketMQ: `maxMsgsNumBatch`
NAME_DIGITS = 17
KNOWN_SHAPES = ((5_000_000, 20_000_000), (1_000, 4_000), (97, 400))  # RocketMQ's, and the presets'

_HEADER = Struct(">qqqqii")
_SLOT = Struct(">i")
_ENTRY = Struct(">iqii")
_SLOTS_AT_ONCE = 16_384
_PROBES = 16  # entries checked to test a number of slots
_MAX_GUESSES = 100_000


class IndexHeader(NamedTuple):
    """The header, the first 40 bytes.  `index_count` is one more than the number of entries."""

    begin_ms: int
    end_ms: int
    begin_physical: int
    end_physical: int
    slots_used: int
    index_count: int


class IndexEntry(NamedTuple):
    """One key of one message; `previous` is the entry before it in the same slot, 0 for none."""

    hash: int
    physical_offset: int
    time_diff_s: int
    previous: int


class IndexFileReader:
    """One index file.

    The file does not store its number of slots: known sizes are tried first, then the entries decide.
    """

    def __init__(self, path: Path, size_bytes: int, opened: OpenFiles, slots: int | None = None) -> None:
        self.path = path
        self.name = path.name
        self._opened = opened
        self.size_bytes = size_bytes
        self.slots = slots or self._slots()
        self.entries = max(0, (self.size_bytes - HEADER_BYTES - self.slots * SLOT_BYTES) // ENTRY_BYTES)

    def header(self) -> IndexHeader:
        """Return the header as a broker reads it: the entry count limited to the file's room, and 1 instead of 0."""
        header = self.header_as_it_stands()
        return header._replace(index_count=min(max(1, header.index_count), self.size_bytes // ENTRY_BYTES))

    def header_as_it_stands(self) -> IndexHeader:
        data = self._opened.read(str(self.path), HEADER_BYTES, 0)
        return IndexHeader._make(_HEADER.unpack(data)) if len(data) == HEADER_BYTES else IndexHeader(0, 0, 0, 0, 0, 1)

    def is_miscounted(self) -> bool:
        """Return True if the header counts entries beyond the file, or none though slots point to some."""
        count = self.header_as_it_stands().index_count
        if count < 0 or self.slots <= 1:
            return count < 0
        return count > self.entries or (count <= 1 and next(self.used_slots(), None) is not None)

    def counts_from(self, before: IndexHeader) -> bool:
        """Return True if the first entry counts its seconds from the end of the file `before`.

        An entry does so also when that file is deleted.
        """
        first, began_ms = self.entry(1), self.header().begin_ms
        return first is None or first.time_diff_s == min(max(0, began_ms - before.end_ms) // 1_000, MAX_SECONDS)

    def slot(self, number: int) -> int:
        data = self._opened.read(str(self.path), SLOT_BYTES, HEADER_BYTES + number * SLOT_BYTES)
        return int(_SLOT.unpack(data)[0]) if len(data) == SLOT_BYTES else 0

    def entry(self, number: int) -> IndexEntry | None:
        data = self._opened.read(str(self.path), ENTRY_BYTES, self.entry_position(number))
        return IndexEntry._make(_ENTRY.unpack(data)) if len(data) == ENTRY_BYTES else None

    def entry_position(self, number: int) -> int:
        return HEADER_BYTES + self.slots * SLOT_BYTES + number * ENTRY_BYTES

    def used_slots(self) -> Iterator[tuple[int, int]]:
        """Yield the number of every slot with an entry, and the entry's number."""
        for first in range(0, self.slots, _SLOTS_AT_ONCE):
            count = min(_SLOTS_AT_ONCE, self.slots - first)
            data = self._opened.read(str(self.path), count * SLOT_BYTES, HEADER_BYTES + first * SLOT_BYTES)
            if not any(data):
                continue
            for number, (value,) in enumerate(_SLOT.iter_unpack(data[: len(data) // SLOT_BYTES * SLOT_BYTES]), first):
                if value:
                    yield number, value

    def chain(self, key_hash: int) -> Iterator[tuple[int, IndexEntry]]:
        """Yield the numbers and entries of the key's slot, newest first.

        Numbers must decrease, so a broken chain ends.
        """
        # including the count: a file in use counts its newest entry last
        count, number = self.header().index_count, self.slot(key_hash % self.slots)
        while 0 < number <= count and (entry := self.entry(number)) is not None:
            yield number, entry
            if entry.previous >= number:
                return
            number = entry.previous

    def find(self, key_hash: int, room: int, begin_ms: int, end_ms: int) -> list[int]:
        """Return the physical offsets of at most `room` entries with this hash in this time, newest first."""
        file_begin_ms = self.header().begin_ms
        offsets: list[int] = []
        for _, entry in self.chain(key_hash):
            if len(offsets) >= room or entry.time_diff_s < 0:
                break
            at_ms = file_begin_ms + entry.time_diff_s * 1000
            if entry.hash == key_hash and begin_ms <= at_ms <= end_ms:
                offsets.append(entry.physical_offset)
            if at_ms < begin_ms:
                break
        return offsets

    def _slots(self) -> int:
        for slots, entries in KNOWN_SHAPES:
            if self.size_bytes == HEADER_BYTES + slots * SLOT_BYTES + entries * ENTRY_BYTES:
                return slots
        for slots in self._guesses():
            self.slots = slots
            if self._plausible():
                return slots
        return 1

    def _guesses(self) -> Iterator[int]:
        room = self.size_bytes - HEADER_BYTES
        if room % (SLOT_BYTES + 4 * ENTRY_BYTES) == 0:
            yield room // (SLOT_BYTES + 4 * ENTRY_BYTES)  # four entries a slot is RocketMQ's ratio
        if room % SLOT_BYTES == 0:
            first = room // SLOT_BYTES % 5 or 5  # so that whole entries remain
            yield from range(first, min(room // SLOT_BYTES, first + 5 * _MAX_GUESSES), 5)

    def _plausible(self) -> bool:
        """Return True if this number of slots fits the file.

        The oldest entries must follow one another, be reached from their slots, and come after the unused entry 0.
        """
        header = self.header()
        if self.entry(0) != IndexEntry(0, 0, 0, 0):
            return False
        last_physical = header.begin_physical
        for number in range(1, min(header.index_count, _PROBES)):
            entry = self.entry(number)
            if entry is None or entry.hash < 0 or not 0 <= entry.previous < number or entry.time_diff_s < 0:
                return False
            if not last_physical <= entry.physical_offset <= header.end_physical:
                return False
            if not number <= self.slot(entry.hash % self.slots) < header.index_count:
                return False
            last_physical = entry.physical_offset
        return sum(1 for _ in self.used_slots()) == header.slots_used


def index_files(directory: Path, opened: OpenFiles, slots: int | None = None) -> list[IndexFileReader]:
    """Return all index files, oldest first: the name is the time of creation.

    A file without a recognisable number of slots has as many as others of its size.
    """
    sizes, _ = named_files_in(directory, NAME_DIGITS)
    files = [IndexFileReader(Path(path), size, opened, slots) for path, size in sizes]
    slots_of = {file.size_bytes: file.slots for file in files if file.slots > 1}
    return [
        file
        if file.slots > 1 or file.size_bytes not in slots_of
        else IndexFileReader(file.path, file.size_bytes, opened, slots_of[file.size_bytes])
        for file in files
    ]


def keys_of(message: StoredMessage) -> list[str]:
    """Return the index keys of a message, in order: its UNIQ_KEY, then each word of KEYS."""
    unique = message.properties.get(names.UNIQ_KEY)
    words = [word for word in message.properties.get(names.KEYS, "").split(names.KEY_SEPARATOR) if word]
    return [unique, *words] if unique else words


def key_hash_of(topic: str, key: str) -> int:
    return index_key_hash(f"{topic}#{key}")


def find_offsets(files: list[IndexFileReader], key_hash: int, max_count: int, begin_ms: int, end_ms: int) -> list[int]:
    """Return the physical offsets of entries with this hash, from the newest file back.

    RocketMQ: `IndexService.queryOffset`.
    """
    offsets: list[int] = []
    for file in reversed(files):
        header = file.header()
        covers = begin_ms < header.begin_ms and end_ms > header.end_ms
        touches = covers or any(header.begin_ms <= ms <= header.end_ms for ms in (begin_ms, end_ms))
        if touches and header.index_count > 1:
            offsets += file.find(key_hash, max_count - len(offsets), begin_ms, end_ms)
        if header.begin_ms < begin_ms or len(offsets) >= max_count:
            break
    return offsets
