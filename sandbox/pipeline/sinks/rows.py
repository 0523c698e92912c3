"""Rows for a topic: read from Arrow, and named so that a later attempt recognises the same row.

A row's name is its message's UNIQ_KEY, which brokers index: `Naming` makes it from the run, the epoch, the
partition, the row's content, and the number of equal rows before it in its partition.  So it works with another
order of the rows and with equal rows.
"""

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict

from sandbox.message import properties as names
from sandbox.message.message import Message
from sandbox.pipeline.sources.option_values import meant_columns

if TYPE_CHECKING:
    import pyarrow as pa

KINDS = {
    "body": ("binary", "string"),
    "topic": ("string",),
    "keys": ("string",),
    "tags": ("string",),
    "properties": ("map<string,string>",),
    "headers": ("array<struct<key:string,value:binary>>",),
    "queueId": ("int", "bigint"),
    "delayLevel": ("int", "bigint"),
}
"""Columns of a row with their Spark types (`DataType.simpleString`); only `body` is required."""
SET_BY_OTHERS = frozenset(
    {
        names.KEYS,
        names.TAGS,
        names.WAIT,
        names.DELAY,
        names.RETRY_TOPIC,
        names.REAL_TOPIC,
        names.REAL_QID,
        names.TRAN_MSG,
        names.PGROUP,
        names.MIN_OFFSET,
        names.MAX_OFFSET,
        names.ORIGIN_MESSAGE_ID,
        names.RECONSUME_TIME,
        names.MAX_RECONSUME_TIMES,
        names.MSG_REGION,
        names.TRACE_ON,
        names.UNIQ_KEY,
        names.CONSUME_START_TIME,
        names.CLUSTER,
        names.TRAN_PREPARED_QUEUE_OFFSET,
        names.TRANSACTION_CHECK_TIMES,
        names.TTL,
        names.MSG_TYPE,
        names.CORRELATION_ID,
        names.REPLY_TO_CLIENT,
        names.PUSH_REPLY_TIME,
        names.ARRIVE_TIME,
        names.CHECK_IMMUNITY_TIME_IN_SECONDS,
    }
)
"""Properties that clients and brokers write: left out of `properties`, so that an exported message can be sent again.

RocketMQ: `MessageConst.STRING_HASH_SET`.
"""
NAME_BYTES = 16
TIME = slice(10, 14)  # of a UNIQ_KEY: milliseconds since the start of the month


class Header(TypedDict):
    """An element of the column `headers`."""

    key: str | None
    value: bytes | None


class Row(NamedTuple):
    """One message to send; `queue_id` is None for any queue."""

    topic: str
    body: bytes
    keys: str
    tags: str
    properties: tuple[tuple[str, str], ...]
    queue_id: int | None
    delay_level: int


class Naming:
    """The names of the rows of one partition, in order.  Keeps a count for each distinct row."""

    def __init__(self, run: str, epoch: int, partition: int) -> None:
        self._begin = f"{run}\0{epoch}\0{partition}".encode()
        self._seen: Counter[bytes] = Counter()

    def name(self, row: Row) -> str:
        """Return the name of the row: 32 hex digits.

        Their time is 0, the start of the month, because RocketMQ's tools search from there.
        """
        digest = hashlib.blake2b(repr(row).encode("utf-8", "surrogatepass"), digest_size=NAME_BYTES).digest()
        self._seen[digest] += 1
        name = bytearray(
            hashlib.blake2b(b"%b\0%b\0%d" % (self._begin, digest, self._seen[digest]), digest_size=NAME_BYTES).digest()
        )
        name[TIME] = bytes(4)
        return name.hex().upper()


def message(row: Row, name: str) -> Message:
    """Make the client library's message of a row.  The columns for keys and tags take precedence over `properties`."""
    made = Message.make(row.topic, row.body, keys=row.keys, tags=row.tags, delay_level=row.delay_level)
    made.properties.update(pair for pair in row.properties if pair[0] not in SET_BY_OTHERS)
    made.properties[names.UNIQ_KEY] = name
    return made


def rows_of(batch: "pa.RecordBatch", topic: str | None) -> Iterator[Row]:
    """Yield the rows of an Arrow batch.

    Raises ValueError for a row without a body, or without a topic if the option `topic` is missing.
    """
    columns: dict[str, Sequence[Any]] = {
        name: batch.column(name).to_pylist() if name in batch.schema.names else [None] * batch.num_rows
        for name in KINDS
    }
    for body, own, keys, tags, pairs, headers, queue_id, delay in zip(*columns.values(), strict=True):
        if body is None:
            raise ValueError("A row has no body. Remove rows without a body.")
        if not (named := own or topic):
            raise ValueError("A row has no topic. Set the option topic, or fill the column topic.")
        properties: dict[str, str] = dict(pairs or ()) or _properties_of(headers)
        yield Row(
            named,
            body.encode() if isinstance(body, str) else body,
            properties.get(names.KEYS, "") if keys is None else keys,
            properties.get(names.TAGS, "") if tags is None else tags,
            tuple(sorted((key, value) for key, value in properties.items() if value is not None)),
            queue_id,
            delay or 0,
        )


def _properties_of(headers: "Sequence[Header | None] | None") -> dict[str, str]:
    """Return the headers of a row as properties, the inverse of the column of the sources; nulls are left out."""
    return {
        header["key"]: header["value"].decode("utf-8", "replace")
        for header in headers or ()
        if header is not None and header["key"] is not None and header["value"] is not None
    }


def check_columns(types: dict[str, str], also: frozenset[str]) -> None:
    """Raise ValueError if a column is unknown, of a wrong type, or if the column `body` is missing.

    `types`: Spark types by column.  `also`: further allowed columns.
    """
    if unknown := sorted(set(types) - set(KINDS) - also):
        near = meant_columns(unknown, KINDS)
        raise ValueError(f"A message has no {', '.join(unknown)}.{near} Columns are: {', '.join(KINDS)}.")
    if "body" not in types:
        raise ValueError("The column body is missing: it is the content of a message.")
    for name, kinds in KINDS.items():
        if name in types and types[name] not in kinds:
            raise ValueError(f"The column {name} must be {' or '.join(kinds)}, not {types[name]}.")
