"""Java's `String.hashCode`, which RocketMQ stores in queues and indexes."""

from functools import lru_cache
from typing import cast

_MASK = 0xFFFF_FFFF


def signed(value: int) -> int:
    """Return the low 32 bits as Java's int."""
    value &= _MASK
    return value - 0x1_0000_0000 if value & 0x8000_0000 else value


def java_hash(text: str) -> int:
    """Return `h = 31 * h + unit` over the UTF-16 units, as a signed 32-bit number."""
    h = 0
    if text.isascii():
        for unit in text.encode():
            h = 31 * h + unit
    else:
        units = text.encode("utf-16-be", "surrogatepass")
        for i in range(0, len(units), 2):
            h = (31 * h + (units[i] << 8 | units[i + 1])) & _MASK
    return signed(h)


@lru_cache(maxsize=4096)
def tags_code(tags: str) -> int:
    """Return the tags code of a queue entry for a message with these tags; 0 without tags."""
    return java_hash(tags) if tags else 0


_TAGS_ENTRIES = 1024
_tags: dict[bytes, int] = {}


def tags_code_of_bytes(tags: bytes) -> int:
    """Return the tags code of tags in UTF-8."""
    code = _tags.get(tags)
    if code is None:
        code = java_hash(tags.decode("utf-8", "replace"))
        if min(tags, default=0) >= ord(" "):  # none of the separators of a property text
            if len(_tags) >= _TAGS_ENTRIES:
                _tags.clear()
            _tags[tags] = code
    return code


def codes_of_tags(column: list[bytes]) -> list[int] | None:
    """Return the tags code of each; None if one of them is not cached."""
    codes = list(map(_tags.get, column))
    return None if None in codes else cast("list[int]", codes)


def index_key_hash(text: str) -> int:
    """Return `abs(hashCode)` of `topic#key`; Java's `abs(MIN_VALUE)` stays negative and becomes 0."""
    return abs(h) if (h := java_hash(text)) != -0x8000_0000 else 0


TAIL_BYTES = 3  # 1,000 endings of decimal keys, 4,096 of hexadecimal ones
_TAIL_POWER = 31**TAIL_BYTES
_CACHE_ENTRIES = 8192
_HEAD_ENTRIES = 128  # per topic
_tails: dict[bytes, int] = {}


def hashes_of_tails(head: int, tails: list[bytes]) -> list[int] | None:
    """Return the `index_key_hash` of keys with the same `KeyHasher.head`.

    None if one of these endings is not cached.
    """
    hashes = list(map(_tails.get, tails))
    if None in hashes:
        return None
    return [h if (h := head + tail & _MASK) < 0x8000_0000 else -h & 0x7FFF_FFFF for tail in cast("list[int]", hashes)]


class KeyHasher:
    """Hasher that computes the `index_key_hash` of `topic#key` for the keys of one topic, as UTF-8.

    Keys of one application mostly differ at their end, so the hash of the common part is cached, and that of every
    ending.  Only ASCII parts are cached, where bytes and UTF-16 units are the same, and only endings without
    separators.
    """

    __slots__ = ("_heads", "_prefix")

    def __init__(self, topic: str) -> None:
        self._prefix = topic + "#"
        self._heads: dict[bytes, int] = {}

    def hash(self, key: bytes) -> int:
        head = self._heads.get(key[:-TAIL_BYTES])
        tail = _tails.get(key[-TAIL_BYTES:])
        if head is None or tail is None:
            return self._remember(key)
        h = head + tail & _MASK
        return h if h < 0x8000_0000 else -h & 0x7FFF_FFFF

    def head(self, head: bytes) -> int:
        """Return what the ASCII start of a key adds to its hash if `TAIL_BYTES` follow."""
        known = self._heads.get(head)
        if known is None:
            if len(self._heads) >= _HEAD_ENTRIES:
                self._heads.clear()
            known = self._heads[head] = java_hash(self._prefix + head.decode()) * _TAIL_POWER & _MASK
        return known

    def _remember(self, key: bytes) -> int:
        tail = key[-TAIL_BYTES:]
        if len(key) >= TAIL_BYTES and key.isascii() and min(tail) > ord(" "):
            self.head(key[:-TAIL_BYTES])
            if len(_tails) >= _CACHE_ENTRIES:
                _tails.clear()
            _tails[tail] = java_hash(tail.decode())
        return index_key_hash(self._prefix + key.decode("utf-8", "replace"))
