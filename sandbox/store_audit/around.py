"""Checks of names, sizes and small files of a store, made before its log is read.

They find entries that do not belong to a store, files of another length than the others, an unreadable checkpoint or
configuration.
"""

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from struct import Struct

from sandbox.kernel.loose_json import LooseJsonError
from sandbox.message.topic_names import is_system
from sandbox.store.reader_files import OpenFiles
from sandbox.store.reader_index import NAME_DIGITS, index_files
from sandbox.store.reader_listing import StoreFile, files_in, length_of, named_files_in, queues_in, small_file
from sandbox.store.table_files import BACKUP, TABLES, TOPICS, path_of, value_in
from sandbox.store_audit.findings import Finding, file_sizes_text
from sandbox.store_audit.index_cover import IndexFiles, readable

CHECKPOINT_TIMES = Struct(">5q")  # RocketMQ 5 has five values, two of them log positions
CHECKPOINT_BYTES = 4_096
NO_FILE = b"?"  # neither times nor JSON
CHECKPOINT_NAMES = ("the log", "a queue", "the index")
UNIT = Struct(">qiq")  # of a queue: position, size, tags code
LAST_MS = 1 << 43  # in the year 2248: beyond any store time


def around(root: Path, *, is_open: bool, index_slots: int | None = None) -> Iterator[Finding]:
    """Yield a finding for every invalid entry."""
    files, odd = files_in(root / "commitlog")
    size = length_of(files)
    for file in files:
        if file.size_bytes > size:
            yield Finding(
                "file_sizes",
                f"commitlog/{file.start:020}",
                size,
                file_sizes_text(file.size_bytes, is_last=file is files[-1]),
            )
    queues, strange = queues_in(root)
    odd += strange + named_files_in(root / "index", NAME_DIGITS)[1]
    queue_files: list[tuple[StoreFile, bool]] = []  # and whether it is the last of its queue
    for topic, queue_id in queues:
        for kind in ("consumequeue", "consumequeue_ext"):
            of_queue, strange = files_in(root / kind / topic / str(queue_id))
            odd += strange
            if kind == "consumequeue":
                queue_files += [(file, file is of_queue[-1]) for file in of_queue]
    yield from (Finding("odd_entry", _shown(root, entry.path), 0, entry.why) for entry in odd)
    if is_open:
        return  # files may be in creation
    if queue_files:
        yield from _queue_sizes(root, queue_files)
    yield from _small_files(root)
    yield from _topics_without_configuration(root, queues)
    with OpenFiles() as opened:
        yield from _index_order(readable(index_files(root / "index", opened, index_slots), in_use=False)[0])


def queue_file_bytes(sizes: Iterable[int]) -> int:
    """Return the commonest length of the files of queues; 0 without files."""
    counts = Counter(sizes)
    return max(counts, key=lambda size: (counts[size], size), default=0)


def _queue_sizes(root: Path, files: Sequence[tuple[StoreFile, bool]]) -> Iterator[Finding]:
    size = queue_file_bytes(file.size_bytes for file, _ in files)
    for file, is_last in files:
        if file.size_bytes != size:
            yield Finding(
                "file_sizes",
                _shown(root, file.path),
                min(size, file.size_bytes),
                file_sizes_text(file.size_bytes, is_last=is_last),
            )


def _small_files(root: Path) -> Iterator[Finding]:
    """Yield findings for checkpoint and configurations.

    A missing one is no finding, because a new store has none.
    """
    if (data := _content(root / "checkpoint")) is not None and not _is_checkpoint(data):
        yield Finding("garbled", "checkpoint", 0, "it holds no times of messages")
    for name in (f"{path_of(name)}{end}" for name in sorted(TABLES) for end in ("", BACKUP)):
        if (data := _content(root / name)) is not None and not _is_object(data):
            yield Finding("garbled", name, 0, "it holds no JSON object")


def _topics_without_configuration(root: Path, queues: Sequence[tuple[str, int]]) -> Iterator[Finding]:
    """Yield findings for topics that have units and no configuration, except system topics.

    A store without any table of topics was not written by a broker and gives no finding.
    """
    configured = topics_of(root)
    if configured is None:
        return
    lacking = Counter(
        topic
        for topic, queue_id in queues
        if topic not in configured and not is_system(topic) and _has_units(root, topic, queue_id)
    )
    for topic, number in sorted(lacking.items()):
        yield Finding(
            "no_configuration",
            path_of(TOPICS),
            0,
            f"topic {topic} has messages in {number} queue{'s' * (number != 1)}, and no configuration: a "
            "broker that starts here does not serve it until it is made again",
        )


def topics_of(root: Path) -> set[str] | None:
    """Return the topics with a configuration, in the file or else its backup; None if neither can be read."""
    for path in (root / path_of(TOPICS), root / f"{path_of(TOPICS)}{BACKUP}"):
        data = _content(path)
        with suppress(LooseJsonError):
            content = value_in(data) if data else None
            table = content.get("topicConfigTable") if isinstance(content, dict) else None
            if isinstance(table, dict):
                return set(table)
    return None


def _has_units(root: Path, topic: str, queue_id: int) -> bool:
    files, _ = files_in(root / "consumequeue" / topic / str(queue_id))
    return any(size > 0 for file in files for _, size, _ in UNIT.iter_unpack(_head(file.path, UNIT.size)))


def _index_order(files: IndexFiles) -> Iterator[Finding]:
    """Yield findings for index files whose names have another order than their records.

    A broker reads index files in the order of their names.
    """
    for (before, begins), (after, begins_after) in pairwise(sorted(files, key=lambda item: item[0].name)):
        if begins_after.begin_physical < begins.begin_physical:
            yield Finding(
                "index_order",
                f"index/{after.name}",
                0,
                f"by its name it follows {before.name}, by its records it is before it: a broker reads index files "
                "in the order of their names, and a search by key may end too early",
            )


def _head(path: str, size: int) -> bytes:
    """Return the first bytes of a file; none if it was deleted."""
    try:
        with open(path, "rb") as file:
            return file.read(size)
    except OSError:
        return b""


def checkpoint_ahead(root: Path, newest_ms: int) -> Iterator[Finding]:
    """Yield a finding if a time of the checkpoint is after the log's end.

    Only for a closed store whose log was read to its end.  `newest_ms`: the log's newest store time, 0 without a
    record.
    """
    data = _content(root / "checkpoint")
    if data is None or not _is_checkpoint(data) or not any(data):
        return
    times = CHECKPOINT_TIMES.unpack_from(data)[:3]
    ahead = [
        (at, name, time)
        for at, (name, time) in enumerate(zip(CHECKPOINT_NAMES, times, strict=True))
        if time > newest_ms
    ]
    for at, name, time in ahead[:1]:
        yield Finding(
            "checkpoint_ahead",
            "checkpoint",
            at * 8,
            f"by it {name} has a message stored at {time}, the newest of the log is of {newest_ms}: the end "
            "of the log is missing, or the checkpoint is another store's",
        )


def _content(path: Path) -> bytes | None:
    """Return the content of a file: None if it does not exist, `NO_FILE` if it is no file or not readable."""
    try:
        return small_file(path) if path.is_file() or not os.path.lexists(path) else NO_FILE
    except OSError:
        return NO_FILE


def _is_checkpoint(data: bytes) -> bool:
    """Return True if the bytes are a checkpoint.

    Zeros are valid: they are a new store's, which may not have written all of them.
    """
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
    """Return the path below the store, as text for any bytes."""
    return os.fsencode(os.path.relpath(path, root)).decode("utf-8", "replace")
