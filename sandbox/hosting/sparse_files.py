"""Copies and checksums of directories with sparse files: space reserved but not written uses no disk blocks."""

import errno
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from zlib import crc32

PIECE_BYTES = 64 * 1024

Sums = dict[str, list[int]]  # path below the directory → size and checksum


def sums_of(directory: Path) -> Sums:
    """Return size and checksum of each file below `directory`, by relative path.  Raises OSError."""
    return {str(path.relative_to(directory)): _copied(path, None) for path in _files(directory)}


def copy_directory(source: Path, target: Path, *, without: tuple[str, ...] = ()) -> Sums:
    """Copy a directory with modes and times of its files to a new `target`; return sizes and checksums.

    Raises OSError.  `without`: prefixes of names at the top of `source` to omit.
    """
    sums: Sums = {}
    target.mkdir()
    names = [path.relative_to(source) for path in sorted(source.rglob("*"))]
    selected = [name for name in names if not name.parts[0].startswith(without)]
    for name in selected:
        if (source / name).is_dir():
            (target / name).mkdir()
    for name in [name for name in selected if (source / name).is_file()]:
        path = source / name
        sums[str(name)] = _copied(path, target / name)
        shutil.copystat(path, target / name)
    return sums


def _files(directory: Path) -> list[Path]:
    return sorted(path for path in directory.rglob("*") if path.is_file())


def _copied(source: Path, target: Path | None) -> list[int]:
    """Return size and checksum of a file, and copy it to `target` if set.

    Zeros are neither written nor included in the checksum, because the file system decides which of them use blocks.
    """
    with source.open("rb") as file:
        size, checksum = os.fstat(file.fileno()).st_size, 0
        out = None if target is None else os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            for start, piece in _pieces(file.fileno(), size):
                checksum = crc32(piece, crc32(start.to_bytes(8), checksum))
                if out is not None:
                    _write(out, piece, start)
            if out is not None:
                os.truncate(out, size)
        finally:
            if out is not None:
                os.close(out)
    return [size, checksum]


def _pieces(descriptor: int, size: int) -> Iterator[tuple[int, bytes]]:
    """Yield position and data of the pieces of a file that are not all zeros."""
    start = 0
    while start < size:
        try:
            data = os.lseek(descriptor, start, os.SEEK_DATA)
        except OSError as error:
            if error.errno == errno.ENXIO:  # only a hole is left
                return
            raise
        start = data - data % PIECE_BYTES
        piece = os.pread(descriptor, PIECE_BYTES, start)
        if piece.count(0) < len(piece):
            yield start, piece
        start += PIECE_BYTES


def _write(descriptor: int, piece: bytes, start: int) -> None:
    while piece:
        written = os.pwrite(descriptor, piece, start)
        piece, start = piece[written:], start + written
