"""Index files against the log: each key of each record once, in chains that lead from its slot (spec 5)."""

from collections.abc import Iterator
from typing import NamedTuple

from sandbox.message import sys_flag
from sandbox.message.message import StoredMessage
from sandbox.store.findings import (
    ERROR,
    NOTE,
    WARNING,
    Findings,
    chain_text,
    seconds_text,
    slot_text,
    slots_used_text,
)
from sandbox.store.reader_index import (
    HEADER_BYTES,
    SLOT_BYTES,
    IndexEntry,
    IndexFileReader,
    IndexHeader,
    key_hash_of,
    keys_of,
)

MAX_SECONDS = 0x7FFF_FFFF


class _Entry(NamedTuple):
    """One entry with its place."""

    file: IndexFileReader
    header: IndexHeader
    number: int
    entry: IndexEntry


class IndexCheck:
    """Goes through all entries beside the log: both are in order of arrival."""

    def __init__(self, files: list[IndexFileReader], found: Findings, log_min: int) -> None:
        self._found = found
        self._log_min = log_min
        headers = [(file, file.header()) for file in files]
        self._files = sorted(headers, key=lambda one: one[1].begin_physical)  # names go back when a clock does
        self.entries = sum(header.index_count - 1 for _, header in self._files)
        self._walk = self._all()
        self._next = next(self._walk, None)
        self._said_none = False

    def expect(self, message: StoredMessage, *, in_use: bool) -> None:
        """The record that comes next in the log.  One met twice in the index is fine: recovery does that."""
        if sys_flag.transaction(message.sys_flag) == sys_flag.TRANSACTION_ROLLBACK:
            return
        wanted = {key_hash_of(message.topic, key): key for key in keys_of(message)}
        if not self._files:
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
        for key in missing:
            self._report_missing(message, key, in_use=in_use)
        for place in strange:  # with nothing missing it is of a record that a power cut took, and harms nobody
            self._add(place, "wrong_entry", f"the record at {message.physical_offset} has no key with this hash",
                      severity=ERROR if missing else WARNING)

    def finish(self, log_end: int) -> None:
        """The log is over: what is left points nowhere, unless it was written meanwhile."""
        self._orphans(log_end)

    def _orphans(self, before: int) -> None:
        while (place := self._next) is not None and place.entry.physical_offset < before:
            if place.entry.physical_offset >= self._log_min:
                self._add(place, "orphan_entry", f"points to {place.entry.physical_offset}, where no record begins",
                          severity=WARNING)  # if it should point elsewhere, an entry is missing there
            self._next = next(self._walk, None)

    def _entries_at(self, physical_offset: int) -> Iterator[_Entry]:
        self._orphans(physical_offset)
        while (place := self._next) is not None and place.entry.physical_offset == physical_offset:
            yield place
            self._next = next(self._walk, None)

    def _all(self) -> Iterator[_Entry]:
        """Every entry of every file; on the way, chains and slots of each file are built again and compared."""
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
            self._found.add(ERROR, "wrong_header", where, HEADER_BYTES - 8,
                            slots_used_text(header.slots_used, len(newest)))
        for slot, number in file.used_slots():
            expected = newest.pop(slot, 0)
            if number != expected and number < header.index_count:  # a higher one is not counted yet: empty
                self._found.add(ERROR, "wrong_slot", where, HEADER_BYTES + slot * SLOT_BYTES,
                                slot_text(slot, number, expected))
        for slot, number in newest.items():
            self._found.add(ERROR, "wrong_slot", where, HEADER_BYTES + slot * SLOT_BYTES,
                            slot_text(slot, 0, number))

    def _check_time(self, place: _Entry, message: StoredMessage) -> None:
        if place.number == 1:
            return  # the first entry counts from the begin preset by the file before, which may be gone
        expected = min(max(0, (message.store_ms - place.header.begin_ms) // 1000), MAX_SECONDS)
        if place.entry.time_diff_s != expected:
            self._add(place, "wrong_time", seconds_text(place.entry.time_diff_s, expected))

    def _report_missing(self, message: StoredMessage, key: str, *, in_use: bool) -> None:
        file, header = self._files[-1]
        behind = in_use and message.physical_offset > header.end_physical
        text = f"no entry for key {key[:60]!r} of the record at {message.physical_offset}"
        self._found.add(NOTE if behind else ERROR, "behind" if behind else "missing_entry", f"index/{file.name}",
                        message.physical_offset, text)

    def _say_none(self, has_keys: bool) -> None:
        if has_keys and not self._said_none:
            self._said_none = True
            self._found.add(NOTE, "no_index", "index", 0, "messages have keys, but there is no index file")

    def _add(self, place: _Entry, code: str, text: str, *, severity: str = ERROR) -> None:
        self._found.add(severity, code, f"index/{place.file.name}", place.file.entry_position(place.number),
                        f"entry {place.number}: {text}")
