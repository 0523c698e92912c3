"""Bodies that the producer made smaller (spec store-format 2.7).  The broker never touches them."""

import zlib
from typing import NamedTuple

from sandbox.kernel.errors import CorruptRecord
from sandbox.message import sys_flag as bits

COMPRESS_OVER_BYTES = 4096  # a body of this size or more is compressed; batches never are
LEVEL = 5
MAX_PLAIN_BYTES = 64 * 1024 * 1024  # what a body may grow to; a message is at most 4 MiB where it is made
ZLIB_FLAGS = bits.COMPRESSED | bits.COMPRESSION_ZLIB

PIECE_BYTES = 64 * 1024  # unpacked at a time, of a body whose length is wanted

_NAMES = {bits.COMPRESSION_LZ4: "LZ4", bits.COMPRESSION_ZSTD: "ZSTD"}  # RocketMQ 5


def compress(body: bytes) -> bytes:
    """The body as a zlib stream; the record's sys flag then carries ZLIB_FLAGS."""
    return zlib.compress(body, LEVEL)


def decompress_start(body: bytes, sys_flag: int, most: int) -> bytes:
    """The first bytes of what the application sent, from no more than `most` packed ones.  Raises CorruptRecord."""
    if not sys_flag & bits.COMPRESSED:
        return body[:most]
    try:
        return _inflater(sys_flag).decompress(body[:most], most)
    except zlib.error as why:
        raise CorruptRecord(f"compressed body of {len(body)} bytes is no zlib stream") from why


class Unpacked(NamedTuple):
    """The first bytes of a body and its length; `size` is None where it is longer than was asked for."""

    start: bytes
    size: int | None


def measure(body: bytes, sys_flag: int, *, keep: int, most: int) -> Unpacked:
    """Unpacks no more than `most` bytes and a piece, and keeps none but the first `keep`.  Raises CorruptRecord."""
    if not sys_flag & bits.COMPRESSED:
        return Unpacked(body[:keep], len(body))
    inflate = _inflater(sys_flag)
    start, size, at, packed = b"", 0, 0, b""
    while not inflate.eof:
        if not packed:
            packed = body[at:at + PIECE_BYTES]
            at += len(packed)
        try:
            piece = inflate.decompress(packed, PIECE_BYTES)
        except zlib.error as why:
            raise CorruptRecord(f"compressed body of {len(body)} bytes is no zlib stream") from why
        packed = inflate.unconsumed_tail
        start += piece[:keep - len(start)]
        size += len(piece)
        if size > most:
            return Unpacked(start, None)
        if not piece and not packed and at == len(body) and not inflate.eof:
            raise CorruptRecord(f"compressed body of {len(body)} bytes ends too early")
    return Unpacked(start, size)


def decompress(body: bytes, sys_flag: int) -> bytes:
    """The body as the application sent it.  Raises CorruptRecord for a type we cannot read."""
    if not sys_flag & bits.COMPRESSED:
        return body
    inflate = _inflater(sys_flag)
    try:
        plain = inflate.decompress(body, MAX_PLAIN_BYTES)
    except zlib.error as why:
        raise CorruptRecord(f"compressed body of {len(body)} bytes is no zlib stream") from why
    if not inflate.eof:
        raise CorruptRecord(f"compressed body of {len(body)} bytes ends too early, or grows over {MAX_PLAIN_BYTES}")
    return plain


def _inflater(sys_flag: int) -> "zlib._Decompress":
    kind = sys_flag & bits.COMPRESSION_MASK
    if kind not in (bits.COMPRESSION_LEGACY, bits.COMPRESSION_ZLIB):
        name = _NAMES.get(kind, f"type {kind >> 8}")
        raise CorruptRecord(f"the body is compressed with {name}, which is not read here")
    return zlib.decompressobj()
