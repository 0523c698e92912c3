"""`manage.py mqstore`: a reader of stores of QueueViz and Apache that changes nothing."""

import argparse
import json
from collections.abc import Callable, Iterator
from itertools import islice
from typing import NamedTuple

from sandbox.kernel.errors import CorruptRecord, StoreError
from sandbox.message.compression import decompress
from sandbox.message.message import StoredMessage
from sandbox.message.properties import KEYS
from sandbox.queries.rows.stores import Row, index_row, message_row, query_row, queue_row, summary_row
from sandbox.store.reader import StoreReader

SHOWN_BODY_BYTES = 60
MAX_MS = 2**63 - 1

Write = Callable[[str], object]


class StoreOptions(NamedTuple):
    """The options of the command line."""

    what: str
    directory: str
    json: bool = False
    topic: str | None = None
    queue: int | None = None
    start: int = 0
    limit: int | None = None
    log: bool = False
    key: str | None = None
    begin_ms: int = 0
    end_ms: int = MAX_MS
    index_slots: int | None = None
    delay_levels: str | None = None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", choices=sorted(_VIEWS), help="report to print, or verify")
    parser.add_argument("directory", help="store directory (RocketMQ: storePathRootDir)")
    parser.add_argument("--json", action="store_true", help="print one JSON value per line instead of text")
    parser.add_argument("--topic", help="messages, queues, index: only this topic")
    parser.add_argument("--queue", type=int, help="messages, queues: only this queue id")
    parser.add_argument("--from", type=_count, default=0, dest="start", help="messages: first offset")
    parser.add_argument("--limit", type=_count, metavar="N", help="messages, index --key: print at most N messages")
    parser.add_argument("--log", action="store_true", help="messages: print every record of the commit log in order")
    parser.add_argument("--key", help="index: look up this key (needs --topic)")
    parser.add_argument(
        "--begin", type=int, default=0, dest="begin_ms", help="index: earliest store time (ms since 1970)"
    )
    parser.add_argument(
        "--end", type=int, default=MAX_MS, dest="end_ms", help="index: latest store time (ms since 1970)"
    )
    parser.add_argument(
        "--index-slots", type=_count, help="hash slots of index files that do not state them (maxHashSlotNum)"
    )
    parser.add_argument("--delay-levels", help="verify: the broker's messageDelayLevel, such as `1s 5s 10s`")


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of 0 or more")
    return int(text)


def options_of(values: dict[str, object]) -> StoreOptions:
    """Return the options from all values of an argument parser."""
    return StoreOptions._make(values[name] for name in StoreOptions._fields)


def run(options: StoreOptions, write: Write) -> int:
    """Write the requested report line by line.  Return 1 if a verification found errors, else 0.

    Raises StoreError with a sentence when the directory is no store or the options do not fit.
    """
    if options.what == "index" and options.key is not None and options.topic is None:
        raise StoreError("--key needs --topic: the index holds keys together with their topics")
    try:
        with StoreReader(options.directory, index_slots=options.index_slots) as store:
            return _VIEWS[options.what](store, options, write)
    except (PermissionError, IsADirectoryError, NotADirectoryError) as error:
        raise StoreError(f"{options.directory} cannot be read: {error.strerror}") from error


def _summary(store: StoreReader, options: StoreOptions, write: Write) -> int:
    row = summary_row(store)
    if options.json:
        write(_json(row))
        return 0
    log, lock, checkpoint = row["commitLog"], row["lock"], row["checkpoint"]
    holder = {None: "an unknown process", 0: "no process"}.get(lock["holder"], f"process {lock['holder']}")
    write(f"store         {row['path']}")
    write(f"closed        {'no: the abort file exists' if row['abort'] else 'yes'}; the lock is held by {holder}")
    write(
        f"commit log    {log['files']} files of {log['fileBytes']} bytes, from {log['minOffset']} to {log['maxOffset']}"
    )
    write(f"queues        {row['queues']} of {len(row['topics'])} topics, {row['messages']} messages")
    for file in row["index"]:
        write(
            f"index         {file['file']}: {file['entries']} entries of {file['room']}, "
            f"{file['slotsUsed']} of {file['slots']} slots"
        )
    if checkpoint is None:
        write("checkpoint    missing")
    else:
        write("checkpoint    " + ", ".join(f"{name} {value}" for name, value in checkpoint.items()))
    for name, offsets in row["consumerOffsets"].items():
        write(f"consumed      {name}: " + (_pairs(offsets) or "nothing"))
    if row["delayOffsets"]:
        write(f"delay levels  {_pairs(row['delayOffsets'])}")
    return 0


def _queues(store: StoreReader, options: StoreOptions, write: Write) -> int:
    for topic, queue_id in _chosen(store, options):
        row = queue_row(store, topic, queue_id)
        ends = f"{row['minOffset']} to {row['maxOffset']}"
        write(_json(row) if options.json else f"{topic}/{queue_id}  {ends}, first stored at {row['earliestStoreTime']}")
    return 0


def _messages(store: StoreReader, options: StoreOptions, write: Write) -> int:
    messages = _log_messages(store, options) if options.log else _queue_messages(store, options)
    for message in islice(messages, options.limit):
        write(_json(message_row(message)) if options.json else _message_line(message))
    return 0


def _index(store: StoreReader, options: StoreOptions, write: Write) -> int:
    if options.key is not None and options.topic is not None:
        result = store.query(options.topic, options.key, options.limit or 32, options.begin_ms, options.end_ms)
        if options.json:
            write(_json(query_row(result)))
            return 0
        for message in result.messages:
            write(_message_line(message))
        return 0
    for file in store.index_files():
        row = index_row(file)
        write(_json(row) if options.json else "  ".join(f"{name} {value}" for name, value in row.items()))
    return 0


def _verify(store: StoreReader, options: StoreOptions, write: Write) -> int:
    from sandbox.tools.verified_store import verify_store  # NumPy, which the other reports do not need

    return verify_store(
        store.root,
        write,
        as_json=options.json,
        delay_levels=options.delay_levels,
        index_slots=options.index_slots,
    )


_VIEWS: dict[str, Callable[[StoreReader, StoreOptions, Write], int]] = {
    "summary": _summary,
    "queues": _queues,
    "messages": _messages,
    "index": _index,
    "verify": _verify,
}


def _chosen(store: StoreReader, options: StoreOptions) -> list[tuple[str, int]]:
    return [
        (topic, queue_id)
        for topic, queue_id in store.queues()
        if options.topic in (None, topic) and options.queue in (None, queue_id)
    ]


def _queue_messages(store: StoreReader, options: StoreOptions) -> Iterator[StoredMessage]:
    for topic, queue_id in _chosen(store, options):
        start = max(options.start, store.min_offset(topic, queue_id))
        yield from store.read(topic, queue_id, start, store.max_offset(topic, queue_id))


def _log_messages(store: StoreReader, options: StoreOptions) -> Iterator[StoredMessage]:
    start = max(options.start, store.min_physical_offset)
    if options.start and store.message_at(start) is None and start != store.max_physical_offset():
        raise StoreError(f"no record begins at {start}")
    return (
        message
        for message in store.records(start)
        if options.topic in (None, message.topic) and options.queue in (None, message.queue_id)
    )


def _message_line(message: StoredMessage) -> str:
    try:
        shown = repr(decompress(message.body, message.sys_flag)[:SHOWN_BODY_BYTES].decode(errors="replace"))
    except CorruptRecord as error:
        shown = f"({error})"
    return (
        f"{message.topic}/{message.queue_id} @{message.queue_offset}  "
        f"log {message.physical_offset} +{message.store_bytes}  stored {message.store_ms}  "
        f"{message.properties.get(KEYS, '-')}  {shown}"
    )


def _pairs(table: dict[int, int]) -> str:
    return ", ".join(f"{key}: {value}" for key, value in sorted(table.items()))


def _json(row: Row) -> str:
    return json.dumps(row, ensure_ascii=False, separators=(",", ":"))
