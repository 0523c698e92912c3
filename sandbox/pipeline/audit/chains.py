"""The hash table of an index file: each entry leads to the one before in its slot, and each slot to its newest."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sandbox.pipeline.audit.found import Found, Notes
from sandbox.store.findings import chain_text, slot_text, slots_used_text
from sandbox.store.reader_index import HEADER_BYTES, SLOT_BYTES, IndexFileReader, IndexHeader

ENTRIES_AT_ONCE = 65_536
SLOTS_USED_AT = 32

Entries = Callable[[int, int], NDArray[Any]]


class Chains:
    """Built again from the hashes, in order."""

    def __init__(self, notes: Notes, file: IndexFileReader, header: IndexHeader, *, open_now: bool) -> None:
        self._notes, self._file, self._header, self._open = notes, file, header, open_now
        self._path = f"index/{file.name}"
        self._newest = np.zeros(file.slots, np.int64)

    def check(self, entries: Entries, instead: Mapping[int, int]) -> None:
        """`instead`: hashes that entries with a finding of their own should have."""
        count = self._header.index_count
        for start in range(1, count, ENTRIES_AT_ONCE):
            self._follow(start, entries(start, start + ENTRIES_AT_ONCE), instead)
        self._check_slots()

    def _follow(self, start: int, part: NDArray[Any], instead: Mapping[int, int]) -> None:
        hashes = part["hash"].astype(np.int64)
        for number, key_hash in instead.items():
            if start <= number < start + len(part):
                hashes[number - start] = key_hash
        slots = hashes % self._file.slots
        order = np.argsort(slots, kind="stable")
        sorted_slots = slots[order]
        first = np.ones(len(order), bool)
        first[1:] = sorted_slots[1:] != sorted_slots[:-1]
        before = np.empty(len(order), np.int64)
        before[first] = self._newest[sorted_slots[first]]
        before[~first] = order[np.flatnonzero(~first) - 1] + start
        expected = np.empty(len(order), np.int64)
        expected[order] = before
        last = np.ones(len(order), bool)
        last[:-1] = first[1:]
        self._newest[sorted_slots[last]] = order[last] + start
        for row in np.flatnonzero(part["previous"] != expected).tolist():
            if start + row not in instead:
                self._notes.add(Found("broken_chain", self._path, self._file.entry_position(start + row),
                                      f"entry {start + row}: " + chain_text(int(slots[row]), int(expected[row]),
                                                                            int(part["previous"][row]))))

    def _check_slots(self) -> None:
        used = int((self._newest > 0).sum())
        if self._header.slots_used != used and not (self._open and self._header.slots_used > used):
            self._notes.add(Found("wrong_header", self._path, SLOTS_USED_AT,
                                  slots_used_text(self._header.slots_used, used)))
        try:
            slots = np.fromfile(self._file.path, ">i4", self._file.slots, offset=HEADER_BYTES)
        except FileNotFoundError:
            return
        # a higher number is of an entry that is not counted yet
        for slot in np.flatnonzero((slots != self._newest) & (slots < self._header.index_count)).tolist():
            self._notes.add(Found("wrong_slot", self._path, HEADER_BYTES + slot * SLOT_BYTES,
                                  slot_text(slot, int(slots[slot]), int(self._newest[slot]))))
