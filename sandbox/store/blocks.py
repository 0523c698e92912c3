"""Allocation of a mapped file's blocks before a write to the mapping, and search without a mapping.

A write to a hole for which a full disk has no block cannot be caught as an error: it ends the process (SIGBUS).  On
a file system in memory reading a hole through a mapping does the same.
"""

import errno
import os

PIECE_BYTES = 64 * 1024

_allocate = getattr(os, "posix_fallocate", None)  # not on macOS
_CANNOT = (errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS)


def reserve(descriptor: int, start: int, end: int) -> None:
    """Allocate blocks for bytes `start` to `end`; their content stays.  Raises OSError if the disk has no space."""
    if _allocate is not None:
        try:
            _allocate(descriptor, start, end - start)
        except OSError as error:
            if error.errno not in _CANNOT:
                raise
        else:
            return
    while start < end:  # a file system without preallocation allocates what is written
        start += os.pwrite(descriptor, os.pread(descriptor, min(PIECE_BYTES, end - start), start), start)


def used_end(descriptor: int, start: int) -> int:
    """Return the end of the last non-zero byte from `start` on, or `start` without one."""
    end, size = start, os.fstat(descriptor).st_size
    while start < size:
        try:
            start = os.lseek(descriptor, start, os.SEEK_DATA)
        except OSError as error:
            if error.errno == errno.ENXIO:  # only a hole is left
                break
        piece = os.pread(descriptor, PIECE_BYTES, start)
        used = len(piece.rstrip(b"\0"))
        end = start + used if used else end
        start += PIECE_BYTES
    return end
