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
