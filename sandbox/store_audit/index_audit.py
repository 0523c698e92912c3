"""Audit of index files: entries are computed again from the log and compared with the file's (spec store-format 5).

An index file covers the log from its first entry's record to its last one's.  `uncovered_keys` counts the keys
that no file covers.
"""

from collections.abc import Sequence, Set
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sandbox.store.reader_files import OpenFiles
from sandbox.store.reader_index import (
    ENTRY_BYTES,
    HEADER_BYTES,
    MAX_SECONDS,
    IndexFileReader,
    IndexHeader,
    index_files,
)
from sandbox.store_audit.chains import Chains
from sandbox.store_audit.findings import Finding, seconds_text
from sandbox.store_audit.index_cover import NOT_INDEXED, edges_to_unread, readable
from sandbox.store_audit.index_head import END_PHYSICAL_AT, Head, head_findings
from sandbox.store_audit.log_audit import Place
from sandbox.store_audit.lost_ranges import Lost
from sandbox.store_audit.piece_results import Notes, Part
from sandbox.store_audit.uncovered_keys import stretches_of, torn_at
from sandbox.store_columns.key_walk import LogKeys, keys_between
from sandbox.store_columns.queue_positions import Longs
from sandbox.store_columns.store_log import StoreLog

ENTRY = np.dtype([("hash", ">i4"), ("physical", ">i8"), ("seconds", ">i4"), ("previous", ">i4")])
AHEAD = 4_096  # entries read beyond those expected
CHUNK = 65_536
EDGE = 64  # entries where two files touch


class Missing(NamedTuple):
    """A key of a record that has no entry; `after` is the number of the entry behind which the missing one belongs."""

    after: int
    hash: int
    physical: int


def audit_index(store: Place, names: Sequence[str], lost: Lost) -> Part:
    """Audit the index files with these names and return the findings and counts."""
    notes, log, into = Notes(), StoreLog(store.root, store.logs), dict[int, tuple[int, int]]()
    with OpenFiles() as opened:
        files, faults = readable(index_files(store.root / "index", opened, store.index_slots), in_use=store.open)
        for fault in (faults[name] for name in names if name in faults):
            if store.open:
                notes.counts["index_files_unread"] += 1  # it is being created or written
            else:
                notes.add(fault)
        stretches = stretches_of(store)
        for number, (file, header) in enumerate(files):
            if file.name in names:
                beside = frozenset(
                    edge for i in (number - 1, number + 1) if 0 <= i < len(files) for edge in _edges(*files[i])
                )
                torn = torn_at(log, stretches, header.begin_physical, header.end_physical)
                torn |= edges_to_unread(files, number, faults.keys())
                _IndexAudit(store, notes, log, file, header, lost, into, beside, torn).run()
    return notes.part(store.name, into=into)


def _edges(file: IndexFileReader, header: IndexHeader) -> set[tuple[int, int]]:
    """Return (record position, hash) of the first and last few entries of a file."""
    count = header.index_count
    numbers = sorted({*range(1, min(EDGE, count)), *range(max(1, count - EDGE), count)})
    return {(entry.physical_offset, entry.hash) for n in numbers if (entry := file.entry(n)) is not None}


class _IndexAudit:
    """The audit of one index file.

    `beside`: entries at the edges of adjacent files, which may hold a part of a record's keys.  `torn`: records
    whose other keys a missing file may hold.
    """

    def __init__(
        self,
        store: Place,
        notes: Notes,
        log: StoreLog,
        file: IndexFileReader,
        header: IndexHeader,
        lost: Lost,
        into: dict[int, tuple[int, int]],
        beside: frozenset[tuple[int, int]],
        torn: Set[int],
    ) -> None:
        self._place, self._notes, self._log = store, notes, log
        self._file, self._header, self._lost, self._into, self._beside = file, header, lost, into, beside
        self._torn = torn
        self._path = f"index/{file.name}"
        self._next = 1
        self._missing: list[Missing] = []
        self._strange: list[int] = []
        self._last: tuple[int, int] = (0, 0)  # position and store time of the newest key in the log so far
        self._begin_ms = header.begin_ms
        self._begin = 0

    def run(self) -> None:
        header = self._header
        begin, end = self._bounds()
        self._begin = begin
        for keys in keys_between(self._log, max(begin, self._log.start), end):
            self._compare(keys)
        instead = self._pair(np.arange(self._next, header.index_count))
        self._check_header(begin, end)
        self._notes.counts["index_entries"] += header.index_count - 1
        Chains(self._notes, self._file, header, open_now=self._place.open).check(self._entries, instead)

    def _entries(self, start: int, stop: int) -> NDArray[Any]:
        """Return the entries numbered `[start, stop)`; fewer where the file ends, none if the file is deleted."""
        path, count = Path(self._file.path), max(0, min(stop, self._header.index_count) - start)
        try:
            return np.fromfile(path, ENTRY, count, offset=self._file.entry_position(start))
        except FileNotFoundError:
            return np.zeros(0, ENTRY)

    def _bounds(self) -> tuple[int, int]:
        """Return the positions of the records of the first and the last entry.

        They are the header's, unless the entry differs and points to a valid record (or, for the last one, the store
        is open).
        """
        header = self._header
        first, last = self._entries(1, 2), self._entries(header.index_count - 1, header.index_count)
        begin, end = header.begin_physical, header.end_physical
        if len(first) and int(first["physical"][0]) != begin and self._leads_home(first[0]):
            begin = int(first["physical"][0])
        if len(last) and int(last["physical"][0]) != end and (self._place.open or self._leads_home(last[0])):
            end = int(last["physical"][0])
        return begin, end

    def _leads_home(self, entry: Any) -> bool:
        physical = int(entry["physical"])
        log = self._log.log_at(physical)
        file = self._log.file(log) if log is not None else None
        if log is None or file is None or not file.holds(physical - log.start):
            return False
        return any(int(entry["hash"]) in keys.hash for keys in keys_between(self._log, physical, physical))

    def _compare(self, keys: LogKeys) -> None:
        if not len(keys.hash):
            return
        if self._next == 1:
            if keys.physical[0] == self._begin:
                self._begin_ms = int(keys.store_ms[0])
            self._skip_older()
        self._last = int(keys.physical[-1]), int(keys.store_ms[-1])
        seconds = np.minimum(np.maximum(0, keys.store_ms - self._begin_ms) // 1_000, MAX_SECONDS)
        if self._begin_ms <= 0:
            seconds[:] = 0
        window = self._entries(self._next, self._next + len(keys.hash))
        if (
            len(window) == len(keys.hash)
            and (window["hash"] == keys.hash).all()
            and (window["physical"] == keys.physical).all()
        ):
            self._check_seconds(np.arange(self._next, self._next + len(window)), window["seconds"], seconds)
            self._next += len(window)
            return
        self._align(keys, seconds)

    def _skip_older(self) -> None:
        """Skip entries whose records are in log files that retention has deleted."""
        if self._header.begin_physical >= self._log.start:
            return
        while len(window := self._entries(self._next, self._next + AHEAD)):
            older = (
                int(np.argmax(window["physical"] >= self._log.start))
                if (window["physical"] >= self._log.start).any()
                else len(window)
            )
            self._next += older
            if older < len(window):
                return

    def _align(self, keys: LogKeys, seconds: Longs) -> None:
        """Match entries and records where they differ, and collect missing and unexpected entries."""
        window = self._entries(self._next, self._next + len(keys.hash) + AHEAD)
        inside = window["physical"] < keys.end
        # split with the fewest entries on the wrong side: one invalid entry does not move it
        wrong = np.concatenate([[0], np.cumsum(~inside)]) + np.concatenate([np.cumsum(inside[::-1])[::-1], [0]])
        window = window[: int(np.argmin(wrong))]
        numbers: dict[tuple[int, int], int] = {}
        for number, entry in enumerate(window.tolist(), self._next):
            numbers.setdefault((entry[1], entry[0]), number)
        after, expected = self._next - 1, dict[tuple[int, int], int]()
        for key_hash, physical, second in zip(
            keys.hash.tolist(), keys.physical.tolist(), seconds.tolist(), strict=True
        ):
            met = numbers.get((physical, key_hash))
            if met is not None:
                after = max(after, met)
            elif (
                (physical, key_hash) not in expected
                and (physical, key_hash) not in self._beside
                and (physical not in self._torn)
            ):
                self._missing.append(Missing(after, key_hash, physical))
            expected[physical, key_hash] = second
        known: list[tuple[int, int, int]] = []
        for number, entry in enumerate(window.tolist(), self._next):
            should = expected.get((entry[1], entry[0]))
            if should is None:
                self._strange.append(number)
            else:
                known.append((number, entry[2], should))
        if known:
            self._check_seconds(*(np.array(column, np.int64) for column in zip(*known, strict=True)))
        self._next += len(window)

    def _check_seconds(self, numbers: Longs, actual: Longs, expected: Longs) -> None:
        """Add a finding for each entry whose seconds differ from its record's, except the first entry of the file.

        The first entry counts from the begin time preset by the file before, which may be deleted.
        """
        for row in np.flatnonzero((actual != expected) & (numbers != 1)).tolist():
            number = int(numbers[row])
            self._add("wrong_time", number, seconds_text(int(actual[row]), int(expected[row])))

    def _pair(self, rest: Longs) -> dict[int, int]:
        """Pair unexpected entries with missing ones, and return the hashes that the former should have, by number.

        A pair is one wrong entry.  `rest`: numbers of entries after all that the log explains.
        """
        strange = {*self._strange, *rest[:1].tolist()}
        instead: dict[int, int] = {}
        unpaired: list[Missing] = []
        for missing in self._missing:
            number = missing.after + 1
            while number in instead:
                number += 1
            if number in strange:
                instead[number] = missing.hash
                self._add(
                    "wrong_entry",
                    number,
                    f"{self._said(number)}, but the record at {missing.physical} "
                    f"has a key with the hash {missing.hash} and no entry",
                )
            elif self._place.open and missing.physical >= self._header.end_physical:
                self._notes.counts[NOT_INDEXED] += 1
            else:
                unpaired.append(missing)
        self._say_missing(unpaired)
        left = np.array([number for number in self._strange if number not in instead], np.int64)
        while len(left):
            near = left[: np.searchsorted(left, left[0] + CHUNK)]
            entries = self._entries(int(near[0]), int(near[-1]) + 1)
            inside = near[near - near[0] < len(entries)]
            self._settle(inside, entries[inside - near[0]])
            left = left[len(near) :]
        for start in range(0, len(rest), CHUNK):
            numbers = rest[start : start + CHUNK]
            entries = self._entries(int(numbers[0]), int(numbers[-1]) + 1)
            kept = np.array([number not in instead for number in numbers[: len(entries)].tolist()], bool)
            self._settle(numbers[: len(entries)][kept], entries[kept])
        return instead

    def _settle(self, numbers: Longs, entries: NDArray[Any]) -> None:
        """Judge entries without a record.

        Lost parts of the log explain them, or a power cut removed their records, which is harmless.  An entry of
        zeros was never written and is a finding.
        """
        physical = entries["physical"].astype(np.int64)
        in_log = physical >= self._log.start
        for begin, end in self._lost.stretches:
            inside = in_log & (physical >= begin) & (physical < end)
            if inside.any():
                units, before = self._into.get(begin, (0, 0))
                self._into[begin] = units, before + int(inside.sum())
                in_log &= ~inside
        if self._place.open:
            in_log &= physical < self._lost.log_end  # written since the audit began
        empty = in_log & (physical == 0) & (entries["hash"] == 0)
        for number in numbers[empty].tolist():
            self._add("wrong_entry", number, "it is empty, though the header counts it")
        self._notes.counts["index_entries_of_lost_records"] += int((in_log & ~empty).sum())

    def _say_missing(self, unpaired: list[Missing]) -> None:
        """Add one finding for all missing entries that should follow the same entry."""
        places: dict[int, list[Missing]] = {}
        for missing in unpaired:
            places.setdefault(missing.after, []).append(missing)
        for after, gone in places.items():
            self._notes.add(
                Finding(
                    "missing_entry",
                    self._path,
                    self._file.entry_position(after + 1),
                    f"no entry for {len(gone)} keys of the records from {gone[0].physical} to "
                    f"{gone[-1].physical}, behind entry {after}"
                    if len(gone) > 1
                    else f"no entry for the key with the hash {gone[0].hash} of the record at "
                    f"{gone[0].physical}, behind entry {after}",
                    items=len(gone),
                    records=(gone[0].physical, gone[-1].physical),
                )
            )

    def _check_header(self, begin: int, end: int) -> None:
        head = Head(begin, self._begin_ms, end, self._last[1] if self._last[0] == end else None)
        for finding in head_findings(self._file.name, self._header, head, in_use=self._place.open):
            self._notes.add(finding)

    def _said(self, number: int) -> str:
        [entry] = self._entries(number, number + 1).tolist()
        return f"it has the hash {entry[0]} and points to {entry[1]}"

    def _add(self, kind: str, number: int, text: str) -> None:
        self._notes.add(Finding(kind, self._path, self._file.entry_position(number), f"entry {number}: {text}"))


assert ENTRY.itemsize == ENTRY_BYTES
assert HEADER_BYTES > END_PHYSICAL_AT
