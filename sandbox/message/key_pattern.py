"""Fast reading of many property texts that differ only in their tags and at the ends of their keys."""

from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

from sandbox.message.string_hash import TAIL_BYTES, KeyHasher, codes_of_tags, hashes_of_tails, tags_code_of_bytes

_PAIR_END = b"\x02"
_END = b"\x00"  # separator of texts read together; a text that contains it is read alone
_TAGS, _UNIQUE, _WORD = b"TAGS\x01", b"UNIQ_KEY\x01", b"KEYS\x01"
_TOGETHER = 4
_PATIENCE = 6  # at most 62 calls are skipped between two attempts

Read = tuple[list[int], list[int]]  # a tags code per message; index hashes, message by message


class TextReader:
    """Reader of the property texts of one topic by a pattern of earlier texts.

    For texts without a common pattern it tries again from time to time: after each failure the next attempt comes
    later.
    """

    __slots__ = ("_in_vain", "_pattern", "_skip", "hasher")

    def __init__(self, topic: str) -> None:
        self.hasher = KeyHasher(topic)
        self._pattern: KeyPattern | None = None
        self._skip = 0
        self._in_vain = 0

    def read(self, texts: Sequence[bytes]) -> Read | None:
        """Return tags codes and index hashes of these texts; None: read each by itself, which is faster for a few."""
        if len(texts) < _TOGETHER:
            return None
        if self._pattern is not None and (keys := self._pattern.read(texts)) is not None:
            self._in_vain = 0
            return keys
        if self._skip:
            self._skip -= 1
            return None
        for many_tags in (False, True):  # fewer places to split at is faster
            pattern = KeyPattern.of(texts[-1], self.hasher, many_tags=many_tags)
            if pattern is not None and (keys := pattern.read(texts)) is not None:
                self._pattern = pattern
                return keys
        self._pattern = None
        self._in_vain = min(self._in_vain + 1, _PATIENCE)
        self._skip = (1 << self._in_vain) - 2
        return None


class _Value(NamedTuple):
    """A variable part of a text: the tags, or the end of a key that begins at `key_at`."""

    name: bytes
    key_at: int
    at: int
    end: int


class KeyPattern:
    """The common parts of one application's texts: `literal value literal value literal`.

    A value is the end of the unique key or of a word of KEYS, and with `many_tags` the tags; one text supplies all
    literals.  `bytes.split` checks for all texts at once if they fit, and returns their values: a quarter of the
    cost of reading each of 32 texts.
    """

    __slots__ = ("_between", "_code", "_first", "_heads", "_last", "_middle", "_tags_at")

    def __init__(self, text: bytes, values: list[_Value], hasher: KeyHasher, code: int) -> None:
        begins, ends = [value.at for value in values], [value.end for value in values]
        literals = [text[begin:end] for begin, end in zip([0, *ends], [*begins, len(text)], strict=True)]
        self._first, self._last = literals[0], literals[-1]
        self._between = self._last + _END + self._first
        self._middle = [(literal, literal + _END + literal) for literal in literals[1:-1]]
        keys = [
            (i, hasher.head(text[value.key_at : value.at]))
            for name in (_UNIQUE, _WORD)  # as they are indexed
            for i, value in enumerate(values)
            if value.name == name
        ]
        self._heads = keys
        self._tags_at = next((i for i, value in enumerate(values) if value.name == _TAGS), None)
        self._code = code  # when all have these tags

    @classmethod
    def of(cls, text: bytes, hasher: KeyHasher, *, many_tags: bool) -> "KeyPattern | None":
        """Return the pattern of this text; None if it can only be read alone."""
        positions: dict[bytes, tuple[int, int]] = {}
        at = 0
        for pair in text.split(_PAIR_END):
            name = pair[: pair.find(b"\x01") + 1]
            if name != pair:  # the last one with a value counts
                positions.pop(name, None)
                positions[name] = (at + len(name), at + len(pair))
            at += len(pair) + len(_PAIR_END)
        values: list[_Value] = []
        for name, (begin, end) in positions.items():
            if name == _TAGS and many_tags:
                values.append(_Value(name, begin, begin, end))
            elif name in (_UNIQUE, _WORD):
                for key in text[begin:end].split(b" ") if name == _WORD else (text[begin:end],):
                    if len(key) < TAIL_BYTES or not key.isascii():
                        return None
                    stop = begin + len(key)
                    values.append(_Value(name, begin, stop - TAIL_BYTES, stop))
                    begin = stop + 1
        if not values or _END in text:
            return None
        tags_at, tags_end = positions.get(_TAGS, (0, 0))
        return cls(text, values, hasher, tags_code_of_bytes(text[tags_at:tags_end]))

    def read(self, texts: Sequence[bytes]) -> Read | None:
        """Return tags codes and index hashes of these texts; None if one does not fit, or has an unknown value.

        Known values contain neither separators nor `_END`, and literals no `_END`: so the split is unambiguous.
        """
        columns = self._split(texts)
        if columns is None:
            return None
        codes = None if self._tags_at is None else codes_of_tags(columns[self._tags_at])
        if codes is None:
            if self._tags_at is not None:
                return None
            codes = [self._code] * len(texts)
        hashed: list[list[int]] = []
        for i, head in self._heads:
            column = hashes_of_tails(head, columns[i])
            if column is None:
                return None
            hashed.append(column)
        return codes, hashed[0] if len(hashed) == 1 else list(chain.from_iterable(zip(*hashed, strict=True)))

    def _split(self, texts: Sequence[bytes]) -> list[list[bytes]] | None:
        """Return the values of all texts, one list for each variable part; None if not all have these literals."""
        count, first, last = len(texts), self._first, self._last
        joined = _END.join(texts)
        if not (joined.startswith(first) and joined.endswith(last)):
            return None
        rest = joined[len(first) : len(joined) - len(last)].split(self._between)
        if len(rest) != count:
            return None
        columns: list[list[bytes]] = []
        for literal, marked in self._middle:
            parts = marked.join(rest).split(literal)
            if len(parts) != 3 * count - 1 or parts[2::3].count(_END) != count - 1:
                return None
            columns.append(parts[::3])
            rest = parts[1::3]
        columns.append(rest)
        return columns
