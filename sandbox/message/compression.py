"""Compression of bodies by the producer (spec store-format 2.7).  The broker never changes a body."""

import zlib
from collections.abc import Iterator
from typing import NamedTuple

from sandbox.kernel.errors import CorruptRecord
from sandbox.message import sys_flag as bits

LEVEL = 5
MAX_PLAIN_BYTES = 64 * 1024 * 1024  # limit of a decompressed body; a message is at most 4 MiB where it is made
ZLIB_FLAGS = bits.COMPRESSED | bits.COMPRESSION_ZLIB

PIECE_BYTES = 64 * 1024  # decompressed at a time

_NAMES = {bits.COMPRESSION_LZ4: "LZ4", bits.COMPRESSION_ZSTD: "ZSTD"}  # RocketMQ 5


def compress(body: bytes) -> bytes:
    """Return the body as a zlib stream; the record's sys flag then has ZLIB_FLAGS."""
    return zlib.compress(body, LEVEL)


def decompress_start(body: bytes, sys_flag: int, most: int) -> bytes:
    """Return the first bytes of the original body, from at most `most` compressed ones.  Raises CorruptRecord."""
    if not sys_flag & bits.COMPRESSED:
        return body[:most]
    try:
        return _inflater(sys_flag).decompress(body[:most], most)
    except zlib.error as error:
        raise CorruptRecord(f"compressed body of {len(body)} bytes is no zlib stream") from error


class Unpacked(NamedTuple):
    """The first bytes of a body and its length; `size` is None if the body is longer than the given limit."""

    start: bytes
    size: int | None


def measure(body: bytes, sys_flag: int, *, keep: int, most: int) -> Unpacked:
    """Return the first `keep` bytes and the length of the original body.  Raises CorruptRecord.

    Decompression stops after the piece that passes `most` bytes.
    """
    if not sys_flag & bits.COMPRESSED:
        return Unpacked(body[:keep], len(body))
    start, size = b"", 0
    for piece in _inflated(body, sys_flag):
        start += piece[: keep - len(start)]
        size += len(piece)
        if size > most:
            return Unpacked(start, None)
    return Unpacked(start, size)


def pieces(body: bytes, sys_flag: int, most: int) -> Iterator[bytes]:
    """Yield the original body, in pieces of at most 64 KiB if it is compressed.

    Raises CorruptRecord for a body of more than `most` bytes, and for an unsupported type.
    """
    if not sys_flag & bits.COMPRESSED:
        yield body
        return
    size = 0
    for piece in _inflated(body, sys_flag):
        size += len(piece)
        if size > most:
            raise CorruptRecord(f"compressed body of {len(body)} bytes grows over {most} bytes")
        yield piece


def decompress(body: bytes, sys_flag: int, most: int = MAX_PLAIN_BYTES) -> bytes:
    """Return the original body.  Raises CorruptRecord as `pieces` does."""
    return b"".join(pieces(body, sys_flag, most)) if sys_flag & bits.COMPRESSED else body


def _inflated(body: bytes, sys_flag: int) -> Iterator[bytes]:
    inflate = _inflater(sys_flag)
    at, packed = 0, b""
    while not inflate.eof:
        if not packed:
            packed = body[at : at + PIECE_BYTES]
            at += len(packed)
        try:
            piece = inflate.decompress(packed, PIECE_BYTES)
        except zlib.error as error:
            raise CorruptRecord(f"compressed body of {len(body)} bytes is no zlib stream") from error
        packed = inflate.unconsumed_tail
        if piece:
            yield piece
        elif not packed and at == len(body) and not inflate.eof:
            raise CorruptRecord(f"compressed body of {len(body)} bytes ends too early")


def _inflater(sys_flag: int) -> "zlib._Decompress":
    kind = sys_flag & bits.COMPRESSION_MASK
    if kind not in (bits.COMPRESSION_LEGACY, bits.COMPRESSION_ZLIB):
        name = _NAMES.get(kind, f"type {kind >> 8}")
        raise CorruptRecord(f"the body is compressed with {name}, which is not read here")
    return zlib.decompressobj()
