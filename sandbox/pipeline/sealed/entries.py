"""Entries that describe sealed log files, and the checks that decide if their Parquet files can be trusted.

    <directory>/<log start>.json                               one entry a log file: tasks never write a common file
    <directory>/<log start>-<log sha256>-<units crc>.parquet   its rows, named by what they were made from
    <directory>/.…                                             being written, or left by a run that was killed
    <directory>/lock                                           held by the run that seals

A log file is unchanged if its size, inode and times are those it was sealed with; otherwise its SHA-256 is compared.
The rows also depend on the units that lead into the file: their CRC is compared at each read.
"""

import fcntl
import hashlib
import os
import re
import stat
import zlib
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from sandbox.kernel import json_bytes
from sandbox.kernel.errors import SandboxError
from sandbox.pipeline.sealed.units import Units
from sandbox.store_columns.queue_positions import Log

VERSION = 2  # a change of the rows of `records.batches`, or of the fields of an entry, needs another one
LOCK = "lock"
DRAFT = "."  # how names of unfinished files begin
_ENTRY = re.compile(r"\d{20}\.json")
_ROWS = re.compile(r"\d{20}-[0-9a-f]{16}-[0-9a-f]{8}\.parquet")


class FileState(NamedTuple):
    """Size, times and inode of a file.

    Every write changes one of them, except within one tick of the file system's clock.
    """

    size_bytes: int
    mtime_ns: int
    ctime_ns: int
    inode: int


class Entry(NamedTuple):
    """The description of a sealed log file `[log_start, log_end)`.

    `sealed_end`: end of the last sealed record's bytes; below `log_end` if a closed store's last file can grow
    again.  `units_crc`: of `units.Units`.  `file`: name of the Parquet file.  `footer_at`: the byte where its pages
    end, whose checksums readers compare.  `footer_crc`: CRC-32 of the rest, by which readers skip pages.
    """

    version: int
    log_start: int
    log_end: int
    sealed_end: int
    state: FileState
    sha256: str
    units_crc: int
    file: str
    file_bytes: int
    footer_at: int
    footer_crc: int
    rows: int


def state_of(path: str | Path) -> FileState:
    """Return the state of a file.  Raises OSError if it cannot be read."""
    status = os.stat(path)
    return FileState(status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)


def sha256_of(path: str | Path) -> str:
    """Return the SHA-256 of a file in hex.  Raises OSError if it cannot be read."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def footer_crc(path: Path, footer_at: int) -> int:
    """Return the CRC-32 of a file from byte `footer_at` to its end.  Raises OSError if it cannot be read."""
    with path.open("rb") as file:
        file.seek(footer_at)
        return zlib.crc32(file.read())


def entry_path(directory: Path, log_start: int) -> Path:
    return directory / f"{log_start:020}.json"


def rows_name(log_start: int, sha256: str, crc: int) -> str:
    """Return the name of the Parquet file with the rows of a log file.

    Other rows get another name, so a query that reads the old file never finds new rows in it.
    """
    return f"{log_start:020}-{sha256[:16]}-{crc:08x}.parquet"


def entries_in(directory: Path) -> dict[int, Entry]:
    """Return the entries of the directory by log start.

    Files that are damaged or of another version are left out.
    """
    try:
        names = sorted(os.listdir(directory))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    entries = (entry_of(directory / name) for name in names if _ENTRY.fullmatch(name))
    return {entry.log_start: entry for entry in entries if entry is not None}


def entry_of(path: Path) -> Entry | None:
    """Return the entry in this file, or None if the file is missing, damaged or of another version."""
    try:
        plain: dict[str, Any] = json_bytes.loads(path.read_bytes())
        entry = Entry(**{**plain, "state": FileState(**plain["state"])})
        numbers = (
            *entry.state,
            entry.log_start,
            entry.log_end,
            entry.sealed_end,
            entry.units_crc,
            entry.file_bytes,
            entry.footer_at,
            entry.footer_crc,
            entry.rows,
        )
        is_whole = entry.version == VERSION and all(isinstance(number, int) for number in numbers)
        return entry if is_whole and _ROWS.fullmatch(entry.file) and path.stem == f"{entry.log_start:020}" else None
    except (OSError, json_bytes.JSONDecodeError, TypeError, KeyError):
        return None


def as_bytes(entry: Entry) -> bytes:
    return json_bytes.dumps({**entry._asdict(), "state": entry.state._asdict()}, option=json_bytes.OPT_INDENT_2)


def why_not(entry: Entry, directory: Path, log: Log, units: Units) -> str | None:
    """Return the reason why the sealed file must not be read instead of `log`, or None if it may.

    `units` are the queue units that point into the log file.
    """
    try:
        rows = os.stat(directory / entry.file)
        if not stat.S_ISREG(rows.st_mode) or rows.st_size != entry.file_bytes:
            return "its Parquet file has another size"
        if footer_crc(directory / entry.file, entry.footer_at) != entry.footer_crc:
            return "its Parquet file has another footer"
    except OSError:
        return "its Parquet file is missing"
    if log.end != entry.log_end:
        return "the log file has another end offset"
    if units.crc != entry.units_crc:
        return "other queue units point into the log file"
    try:
        state = state_of(log.path)
        if state.size_bytes != entry.state.size_bytes:
            return "the log file has another size"
        if state != entry.state and sha256_of(log.path) != entry.sha256:
            return "the log file has another hash"
    except OSError:
        return "the log file is missing"
    return None


def drop(directory: Path, kept: dict[int, Entry], named: Collection[str] = ()) -> list[int]:
    """Remove all entries but `kept`, Parquet files without an entry, and drafts.

    Return the log starts of removed entries.  `named`: Parquet files that an Iceberg table still names; they stay.
    The entry goes first, because without it nothing reads its file.  The caller must have the directory `held`.
    """
    files = {entry.file for entry in kept.values()}.union(named)
    names = sorted(os.listdir(directory))
    gone = [
        int(name.removesuffix(".json"))
        for name in names
        if _ENTRY.fullmatch(name) and int(name.removesuffix(".json")) not in kept
    ]
    for start in gone:
        entry_path(directory, start).unlink(missing_ok=True)
    for name in names:
        if _ROWS.fullmatch(name) and name not in files:
            (directory / name).unlink(missing_ok=True)
    drop_drafts(directory)
    return gone


def drop_drafts(directory: Path) -> None:
    """Remove the drafts that killed runs left in the directory.

    The caller must have the directory `held`, with no tasks running.
    """
    for draft in directory.glob(f"{DRAFT}*"):
        draft.unlink(missing_ok=True)


class SealedElsewhere(SandboxError):
    """Error: another run is sealing into the directory."""


@contextmanager
def held(directory: Path) -> Iterator[None]:
    """Lock the directory for this run alone, and create it if it does not exist.

    Raises SealedElsewhere if another run has the lock, OSError if the directory cannot be created.
    """
    directory.mkdir(parents=True, exist_ok=True)
    with (directory / LOCK).open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SealedElsewhere(f"Another run writes sealed files to {directory}. Wait until it is done.") from None
        yield
