"""Verification of index files against the log: each key of each record once, in chains from its slot.

Spec store-format 5.
"""

from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple

from sandbox.message import sys_flag
from sandbox.message.message import StoredMessage
from sandbox.store.findings import (
    Findings,
    chain_text,
    seconds_text,
    slot_text,
    slots_used_text,
    stray_entry_text,
)
from sandbox.store.index_cover import MAX_POSITION, NO_KEYS, Keys, readable, uncovered
from sandbox.store.index_head import Head, head_findings
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


class _Entry(NamedTuple):
    """One index entry with its file and number."""

    file: IndexFileReader
    header: IndexHeader
    number: int
    entry: IndexEntry

    @property
    def physical(self) -> int:
        return self.entry.physical_offset


class IndexCheck:
    """The check of all index entries in parallel with the log: both are in arrival order."""

    def __init__(self, reader: StoreReader, findings: Findings, *, in_use: bool) -> None:
        self._found = findings
        self._in_use = in_use
        self._log = reader.log
        every = reader.index_files()
        self._none = not every
        self._files, faults = readable(every, in_use=in_use)
        if not in_use:
            for fault in faults.values():
                findings.add(*fault[1:])
        self._holes = [self._around(name) for name in faults]  # log parts of unread files
        self._stretches = uncovered(self._files, faults.keys(), log_start=self._log.min_offset, in_use=in_use)
        self._begins = [stretch.begin for stretch in self._stretches]
        self._keys = [NO_KEYS] * len(self._stretches)  # without an entry, in each of them
        self._at_edges: list[tuple[StoredMessage, str]] = []  # likewise, of the records beside them
        self.entries = sum(header.index_count - 1 for _, header in self._files)
        self._walk = self._in_order()
        self._next = next(self._walk, None)
        self._said_none = False

    def _around(self, name: str) -> tuple[int, int]:
        """Return the log range between the file before `name` and the file after it."""
        before = max((header.end_physical for file, header in self._files if file.name < name), default=0)
        behind = min((header.begin_physical for file, header in self._files if file.name > name), default=MAX_POSITION)
        return before, behind

    def expect(self, message: StoredMessage) -> None:
        """Check the index entries of the next record of the log.

        Duplicate entries are valid: recovery creates them.
        """
        expected = _wanted(message)
        if self._none:
            self._say_none(bool(expected))
            return
        hashes: set[int] = set()
        strange: list[_Entry] = []
        for entry in self._entries_at(message.physical_offset):
            if entry.entry.hash in expected:
                hashes.add(entry.entry.hash)
                self._check_time(entry, message)
            else:
                strange.append(entry)
        missing = [key for key_hash, key in expected.items() if key_hash not in hashes]
        at = message.physical_offset
        if any(after <= at <= before for after, before in self._holes):
            missing = []
        number = bisect_right(self._begins, at) - 1
        if missing and number >= 0 and at < self._stretches[number].end:
            self._keys[number] += Keys(len(missing), at, at)
            missing = []
        for key in missing:
            if any(at in stretch.edges for stretch in self._stretches[max(0, number) : number + 2]):
                self._at_edges.append((message, key))
            else:
                self._report_missing(message, key)
        for entry in strange:  # with nothing missing, an entry of a record removed by a power cut: harmless
            self._add(
                entry, "wrong_entry" if missing else "orphan_entry", f"the record at {at} has no key with this hash"
            )

    def finish(self, log_end: int) -> None:
        """Report the remaining entries at the end of the log: they point nowhere, unless the log has grown."""
        self._orphans(log_end)
        torn: set[int] = set()
        for stretch, keys in zip(self._stretches, self._keys, strict=True):
            if keys.number:
                self._found.add(*stretch.finding(keys)[1:])
                torn.update(stretch.edges)
        for message, key in self._at_edges:
            if message.physical_offset not in torn:
                self._report_missing(message, key)

    def _orphans(self, before: int) -> None:
        while (entry := self._next) is not None and entry.physical < before:
            if entry.physical >= self._log.min_offset:
                # if it should point elsewhere, an entry is missing there
                self._add(entry, "orphan_entry", f"points to {entry.physical}, where no record begins")
            self._next = next(self._walk, None)

    def _entries_at(self, physical_offset: int) -> Iterator[_Entry]:
        self._orphans(physical_offset)
        while (entry := self._next) is not None and entry.physical == physical_offset:
            yield entry
            self._next = next(self._walk, None)

    def _in_order(self) -> Iterator[_Entry]:
        """Yield every entry except those that point beyond their neighbours, which would hide all after them."""
        held, last = None, 0
        for entry in self._all():
            if held is not None:
                if last <= held.physical and not last <= entry.physical < held.physical:
                    last = held.physical
                    yield held
                else:
                    self._add(held, "orphan_entry", stray_entry_text(held.physical, last, entry.physical))
            held = entry
        if held is not None:
            yield held

    def _all(self) -> Iterator[_Entry]:
        """Yield every entry of every file; compute the chains and slots of each file again and compare them."""
        for file, header in self._files:
            newest: dict[int, int] = {}
            head = self._head_of(file, header)
            for item in head_findings(file.name, header, head, in_use=self._in_use):
                self._found.add(*item[1:])
            if head.begin_ms is not None:
                header = header._replace(begin_ms=head.begin_ms)  # times count from there
            for number, stored in file.all_entries(header.index_count):
                entry = _Entry(file, header, number, stored)
                slot = stored.hash % file.slots
                if stored.previous != newest.get(slot, 0):
                    self._add(entry, "broken_chain", chain_text(slot, newest.get(slot, 0), stored.previous))
                newest[slot] = number
                yield entry
            self._check_slots(file, header, newest)

    def _head_of(self, file: IndexFileReader, header: IndexHeader) -> Head:
        """Return the expected head: that of the header, unless a valid entry differs."""
        first, last = file.entry(1), file.entry(header.index_count - 1)
        begin, end = header.begin_physical, header.end_physical
        if first is not None and self._leads_home(first):
            begin = first.physical_offset
        if last is not None and self._leads_home(last):
            end = last.physical_offset
        begins, ends = self._log.message(begin), self._log.message(end)
        return Head(begin, None if begins is None else begins.store_ms, end, None if ends is None else ends.store_ms)

    def _leads_home(self, entry: IndexEntry) -> bool:
        message = self._log.message(entry.physical_offset)
        return message is not None and entry.hash in _wanted(message)

    def _check_slots(self, file: IndexFileReader, header: IndexHeader, newest: dict[int, int]) -> None:
        where = f"index/{file.name}"
        if header.slots_used != len(newest):
            self._found.add("wrong_header", where, SLOTS_USED_AT, slots_used_text(header.slots_used, len(newest)))
        for slot, number in file.used_slots():
            expected = newest.pop(slot, 0)
            if number != expected and not is_harmless(number, expected, header, file.entries, is_open=self._in_use):
                self._found.add(
                    "wrong_slot", where, HEADER_BYTES + slot * SLOT_BYTES, slot_text(slot, number, expected)
                )
        for slot, number in newest.items():
            self._found.add("wrong_slot", where, HEADER_BYTES + slot * SLOT_BYTES, slot_text(slot, 0, number))

    def _check_time(self, entry: _Entry, message: StoredMessage) -> None:
        if entry.number == 1:
            return  # the first entry counts from the begin preset by the file before, which may be deleted
        expected = min(max(0, (message.store_ms - entry.header.begin_ms) // 1000), MAX_SECONDS)
        if entry.entry.time_diff_s != expected:
            self._add(entry, "wrong_time", seconds_text(entry.entry.time_diff_s, expected))

    def _report_missing(self, message: StoredMessage, key: str) -> None:
        at = message.physical_offset
        behind = self._in_use and (not self._files or at >= self._files[-1][1].end_physical)  # of its last, any may be
        names = [file.name for file, header in self._files if header.begin_physical <= at] or [
            file.name for file, _ in self._files[:1]
        ]
        self._found.add(
            "behind" if behind else "missing_entry",
            "/".join(["index", *names[-1:]]),
            at,
            f"no entry for key {key[:60]!r} of the record at {at}",
        )

    def _say_none(self, has_keys: bool) -> None:
        if has_keys and not self._said_none:
            self._said_none = True
            self._found.add("no_index", "index", 0, "messages have keys, but there is no index file")

    def _add(self, entry: _Entry, code: str, text: str) -> None:
        self._found.add(
            code, f"index/{entry.file.name}", entry.file.entry_position(entry.number), f"entry {entry.number}: {text}"
        )


def _wanted(message: StoredMessage) -> dict[int, str]:
    """Return the keys for which the message must have entries, by their hashes."""
    if sys_flag.transaction(message.sys_flag) == sys_flag.TRANSACTION_ROLLBACK:
        return {}
    return {key_hash_of(message.topic, key): key for key in keys_of(message)}
