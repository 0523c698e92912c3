"""Checks of names, sizes and small files of a store, before its log is read: entries that do not belong to a store,
files of another length than the others, an unreadable checkpoint or configuration.  `store_audit` makes the same
checks.
"""

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from struct import Struct

from sandbox.kernel.loose_json import LooseJsonError
from sandbox.store.findings import ERROR, WARNING, Finding, file_sizes_text
from sandbox.store.reader_index import NAME_DIGITS
from sandbox.store.reader_listing import StoreFile, commonest_length, files_in, named_files_in, queues_in, small_file
from sandbox.store.table_files import BACKUP, TABLES, path_of, value_in

CHECKPOINT_TIMES = Struct(">5q")  # RocketMQ 5 has five values, two of them log positions
CHECKPOINT_BYTES = 4_096
NO_FILE = b"?"  # neither times nor JSON
LAST_MS = 1 << 43  # in the year 2248: beyond any store time


def around(root: Path, *, is_open: bool) -> Iterator[Finding]:
    """Every invalid entry; `where` is a file, and the position in it."""
    files, odd = files_in(root / "commitlog")
    size = length_of(files)
    for file in files:
        if file.size_bytes > size:
            yield Finding(WARNING, "file_sizes", f"commitlog/{file.start:020}", size, file_sizes_text(
                file.size_bytes, is_last=file is files[-1]))
    queues, strange = queues_in(root)
    odd += strange + named_files_in(root / "index", NAME_DIGITS)[1]
    queue_files: list[tuple[StoreFile, bool]] = []  # and whether it is the last of its queue
    for topic, queue_id in queues:
        for kind in ("consumequeue", "consumequeue_ext"):
            found, strange = files_in(root / kind / topic / str(queue_id))
            odd += strange
            if kind == "consumequeue":
                queue_files += [(file, file is found[-1]) for file in found]
    yield from (Finding(WARNING, "odd_entry", _shown(root, one.path), 0, one.why) for one in odd)
    if is_open:
        return  # files may be in creation
    if queue_files:
        yield from _queue_sizes(root, queue_files)
    yield from _small_files(root)


def length_of(files: Sequence[StoreFile]) -> int:
    """The file length of a log."""
    return commonest_length((file.start, file.size_bytes) for file in files)


def _queue_sizes(root: Path, files: Sequence[tuple[StoreFile, bool]]) -> Iterator[Finding]:
    sizes = Counter(file.size_bytes for file, _ in files)
    size = max(sizes, key=lambda one: (sizes[one], one))
    for file, is_last in files:
        if file.size_bytes != size:
            yield Finding(WARNING, "file_sizes", _shown(root, file.path), min(size, file.size_bytes), file_sizes_text(
                file.size_bytes, is_last=is_last))


def _small_files(root: Path) -> Iterator[Finding]:
    """Checkpoint and configurations; a missing one is no finding, because a new store has none."""
    if (data := _content(root / "checkpoint")) is not None and not _is_checkpoint(data):
        yield Finding(ERROR, "garbled", "checkpoint", 0, "it holds no times of messages")
    for name in (f"{path_of(name)}{end}" for name in sorted(TABLES) for end in ("", BACKUP)):
        if (data := _content(root / name)) is not None and not _is_object(data):
            yield Finding(ERROR, "garbled", name, 0, "it holds no JSON object")


def _content(path: Path) -> bytes | None:
    """None where the entry is no file, or not readable."""
    try:
        return small_file(path) if path.is_file() or not os.path.lexists(path) else NO_FILE
    except OSError:
        return NO_FILE


def _is_checkpoint(data: bytes) -> bool:
    """Zeros are those of a new store, which may not have written all of them."""
    if not any(data):
        return True
    if len(data) != CHECKPOINT_BYTES or any(data[CHECKPOINT_TIMES.size :]):
        return False
    *times, flushed, confirmed = CHECKPOINT_TIMES.unpack_from(data)
    return all(0 <= time < LAST_MS for time in times) and min(flushed, confirmed) >= 0


def _is_object(data: bytes) -> bool:
    try:
        return isinstance(value_in(data), dict)
    except LooseJsonError:
        return False


def _shown(root: Path, path: str) -> str:
    """The path below the store, as text for any bytes."""
    return os.fsencode(os.path.relpath(path, root)).decode("utf-8", "replace")
