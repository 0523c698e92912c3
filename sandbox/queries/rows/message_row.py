"""Rows of messages in lists, and the whole message of a record.

Offsets are text.  Times (`…_ms`) are of the clocks of producer and broker.  None: not known, unless the field has
another meaning.
"""

from typing import TypedDict


class MessageRow(TypedDict):
    """A message in a list."""

    topic: str
    broker: str | None
    queue_id: int
    queue_offset: str
    physical_offset: str
    bytes: int  # of the record
    keys: str | None  # None: it has none; likewise tags and unique key
    tags: str | None
    msg_id: str  # the offset id
    unique_key: str | None
    born_ms: int
    store_ms: int
    reconsume_times: int
    line: str | None  # the first line of the body; None: no text, or its compression is unknown
    stored_body_bytes: int


class MessageBody(TypedDict):
    """The first bytes of a body as the application sent it."""

    body: str
    body_hex: str
    body_bytes: int | None  # of all of it; None: it cannot be decompressed
    body_over: int | None  # more bytes than this; None: `body_bytes` is exact


class FullMessage(MessageRow, MessageBody):
    """A message with its properties and body."""

    properties: dict[str, str]
    compression: str | None  # zlib, LZ4, ZSTD; None: it is not compressed
    flags: list[str]  # words of the bits of SYSFLAG
    flag: int  # the application's
    born_host: str
    store_host: str
