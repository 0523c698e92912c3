"""One message as rows: for lists, for its page, and the position of each field in its bytes.

Pure functions of a record: of our own store's, or of one that a real broker sent (VIEW_MESSAGE_BY_ID, QUERY_MESSAGE
and pulls return whole records).  Facts that a record does not have, such as the name of its broker, are arguments.
"""

import codecs
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from sandbox.kernel.errors import CorruptRecord
from sandbox.message import properties, record
from sandbox.message import sys_flag as bits
from sandbox.message.compression import Unpacked, decompress_start, measure
from sandbox.message.message import StoredMessage
from sandbox.queries.rows.stores import offset_msg_id

Row = dict[str, Any]

BODY_BYTES = 4_096  # shown of a body
VALUE_CHARS = 200  # shown of one field of the record
LINE_CHARS = 80  # shown of a body's first line
LOOKED_AT_BYTES = 512  # of a body, packed or not, for its first line
AT_ONCE_BYTES = 64 * 1024  # of a packed body, unpacked while the engine waits; the rest is for a worker
PACKED = "packed"  # in a row that is not finished: its PackedBody

_FLAGS = (
    (bits.COMPRESSED, "compressed"),
    (bits.MULTI_TAGS, "multi_tags"),
    (bits.BORN_HOST_V6, "born_host_v6"),
    (bits.STORE_HOST_V6, "store_host_v6"),
)
_TRANSACTION = {
    bits.TRANSACTION_PREPARED: "half",
    bits.TRANSACTION_COMMIT: "committed",
    bits.TRANSACTION_ROLLBACK: "rolled_back",
}
_COMPRESSION = {
    bits.COMPRESSION_LEGACY: "zlib",
    bits.COMPRESSION_ZLIB: "zlib",
    bits.COMPRESSION_LZ4: "LZ4",
    bits.COMPRESSION_ZSTD: "ZSTD",
}


def message_row(message: StoredMessage, broker: str | None = None) -> Row:
    """Return a message as lists show it.

    {"topic", "broker" (name; None: not known), "queue_id", "queue_offset" and "physical_offset" (text), "bytes" (of
    the record), "keys", "tags", "msg_id" (the offset id), "unique_key", "born_ms", "store_ms", "reconsume_times",
    "line" (`first_line`), "stored_body_bytes"}; None if the message has no such property.
    """
    return {
        "topic": message.topic,
        "broker": broker,
        "queue_id": message.queue_id,
        "queue_offset": str(message.queue_offset),
        "physical_offset": str(message.physical_offset),
        "bytes": message.store_bytes,
        "keys": message.properties.get(properties.KEYS),
        "tags": message.properties.get(properties.TAGS),
        "msg_id": offset_msg_id(message),
        "unique_key": message.properties.get(properties.UNIQ_KEY),
        "born_ms": message.born_ms,
        "store_ms": message.store_ms,
        "reconsume_times": message.reconsume_times,
        "line": first_line(message),
        "stored_body_bytes": len(message.body),
    }


def first_line(message: StoredMessage) -> str | None:
    """Return the first line of a text body, cut to 80 characters.  None: not a text, or an unknown compression.

    Of a long body, only the start is read and decompressed.
    """
    try:
        start = decompress_start(message.body, message.sys_flag, LOOKED_AT_BYTES)
        whole = len(message.body) <= LOOKED_AT_BYTES and len(start) < LOOKED_AT_BYTES
        text = codecs.getincrementaldecoder("utf-8")().decode(start, whole)  # else its last character may be cut
    except (CorruptRecord, UnicodeDecodeError):
        return None
    line = next(iter(text.strip().splitlines()), "")
    if not line.replace("\t", " ").isprintable():
        return None
    return line if len(line) <= LINE_CHARS else f"{line[:LINE_CHARS]}…"


def full_row(message: StoredMessage, broker: str | None = None) -> Row:
    """Return a message as its page shows it.

    `message_row` and {"properties", "body" (its first 4 096 bytes as text), "body_hex" (the same), "body_bytes" (as
    the application sent it; None if it cannot be decompressed completely), "body_over" (more bytes than this; or
    None), "compression" (None, zlib, LZ4, ZSTD), "flags" (words of SYSFLAG), "flag" (the application's),
    "born_host", "store_host"}.  A compressed body over 64 KiB is left `unfinished`.
    """
    packed = bool(message.sys_flag & bits.COMPRESSED)
    body = PackedBody(message.body, message.sys_flag)
    shown = body.row(AT_ONCE_BYTES)
    rest = {} if shown["body_over"] is None else {PACKED: body}
    return {
        **message_row(message, broker),
        "properties": message.properties,
        **shown,
        **rest,
        "compression": _COMPRESSION.get(message.sys_flag & bits.COMPRESSION_MASK, "?") if packed else None,
        "flags": flags_of(message.sys_flag),
        "flag": message.flag,
        "born_host": message.born_host,
        "store_host": message.store_host,
    }


class PackedBody(NamedTuple):
    """The body of a message as stored, possibly compressed."""

    body: bytes
    sys_flag: int

    def row(self, most: int) -> Row:
        """Return the body's fields of `full_row`; decompress at most `most` bytes."""
        try:
            unpacked = measure(self.body, self.sys_flag, keep=BODY_BYTES, most=most)
            over = most if unpacked.size is None else None
        except CorruptRecord:
            unpacked, over = Unpacked(self.body[:BODY_BYTES], None), None
        return {
            "body_bytes": unpacked.size,
            "body_over": over,
            "body": unpacked.start.decode("utf-8", "replace"),
            "body_hex": unpacked.start.hex(),
        }


def unfinished(answer: Mapping[str, object]) -> list[Row]:
    """Return the message rows of an answer or a board whose bodies are not decompressed completely yet."""
    record, rows = answer.get("record"), answer.get("rows")
    messages = [
        answer.get("message"),
        record.get("message") if isinstance(record, dict) else None,
        *(rows if isinstance(rows, list) else ()),
    ]
    return [row for row in messages if isinstance(row, dict) and PACKED in row]


def finish(rows: Iterable[Row], most: int) -> None:
    """Decompress the bodies that `full_row` left: up to `most` bytes of each, which takes milliseconds."""
    for row in rows:
        row |= row.pop(PACKED).row(most)


def flags_of(sys_flag: int) -> list[str]:
    """Return words for the bits that are set: compressed, multi_tags, half, committed, rolled_back, born_host_v6, …"""
    words = [word for bit, word in _FLAGS if sys_flag & bit]
    ended = _TRANSACTION.get(bits.transaction(sys_flag))
    return words if ended is None else [*words, ended]


def record_fields(message: StoredMessage) -> Row:
    """Return every fixed field of the record by its name (spec store-format 2.1)."""
    fields = message._asdict()
    del fields["body"], fields["properties"]
    return {
        name: str(value) if name in ("queue_offset", "physical_offset", "prepared_offset") else value
        for name, value in fields.items()
    }


def record_parts(raw: bytes) -> list[Row]:
    """Return every field of a record in the order of its bytes, outer fields before inner ones.

    Spec store-format 2.1.

    [{"name", "start", "end" (the byte after it), "value" (text), "depth"}]; depth 1 are the properties.  Raises
    CorruptRecord if the bytes are no record.
    """
    message = record.decode(raw)
    parts: list[Row] = []
    for name, at, length in record.fields(raw):
        parts.append(
            {
                "name": name,
                "start": at,
                "end": at + length,
                "depth": 0,
                "value": _value(name, raw[at : at + length], message),
            }
        )
        if name == "PROPERTIES":
            parts += _pairs(raw[at : at + length], at)
    return parts


def _value(name: str, data: bytes, message: StoredMessage) -> str:
    match name:
        case "MAGICCODE" | "BODYCRC":
            return data.hex().upper()
        case "BORNHOST":
            return message.born_host
        case "STOREHOST":
            return message.store_host
        case "SYSFLAG":
            return " ".join((str(message.sys_flag), *flags_of(message.sys_flag)))
        case "BODY" | "PROPERTIES":
            return ""  # its inner fields have the value
        case "TOPIC":
            return message.topic
        case "TOPICLEN":
            return str(int.from_bytes(data))
    return str(int.from_bytes(data, signed=True))


def _pairs(text: bytes, at: int) -> list[Row]:
    r"""Return the rows of the pairs in `name \x01 value \x02 …`, without the separator between two pairs."""
    parts: list[Row] = []
    for pair in text.split(b"\x02"):
        name, mark, value = pair.partition(b"\x01")
        if mark:
            parts.append(
                {
                    "name": name.decode("utf-8", "replace"),
                    "start": at,
                    "end": at + len(pair),
                    "depth": 1,
                    "value": value.decode("utf-8", "replace")[:VALUE_CHARS],
                }
            )
        at += len(pair) + 1
    return parts
