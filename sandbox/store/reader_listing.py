"""Listings of a store's directories for readers: its files, and entries that do not belong there.

Files may be deleted in between.  Entries that cannot be read, are no files, or have no store file's name are odd: a
reader ignores them, `store_audit` reports them.
"""

import errno
import os
import stat
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from math import gcd
from pathlib import Path
from typing import NamedTuple

POSITION_DIGITS = 20
BEYOND = 1 << 63
LEAST_BYTES = 100  # no broker creates shorter files
MAX_QUEUE_ID = (1 << 31) - 1

_WHYS = {errno.ELOOP: "its links lead in a circle", errno.ENOTDIR: "it is no directory"}
_DENIED = (errno.EACCES, errno.EPERM)


class StoreFile(NamedTuple):
    """One file of a sequence.

    Its name is its start (spec store-format 1), and its end is the start of the next one.
    """

    path: str
    start: int
    size_bytes: int
    end: int


class Odd(NamedTuple):
    """An entry of a directory that does not belong there.  `denied`: it cannot be read, so its kind is unknown."""

    path: str
    why: str
    denied: bool = False


def files_in(directory: Path) -> tuple[list[StoreFile], list[Odd]]:
    """Return the files of a log or a queue, by position, and the odd entries."""
    files: list[tuple[int, int, str]] = []
    odd: list[Odd] = []
    for path, name, known in _looked_at(directory, odd):
        if not stat.S_ISREG(known.st_mode):
            odd.append(Odd(path, "it is no file"))
        elif not _is_number(name, POSITION_DIGITS) or int(name) + known.st_size >= BEYOND:
            odd.append(Odd(path, f"its name is no position of {POSITION_DIGITS} digits"))
        elif not os.access(path, os.R_OK):
            odd.append(Odd(path, "it may not be read", denied=True))
        else:
            files.append((int(name), known.st_size, path))
    run: list[tuple[int, int, str]] = []
    length = commonest_length((start, size) for start, size, _ in files)
    for file in sorted(files):
        if run and file[0] % length and file[0] < run[-1][0] + length:
            odd.append(Odd(file[2], "it begins within the file before"))
        else:
            run.append(file)
    return [
        StoreFile(path, start, size, start + size if after is None else min(start + size, after[0]))
        for (start, size, path), after in zip_longest(run, run[1:])
    ], odd


def commonest_length(files: Iterable[tuple[int, int]]) -> int:
    """Return the file length of a sequence of (position, size): the commonest length that divides all positions."""
    files = list(files)
    step = gcd(*(start for start, _ in files))
    sizes = Counter(size for _, size in files if size >= LEAST_BYTES)
    fitting = Counter({size: count for size, count in sizes.items() if step % size == 0}) or sizes
    return max(fitting, key=lambda size: (fitting[size], size), default=1)


def length_of(files: Sequence[StoreFile]) -> int:
    """Return the file length of a log."""
    return commonest_length((file.start, file.size_bytes) for file in files)


def queues_in(root: Path) -> tuple[list[tuple[str, int]], list[Odd]]:
    """Return topic and id of every queue that has a directory, sorted, and the odd entries."""
    queues: list[tuple[str, int]] = []
    odd: list[Odd] = []
    for topic_path, topic, _ in _directories(root / "consumequeue", odd):
        if not _is_text(topic):
            odd.append(Odd(topic_path, "its name is no UTF-8"))
            continue
        for path, name, _ in _directories(Path(topic_path), odd):
            if not _is_number(name) or name != str(int(name)) or int(name) > MAX_QUEUE_ID:
                odd.append(Odd(path, "its name is no queue id"))
            else:
                queues.append((topic, int(name)))
    return sorted(queues), odd


def named_files_in(directory: Path, digits: int) -> tuple[list[tuple[str, int]], list[Odd]]:
    """Return path and size of the files whose names have `digits` digits, by name, and the odd entries."""
    files: list[tuple[str, int]] = []
    odd: list[Odd] = []
    for path, name, known in _looked_at(directory, odd):
        if not stat.S_ISREG(known.st_mode):
            odd.append(Odd(path, "it is no file"))
        elif not _is_number(name, digits):
            odd.append(Odd(path, f"its name is no time of {digits} digits"))
        elif not os.access(path, os.R_OK):
            odd.append(Odd(path, "it may not be read", denied=True))
        else:
            files.append((path, known.st_size))
    return sorted(files), odd


def small_file(path: Path) -> bytes | None:
    """Return the content of a file; None if it does not exist, or is endless (a pipe, a device)."""
    try:
        return path.read_bytes() if path.is_file() else None
    except FileNotFoundError:
        return None


def _directories(directory: Path, odd: list[Odd]) -> Iterator[tuple[str, str, os.stat_result]]:
    for path, name, known in _looked_at(directory, odd):
        if stat.S_ISDIR(known.st_mode):
            yield path, name, known
        else:
            odd.append(Odd(path, "it is no directory"))


def _looked_at(directory: Path, odd: list[Odd]) -> Iterator[tuple[str, str, os.stat_result]]:
    """Yield path, name and state of each entry that still exists; add unreadable ones to `odd`."""
    try:
        with os.scandir(directory) as listed:
            entries = list(listed)
    except FileNotFoundError:
        return
    except OSError as error:
        odd.append(_odd(str(directory), error))
        return
    for entry in entries:
        try:
            yield entry.path, entry.name, entry.stat()
        except FileNotFoundError as error:
            if entry.is_symlink():  # otherwise it was deleted meanwhile
                odd.append(_odd(entry.path, error))
        except OSError as error:
            odd.append(_odd(entry.path, error))


def _odd(path: str, error: OSError) -> Odd:
    text = _WHYS.get(error.errno or 0, f"it cannot be looked at: {(error.strerror or 'no reason given').lower()}")
    return Odd(path, text, denied=error.errno in _DENIED)


def _is_number(name: str, digits: int | None = None) -> bool:
    return name.isascii() and name.isdigit() and len(name) == (digits or len(name))


def _is_text(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
