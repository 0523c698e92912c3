"""Property texts that differ only where their keys end: read together, not one by one."""

from collections.abc import Sequence
from itertools import chain

from sandbox.message import properties
from sandbox.message.string_hash import TAIL_BYTES, KeyHasher, hashes_of_tails, tags_code_of_bytes

_PAIR_END = b"\x02"
_END = b"\x00"  # between texts that are looked at together; a text that holds it is read alone


class KeyPattern:
    """What the texts of one application have in common: `literal ending literal ending literal`.

    The endings are the last characters of the unique key and of each word of KEYS, and all of it is
    taken from one text.  Whether other texts are so too, and what their endings are, `bytes.split`
    says for all at once: for two keys a message a fifth of what reading each text would cost.
    """

    __slots__ = ("_between", "_first", "_heads", "_last", "_middle", "_order", "keys", "tags_code")

    def __init__(self, literals: list[bytes], heads: list[int], order: list[int], tags_code: int) -> None:
        self._first, *middle, self._last = literals
        self._between = self._last + _END + self._first
        self._middle = [(literal, literal + _END + literal) for literal in middle]
        self._heads = heads
        self._order = order
        self.keys = len(heads)  # index entries of every message
        self.tags_code = tags_code

    @classmethod
    def of(cls, text: bytes, hasher: KeyHasher) -> "KeyPattern | None":
        """The pattern of this text; None when it can only be read alone."""
        found = _keys_in(text)
        if found is None or _END in text:
            return None
        literals, heads, at = [], [], 0
        for begin, end, _ in found:
            key = text[begin:end]
            if len(key) < TAIL_BYTES or not key.isascii():
                return None
            literals.append(text[at : end - TAIL_BYTES])
            heads.append(hasher.head(key[:-TAIL_BYTES]))
            at = end
        tags = properties.dispatched(text)[0]
        order = sorted(range(len(found)), key=lambda i: found[i][2])  # the unique key is indexed first
        return cls([*literals, text[at:], *([] if found else [b""])], heads, order,
                   tags_code_of_bytes(tags) if tags else 0)

    def hashes(self, texts: Sequence[bytes]) -> list[int] | None:
        """Index hashes of all keys, message by message; None when some text is different, or ends in something new.

        Endings hold neither separators nor `_END`, and literals no `_END`: so what was split here
        cannot be joined from any other texts.
        """
        count, first, last = len(texts), self._first, self._last
        if not self._heads:
            return [] if texts.count(first) == count else None
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
        hashed: list[list[int]] = []
        for i in self._order:
            column = hashes_of_tails(self._heads[i], columns[i])
            if column is None:
                return None
            hashed.append(column)
        return hashed[0] if len(hashed) == 1 else list(chain.from_iterable(zip(*hashed, strict=True)))


def _keys_in(text: bytes) -> list[tuple[int, int, int]] | None:
    """Begin, end and rank of every key: 0 for the unique key, 1 for words of KEYS.  None: a name stands twice."""
    found: list[tuple[int, int, int]] = []
    names: set[bytes] = set()
    at = 0
    for pair in text.split(_PAIR_END):
        name = pair[: pair.find(b"\x01") + 1]
        begin, end = at + len(name), at + len(pair)
        at = end + len(_PAIR_END)
        if name == b"KEYS\x01":
            for word in text[begin:end].split(b" "):
                found.append((begin, begin + len(word), 1))
                begin += len(word) + 1
        elif name == b"UNIQ_KEY\x01":
            found.append((begin, end, 0))
        elif name != b"TAGS\x01":
            continue
        if name in names:
            return None
        names.add(name)
    return found
