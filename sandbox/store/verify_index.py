"""Verifies index files against the log: each key of each record once, in chains from its slot (spec store-format 5)."""

from collections.abc import Iterator
from itertools import pairwise, takewhile
from typing import NamedTuple

from sandbox.message import sys_flag
from sandbox.message.message import StoredMessage
from sandbox.store.findings import (
    ERROR,
    NOTE,
    UNKNOWN_SHAPE_TEXT,
    WARNING,
    Finding,
    Findings,
    chain_text,
    missing_file_text,
    seconds_text,
    slot_text,
    slots_used_text,
    stray_entry_text,
)
from sandbox.store.reader import StoreReader
from sandbox.store.reader_index import (
    HEADER_BYTES,
    MAX_SECONDS,
    SLOT_BYTES,
    SLOTS_USED_AT,
    IndexEntry,
    IndexFileReader,
    IndexHeader,
    is_harmless,
    key_hash_of,
    keys_of,
)

MAX_POSITION = (1 << 63) - 1


class _Entry(NamedTuple):
    """One entry with its position."""

    file: IndexFileReader
    header: IndexHeader
    number: int
    entry: IndexEntry

    @property
    def physical(self) -> int:
        return self.entry.physical_offset


class IndexCheck:
    """Reads all entries in parallel with the log: both are in arrival order."""

    def __init__(self, reader: StoreReader, found: Findings, *, in_use: bool) -> None:
        self._found = found
        self._in_use = in_use
        self._log = reader.log
        every = reader.index_files()
        self._none = not every
        unread = [file.name for file in every if self._is_unread(file)]
        headers = [(file, file.header()) for file in every if file.name not in unread]
        filled = [(file, header) for file, header in headers if header.index_count > 1]
        self._files = sorted(filled, key=lambda one: one[1].begin_physical)  # names go back when a clock does
        self._holes = [self._around(name) for name in unread]  # log parts of unread or missing files
        self._find_missing_files()
        self.entries = sum(header.index_count - 1 for _, header in self._files)
        self._walk = self._in_order()
        self._next = next(self._walk, None)
        self._said_none = False

    def _is_unread(self, file: IndexFileReader) -> bool:
        """Its header or size is invalid or, in a store in use, incomplete: its entries are not read."""
        if self._in_use and file.size_bytes < HEADER_BYTES:
            return False  # being created
        fault = file.header_fault()
        if fault is None and file.slots <= 1 and file.header().index_count > 1:
            fault = Finding(ERROR, "unknown_shape", f"index/{file.name}", 0, UNKNOWN_SHAPE_TEXT)
        if fault is not None and not self._in_use:
            self._found.add(*fault)
        return fault is not None

    def _around(self, name: str) -> tuple[int, int]:
        """From the file before it to the one after it."""
        before = max((header.end_physical for file, header in self._files if file.name < name), default=0)
        behind = min((header.begin_physical for file, header in self._files if file.name > name), default=MAX_POSITION)
        return before, behind

    def _find_missing_files(self) -> None:
        for (before, ends), (file, begins) in pairwise(self._files):
            hole = ends.end_physical, begins.begin_physical
            if hole not in self._holes and not file.counts_from(ends) and self._has_keys(*hole):
                self._holes.append(hole)
                self._found.add(ERROR, "missing_file", f"index/{file.name}", file.entry_position(1),
                                missing_file_text(before.name))

    def _has_keys(self, after: int, before: int) -> bool:
        """Whether the log has a record with keys between these two."""
        items = takewhile(lambda item: item.at < before, self._log.walk(after))
        messages = (self._log.message(item.at) for item in items if item.at > after)
        return any(message is not None and _wanted(message) for message in messages)

    def expect(self, message: StoredMessage) -> None:
        """The next record of the log.  Duplicate entries are fine: recovery creates them."""
        wanted = _wanted(message)
        if self._none:
            self._say_none(bool(wanted))
            return
        seen: set[int] = set()
        strange: list[_Entry] = []
        for place in self._entries_at(message.physical_offset):
            if place.entry.hash in wanted:
                seen.add(place.entry.hash)
                self._check_time(place, message)
            else:
                strange.append(place)
        missing = [key for key_hash, key in wanted.items() if key_hash not in seen]
        if any(after <= message.physical_offset <= before for after, before in self._holes):
            missing = []
        for key in missing:
            self._report_missing(message, key)
        for place in strange:  # with nothing missing, an entry of a record removed by a power cut: harmless
            self._add(place, "wrong_entry", f"the record at {message.physical_offset} has no key with this hash",
                      severity=ERROR if missing else WARNING)

    def finish(self, log_end: int) -> None:
        """The log has ended: remaining entries point nowhere, unless it was written meanwhile."""
        self._orphans(log_end)

    def _orphans(self, before: int) -> None:
        while (place := self._next) is not None and place.physical < before:
            if place.physical >= self._log.min_offset:
                self._add(place, "orphan_entry", f"points to {place.physical}, where no record begins",
                          severity=WARNING)  # if it should point elsewhere, an entry is missing there
            self._next = next(self._walk, None)

    def _entries_at(self, physical_offset: int) -> Iterator[_Entry]:
        self._orphans(physical_offset)
        while (place := self._next) is not None and place.physical == physical_offset:
            yield place
            self._next = next(self._walk, None)

    def _in_order(self) -> Iterator[_Entry]:
        """Every entry except those that point beyond their neighbours, which would hide all after them."""
        held, last = None, 0
        for place in self._all():
            if held is not None:
                if last <= held.physical and not last <= place.physical < held.physical:
                    last = held.physical
                    yield held
                else:
                    self._add(held, "orphan_entry", stray_entry_text(held.physical, last, place.physical),
                              severity=WARNING)
            held = place
        if held is not None:
            yield held

    def _all(self) -> Iterator[_Entry]:
        """Every entry of every file; chains and slots of each file are built again and compared."""
        for file, header in self._files:
            newest: dict[int, int] = {}
            for number, entry in file.all_entries(header.index_count):
                place = _Entry(file, header, number, entry)
                slot = entry.hash % file.slots
                if entry.previous != newest.get(slot, 0):
                    self._add(place, "broken_chain", chain_text(slot, newest.get(slot, 0), entry.previous))
                newest[slot] = number
                yield place
            self._check_slots(file, header, newest)

    def _check_slots(self, file: IndexFileReader, header: IndexHeader, newest: dict[int, int]) -> None:
        where = f"index/{file.name}"
        if header.slots_used != len(newest):
            self._found.add(ERROR, "wrong_header", where, SLOTS_USED_AT,
                            slots_used_text(header.slots_used, len(newest)))
        for slot, number in file.used_slots():
            expected = newest.pop(slot, 0)
            if number != expected and not is_harmless(number, expected, header, file.entries, is_open=self._in_use):
                self._found.add(ERROR, "wrong_slot", where, HEADER_BYTES + slot * SLOT_BYTES,
                                slot_text(slot, number, expected))
        for slot, number in newest.items():
            self._found.add(ERROR, "wrong_slot", where, HEADER_BYTES + slot * SLOT_BYTES,
                            slot_text(slot, 0, number))

    def _check_time(self, place: _Entry, message: StoredMessage) -> None:
        if place.number == 1:
            return  # the first entry counts from the begin preset by the file before, which may be deleted
        expected = min(max(0, (message.store_ms - place.header.begin_ms) // 1000), MAX_SECONDS)
        if place.entry.time_diff_s != expected:
            self._add(place, "wrong_time", seconds_text(place.entry.time_diff_s, expected))

    def _report_missing(self, message: StoredMessage, key: str) -> None:
        at = message.physical_offset
        behind = self._in_use and (not self._files or at > self._files[-1][1].end_physical)
        names = [file.name for file, header in self._files if header.begin_physical <= at] or [
            file.name for file, _ in self._files[:1]]
        self._found.add(NOTE if behind else ERROR, "behind" if behind else "missing_entry",
                        "/".join(["index", *names[-1:]]), at, f"no entry for key {key[:60]!r} of the record at {at}")

    def _say_none(self, has_keys: bool) -> None:
        if has_keys and not self._said_none:
            self._said_none = True
            self._found.add(NOTE, "no_index", "index", 0, "messages have keys, but there is no index file")

    def _add(self, place: _Entry, code: str, text: str, *, severity: str = ERROR) -> None:
        self._found.add(severity, code, f"index/{place.file.name}", place.file.entry_position(place.number),
                        f"entry {place.number}: {text}")


def _wanted(message: StoredMessage) -> dict[int, str]:
    """The keys it must have entries for, by their hashes."""
    if sys_flag.transaction(message.sys_flag) == sys_flag.TRANSACTION_ROLLBACK:
        return {}
    return {key_hash_of(message.topic, key): key for key in keys_of(message)}
