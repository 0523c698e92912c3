"""Names and values of property texts as Arrow columns, split at their separators at once (spec store-format 2).

A text is `name \\x01 value \\x02` repeated; RocketMQ 5 leaves out the last \\x02.  Other texts (a name without a value,
a \\x01 in a value, a repeated name) are rare: their batch is read by `message.properties`.
"""

from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sandbox.message import properties

MAX_PAIRS = 64  # of a text; with more its batch is read pair by pair
_NAME_END, _PAIR_END = 1, 2
_SLOTS = 4  # of a pair: name, separator, value, separator

Longs = NDArray[np.int64]


class Properties:
    """The encoded properties of one batch, strings without nulls."""

    def __init__(self, texts: pa.Array) -> None:
        self._count = len(texts)
        self._offsets, self._data = _buffers(texts)
        if len(unended := self._unended()):
            texts = _ended(texts, unended)
            self._offsets, self._data = _buffers(texts)
        self._texts = texts

    def column(self) -> pa.Array:
        """Return a map of names and values for each row."""
        if not self._is_plain or self._repeats_names:
            return pa.array([list(row.items()) for row in self._rows], pa.map_(pa.string(), pa.string()))
        return pa.MapArray.from_arrays(pa.array(self._first_pairs.astype(np.int32)), self._names, self._slots(2))

    def value(self, name: str) -> pa.Array:
        """Return the property's value for each row, null if missing; the last value if there are several."""
        if not self._is_plain:
            return pa.array([row.get(name) for row in self._rows], pa.string())
        text = name.encode()
        chosen = np.flatnonzero(self._name_bytes == len(text))
        for at in range(len(text)):
            chosen = chosen[self._data[self._starts[chosen] + at] == text[at]]
        rows = self._row_of[chosen]
        pairs = np.full(self._count, -1, np.int64)
        pairs[rows] = chosen
        missing = pairs < 0
        return self._pieces.take(pa.array(pairs * _SLOTS + 2, mask=missing if missing.any() else None))

    def _unended(self) -> Longs:
        """Return the numbers of texts that are not empty and have no separator at the end."""
        filled: Longs = np.flatnonzero(np.diff(self._offsets))
        unended: Longs = filled[self._data[self._offsets[filled + 1] - 1] != _PAIR_END]
        return unended

    @cached_property
    def _separators(self) -> Longs:
        shifted = self._data - np.uint8(_NAME_END)
        return np.flatnonzero(np.less(shifted, 2, out=shifted.view(np.bool_)))

    @cached_property
    def _is_plain(self) -> bool:
        """True if all texts consist of pairs, each with a name and a value."""
        separators = self._separators
        kinds = self._data[separators]
        return len(separators) % 2 == 0 and bool(
            (kinds[::2] == _NAME_END).all()
            and (kinds[1::2] == _PAIR_END).all()
            and (self._name_bytes > 0).all()
            and (self._ends > self._marks + 1).all()
        )

    @property
    def _marks(self) -> Longs:
        return self._separators[::2]

    @property
    def _ends(self) -> Longs:
        return self._separators[1::2]

    @cached_property
    def _starts(self) -> Longs:
        starts = np.zeros(len(self._ends), np.int64)
        starts[1:] = self._ends[:-1] + 1
        return starts

    @cached_property
    def _name_bytes(self) -> Longs:
        return self._marks - self._starts

    @cached_property
    def _first_pairs(self) -> Longs:
        """The number of the first pair of each row, and one beyond the last."""
        return np.searchsorted(self._ends, self._offsets)

    @cached_property
    def _row_of(self) -> Longs:
        return np.repeat(np.arange(self._count), np.diff(self._first_pairs))

    @cached_property
    def _pieces(self) -> pa.Array:
        """The text of the batch as an array of pieces: name, separator, value, separator."""
        bounds = np.empty(_SLOTS * len(self._ends) + 1, np.int32)
        bounds[0:-1:4], bounds[1::4], bounds[2::4], bounds[3::4] = (
            self._starts,
            self._marks,
            self._marks + 1,
            self._ends,
        )
        bounds[-1] = len(self._data)
        return pa.Array.from_buffers(
            pa.string(), len(bounds) - 1, [None, pa.py_buffer(bounds), self._texts.buffers()[2]]
        )

    def _slots(self, first: int) -> pa.Array:
        return self._pieces.take(pa.array(np.arange(first, _SLOTS * len(self._ends), _SLOTS, dtype=np.int64)))

    @cached_property
    def _names(self) -> pa.Array:
        return self._slots(0)

    @property
    def _repeats_names(self) -> bool:
        """True if a row may have a name twice."""
        first, last = self._data[self._starts], self._data[self._marks - 1]
        alike = (self._name_bytes << 16) | (first.astype(np.int64) << 8) | last
        if not self._repeats(alike):
            return False
        return self._repeats(self._names.dictionary_encode().indices.to_numpy())

    def _repeats(self, marks: NDArray[Any]) -> bool:
        """Return True if two pairs of a row have the same mark, or if a row has too many pairs to check."""
        rows = self._row_of
        most = int(np.diff(self._first_pairs).max(initial=0))
        return most > MAX_PAIRS or any(
            bool(((marks[apart:] == marks[:-apart]) & (rows[apart:] == rows[:-apart])).any())
            for apart in range(1, most)
        )

    @cached_property
    def _rows(self) -> list[dict[str, str]]:
        return [properties.decode(text) for text in self._texts.to_pylist()]


def _buffers(texts: pa.Array) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
    """Return the offsets and the bytes of texts, which are a whole array and no slice of one."""
    assert texts.offset == 0
    if not len(texts):
        return np.zeros(1, np.int32), np.empty(0, np.uint8)
    offsets = np.frombuffer(texts.buffers()[1], np.int32, len(texts) + 1)
    return offsets, np.frombuffer(texts.buffers()[2] or b"", np.uint8, int(offsets[-1]))


def _ended(texts: pa.Array, unended: Longs) -> pa.Array:
    """Return the texts with a separator added to those that do not end with one."""
    ends = np.zeros(len(texts), np.bool_)
    ends[unended] = True
    return pc.binary_join_element_wise(texts, pc.if_else(pa.array(ends), "\x02", ""), "")
