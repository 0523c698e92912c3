"""The lock file of a store that the reader does not own."""

import os
from pathlib import Path
from typing import NamedTuple

_LOCKS = "/proc/locks"


class LockState(NamedTuple):
    """The state of the lock file.

    `present`: the file exists.  `holder`: id of the process that has it locked, 0 for none, None if unknown.
    """

    present: bool
    holder: int | None


def lock_of(root: Path) -> LockState:
    """Return the state of the lock file, read from the kernel's list of locks.

    Opening and closing the file itself would release a lock of our own process.
    """
    try:
        status = (root / "lock").stat()
    except FileNotFoundError:
        return LockState(present=False, holder=0)
    except OSError:  # circular links
        return LockState(present=True, holder=None)
    name = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}:{status.st_ino}"
    try:
        with open(_LOCKS, encoding="ascii") as lines:
            held = [line.split() for line in lines]
    except OSError:
        return LockState(present=True, holder=None)
    holders = [int(fields[4]) for fields in held if len(fields) >= 8 and fields[5] == name]
    return LockState(present=True, holder=holders[0] if holders else 0)
