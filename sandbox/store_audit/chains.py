"""Check of the hash table of an index file: entries point to the entry before in their slot, slots to their newest."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sandbox.store.reader_index import (
    HEADER_BYTES,
    SLOT_BYTES,
    SLOTS_USED_AT,
    IndexFileReader,
    IndexHeader,
)
from sandbox.store_audit.findings import Finding, chain_text, slot_text, slots_used_text
from sandbox.store_audit.piece_results import Notes

ENTRIES_AT_ONCE = 65_536

Entries = Callable[[int, int], NDArray[Any]]


class Chains:
    """The hash chains of an index file, computed again from the hashes of its entries in order."""

    def __init__(self, notes: Notes, file: IndexFileReader, header: IndexHeader, *, open_now: bool) -> None:
        self._notes, self._file, self._header, self._open = notes, file, header, open_now
        self._path = f"index/{file.name}"
        self._newest = np.zeros(file.slots, np.int32)

    def check(self, entries: Entries, instead: Mapping[int, int]) -> None:
        """Check the previous-entry links of all entries, then the slots.

        `instead`: by entry number, the hash that an entry with a finding of its own should have.
        """
        count = self._header.index_count
        slots = self._slots()
        if slots is None:
            return
        chosen = self._chosen(entries, slots, instead) if instead else {}
        for start in range(1, count, ENTRIES_AT_ONCE):
            self._follow(start, entries(start, start + ENTRIES_AT_ONCE), chosen)
        self._check_slots(slots)

    def _chosen(self, entries: Entries, slots: NDArray[Any], instead: Mapping[int, int]) -> dict[int, int]:
        """Return, by entry number, the hash with which each entry of `instead` was put: its own or the expected one.

        A link to the entry shows its slot.  If that is the slot of its own hash, the record was changed and not the
        entry.
        """
        numbers = np.array(sorted(instead), np.int64)
        led_from = {int(slots[slot]): int(slot) for slot in np.flatnonzero(np.isin(slots, numbers))}
        for start in range(1, self._header.index_count, ENTRIES_AT_ONCE):
            part = entries(start, start + ENTRIES_AT_ONCE)
            for row in np.flatnonzero(np.isin(part["previous"], numbers)).tolist():
                key_hash = instead.get(start + row, int(part["hash"][row]))
                led_from[int(part["previous"][row])] = key_hash % self._file.slots
        own = {number: int(part[0]) for number in instead if len(part := entries(number, number + 1)["hash"])}
        return {
            number: key_hash if led_from.get(number) == key_hash % self._file.slots else own.get(number, key_hash)
            for number, key_hash in instead.items()
        }

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
                self._notes.add(
                    Finding(
                        "broken_chain",
                        self._path,
                        self._file.entry_position(start + row),
                        f"entry {start + row}: "
                        + chain_text(int(slots[row]), int(expected[row]), int(part["previous"][row])),
                    )
                )

    def _slots(self) -> NDArray[Any] | None:
        try:
            return np.fromfile(self._file.path, ">i4", self._file.slots, offset=HEADER_BYTES)
        except FileNotFoundError:
            return None

    def _check_slots(self, slots: NDArray[Any]) -> None:
        used = int((self._newest > 0).sum())
        if self._header.slots_used != used and not (self._open and self._header.slots_used > used):
            self._notes.add(
                Finding("wrong_header", self._path, SLOTS_USED_AT, slots_used_text(self._header.slots_used, used))
            )
        # a number beyond the header's belongs to an incomplete entry, or to none and counts as empty
        beyond = slots >= self._header.index_count
        harmless = beyond & (slots < self._file.entries if self._open else self._newest == 0)
        for slot in np.flatnonzero((slots != self._newest) & ~harmless).tolist():
            self._notes.add(
                Finding(
                    "wrong_slot",
                    self._path,
                    HEADER_BYTES + slot * SLOT_BYTES,
                    slot_text(slot, int(slots[slot]), int(self._newest[slot])),
                )
            )
