"""Java's `String.hashCode`, which RocketMQ stores in queues and indexes."""

from functools import lru_cache

_MASK = 0xFFFF_FFFF


def signed(value: int) -> int:
    """The low 32 bits as Java's int."""
    value &= _MASK
    return value - 0x1_0000_0000 if value & 0x8000_0000 else value


def java_hash(text: str) -> int:
    """`h = 31 * h + unit` over the UTF-16 units, as a signed 32-bit number."""
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
    """What a queue unit holds for a message with these tags; 0 for none."""
    return java_hash(tags) if tags else 0


def index_key_hash(text: str) -> int:
    """`abs(hashCode)` of `topic#key`, where Java's `abs(MIN_VALUE)` stays negative and becomes 0."""
    return abs(h) if (h := java_hash(text)) != -0x8000_0000 else 0


_POWERS = [pow(31, n, 1 << 32) for n in range(256)]
_TAIL = 3  # characters: 1,000 endings of decimal keys, 4,096 of hexadecimal ones
_CACHE_ENTRIES = 8192
_heads: dict[bytes, int] = {}
_tails: dict[bytes, int] = {}


def key_prefix_hash(topic: str) -> int:
    """What `joined_key_hash` needs to know of a topic: the hash of `topic#`."""
    return java_hash(topic + "#")


def joined_key_hash(prefix_hash: int, key: bytes) -> int:
    """`index_key_hash` of prefix and key, without hashing the prefix again.

    Keys of one application mostly differ at their end, so both parts of a key are remembered.
    """
    size = len(key)
    if size > 255 or not key.isascii():
        return _joined_slowly(prefix_hash, key)
    head, tail = key[:-_TAIL], key[-_TAIL:]
    h = _heads.get(head)
    if h is None:
        h = _remember(_heads, head)
    t = _tails.get(tail)
    if t is None:
        t = _remember(_tails, tail)
    h = (prefix_hash * _POWERS[size] + h * _POWERS[len(tail)] + t) & _MASK
    if h < 0x8000_0000:
        return h
    return 0x1_0000_0000 - h if h != 0x8000_0000 else 0


def _remember(cache: dict[bytes, int], part: bytes) -> int:
    h = 0
    for unit in part:
        h = 31 * h + unit
    h &= _MASK
    if len(cache) >= _CACHE_ENTRIES:
        cache.clear()
    cache[part] = h
    return h


def _joined_slowly(prefix_hash: int, key: bytes) -> int:
    text = key.decode("utf-8", "replace")
    units = len(text.encode("utf-16-be", "surrogatepass")) // 2
    h = signed(prefix_hash * pow(31, units, 1 << 32) + java_hash(text))
    return abs(h) if h != -0x8000_0000 else 0
