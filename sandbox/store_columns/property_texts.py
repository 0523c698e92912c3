"""Encoded properties of many records at once: tags and keys for dispatch, without a Python step for each record.

All texts are in one buffer with a pair separator before and after each, so one comparison finds all pairs.  Java's
hash is computed column by column: first characters of all values, then second ones, and so on, long values first.
Values with non-ASCII bytes, where bytes are no UTF-16 units, are few and hashed one by one.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sandbox.message import properties as names
from sandbox.store_columns.queue_positions import Longs

_PAIR_END, _NAME_END, _BLANK = b"\x02", b"\x01", ord(" ")
_PADDING = bytes(8)  # so that a word can be read at every pair


class Values(NamedTuple):
    """Byte ranges of values in the buffer, and the row of each."""

    row: Longs
    begin: Longs
    end: Longs


class Keys(NamedTuple):
    """Hashes of indexed keys, in RocketMQ's order: a row's UNIQ_KEY, then each word of its KEYS."""

    row: Longs
    hash: Longs


class Texts:
    """Encoded properties of records in one buffer; `pieces` has one text per row."""

    def __init__(self, pieces: Sequence[bytes]) -> None:
        self._rows = len(pieces)
        self._data = b"".join((_PAIR_END, _PAIR_END.join(pieces), _PAIR_END, _PADDING))
        self._bytes = np.frombuffer(self._data, np.uint8)
        ends = np.flatnonzero(self._bytes == _PAIR_END[0])
        self._begin, self._end = ends[:-1] + 1, ends[1:]
        words = np.ndarray((len(self._data) - 7,), ">u8", buffer=self._data, strides=(1,))
        self._words = words[self._begin].astype(np.uint64)
        lengths = np.fromiter(map(len, pieces), np.int64, self._rows)
        self._text_begin = 1 + np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths + 1)[:-1]])[: self._rows]

    def tags_codes(self) -> Longs:
        """Return the tags code of a queue unit for each row: the hash of its tags, 0 without tags."""
        codes = np.zeros(self._rows, np.int64)
        tags = self._values(names.TAGS)
        codes[tags.row] = self._hashes(tags, np.zeros(len(tags.row), np.uint32))
        return codes

    def keys(self, heads: NDArray[np.uint32]) -> Keys:
        """Return the hashes of the indexed keys of all rows.

        `heads`: for each row the hash of its topic and `#`, the start of every key.
        """
        unique, words = self._values(names.UNIQ_KEY), self._words_of(self._values(names.KEYS))
        both = Values(*(np.concatenate(column) for column in zip(unique, words, strict=True)))
        late = np.repeat([0, 1], [len(unique.row), len(words.row)])
        order = np.lexsort((both.begin, late, both.row))
        both = Values(*(column[order] for column in both))
        signed = self._hashes(both, heads[both.row])
        return Keys(both.row, np.where(signed == -0x8000_0000, 0, np.abs(signed)))

    def texts_of(self, name: str) -> dict[int, str]:
        """Return the values of the property `name` by row; rows without it are left out."""
        values = self._values(name)
        return {int(row): self._text(values, i) for i, row in enumerate(values.row.tolist())}

    def _values(self, name: str) -> Values:
        """Return the last non-empty value of the property, for each row that has one."""
        prefix = name.encode() + _NAME_END
        head = prefix[:8]
        shift = np.uint64(8 * (8 - len(head)))
        hit = (self._words >> shift) == np.uint64(int.from_bytes(head, "big"))
        hit &= self._end - self._begin > len(prefix)
        chosen = np.flatnonzero(hit)
        for i in range(len(head), len(prefix)):
            chosen = chosen[self._bytes[self._begin[chosen] + i] == prefix[i]]
        begin, end = self._begin[chosen], self._end[chosen]
        row = np.searchsorted(self._text_begin, begin, "right") - 1
        last = np.ones(len(row), bool)
        last[:-1] = row[1:] != row[:-1]
        return Values(row[last], begin[last] + len(prefix), end[last])

    def _words_of(self, values: Values) -> Values:
        """Return the words of each value, split at blanks."""
        if not len(values.row):
            return values
        blanks = np.flatnonzero(self._bytes[values.begin[0] : values.end[-1]] == _BLANK) + values.begin[0]
        inside = np.searchsorted(values.begin, blanks, "right") - 1
        kept = blanks < values.end[inside]
        blanks, inside = blanks[kept], inside[kept]
        begin = np.sort(np.concatenate([values.begin, blanks + 1]))
        end = np.sort(np.concatenate([values.end, blanks]))
        row = values.row[np.searchsorted(values.begin, begin, "right") - 1]
        some = end > begin
        return Values(row[some], begin[some], end[some])

    def _hashes(self, values: Values, start: NDArray[np.uint32]) -> Longs:
        """Return the Java hash of each value, continued from `start`: `h = 31 * h + unit`, as signed 32 bits."""
        length = values.end - values.begin
        order = np.argsort(-length, kind="stable")
        begin, descending, hashes = values.begin[order], -length[order], start[order].astype(np.uint32)
        union = np.zeros(len(order), np.uint8)
        for k in range(-int(descending[0]) if len(order) else 0):
            active = int(np.searchsorted(descending, -k, "left"))  # those longer than k
            units = self._bytes[begin[:active] + k]
            union[:active] |= units
            hashes[:active] *= np.uint32(31)
            hashes[:active] += units
        result = np.empty(len(order), np.uint32)
        result[order] = hashes
        for i in map(int, order[union > 0x7F]):
            result[i] = _hash_on(int(start[i]), self._text(values, i))
        return result.view(np.int32).astype(np.int64)

    def _text(self, values: Values, i: int) -> str:
        return self._data[int(values.begin[i]) : int(values.end[i])].decode("utf-8", "replace")


def _hash_on(start: int, text: str) -> int:
    """Return Java's string hash of `text`, continued from the hash `start`."""
    units = text.encode("utf-16-be", "surrogatepass")
    for i in range(0, len(units), 2):
        start = (31 * start + (units[i] << 8 | units[i + 1])) & 0xFFFF_FFFF
    return start
