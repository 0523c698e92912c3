"""Bit positions of a group and topic in RocketMQ's bloom filter.

The filter itself (in `consumequeue_ext`) is off by default and not implemented.  Its positions are still written to
`consumerFilter.json`: Apache's broker drops the whole file if they are missing or have another size.  RocketMQ:
`BloomFilter` for 32 groups and 20 % errors, over Guava's `murmur3_128` (spec store-format 10).
"""

BITS = 112  # 32 groups at 20 %: rounded up to whole bytes
HASHES = 3

_C1, _C2 = 0x87C37B91114253D5, 0x4CF5AD432745937F
_MASK = (1 << 64) - 1


def bloom_positions(group: str, topic: str) -> tuple[int, ...]:
    """Return the bit positions of `group#topic`.  RocketMQ: `BloomFilter.calcBitPositions`."""
    hash64 = _murmur3(f"{group}#{topic}".encode())
    low, high = _int(hash64), _int(hash64 >> 32)
    positions = []
    for number in range(1, HASHES + 1):
        combined = _int(low + number * high)
        positions.append((~combined if combined < 0 else combined) % BITS)
    return tuple(positions)


def _murmur3(data: bytes) -> int:
    """Return the lower 64 bits of MurmurHash3 x64 128 with seed 0."""
    h1 = h2 = 0
    whole = len(data) // 16 * 16
    for at in range(0, whole, 16):
        k1 = int.from_bytes(data[at : at + 8], "little")
        k2 = int.from_bytes(data[at + 8 : at + 16], "little")
        h1 = (_rotated(h1 ^ _mixed_1(k1), 27) + h2) * 5 + 0x52DCE729 & _MASK
        h2 = (_rotated(h2 ^ _mixed_2(k2), 31) + h1) * 5 + 0x38495AB5 & _MASK
    tail = data[whole:]
    h1 ^= _mixed_1(int.from_bytes(tail[:8], "little"))
    h2 ^= _mixed_2(int.from_bytes(tail[8:], "little"))
    h1 ^= len(data)
    h2 ^= len(data)
    h1 = h1 + h2 & _MASK
    h2 = h2 + h1 & _MASK
    return _spread(h1) + _spread(h2) & _MASK


def _mixed_1(k: int) -> int:
    return _rotated(k * _C1 & _MASK, 31) * _C2 & _MASK


def _mixed_2(k: int) -> int:
    return _rotated(k * _C2 & _MASK, 33) * _C1 & _MASK


def _rotated(value: int, bits: int) -> int:
    return (value << bits | value >> 64 - bits) & _MASK


def _spread(k: int) -> int:
    k = (k ^ k >> 33) * 0xFF51AFD7ED558CCD & _MASK
    k = (k ^ k >> 33) * 0xC4CEB9FE1A85EC53 & _MASK
    return k ^ k >> 33


def _int(value: int) -> int:
    """Return the value as Java's `(int)` cast does: a signed 32-bit number."""
    return (value + 0x8000_0000) % (1 << 32) - 0x8000_0000
