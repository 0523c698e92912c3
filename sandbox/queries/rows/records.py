"""Rows of messages: in a list, and one record with its bytes and positions (`messages/<slug>`, `read-record`).

Offsets are text.  Times (`…_ms`) are of the clocks of producer and broker.  None: not known, unless the field has
another meaning.
"""

from typing import TypedDict

from sandbox.queries.rows.lives import Life
from sandbox.queries.rows.message_row import FullMessage, MessageRow


class RecordPart(TypedDict):
    """The bytes `start` to `end` of a record or a frame."""

    name: str
    start: int
    end: int
    value: str
    depth: int  # 1 and more: inside the field before it


class Dump(TypedDict):
    """Bytes, and the fields in them."""

    hex: str
    fields: list[RecordPart]


class QueueEntry(TypedDict):
    """The 20 bytes of a queue entry that point to the record."""

    hex: str
    physical_offset: str
    bytes: int
    tags_code: str


class StoredEntry(QueueEntry):
    """A queue entry with its position in the files of the queue."""

    position: str
    file: str
    position_in_file: str


class FilePosition(TypedDict):
    """The position of a record in the files of the log."""

    file: str
    file_number: str  # from 1, the first file there ever was
    file_begin: str
    file_bytes: str
    position: str
    exists: bool | None  # None: of a file size that is not the broker's


class IndexedAt(TypedDict):
    """The index entry of one key of the message."""

    key: str
    unique: bool
    file: str
    no: int
    slot: int
    position: int


class Record(TypedDict):
    """Everything about the message whose record begins at an offset."""

    broker: str
    physical_offset: str
    bytes: int
    hex: str
    message: FullMessage
    fields: dict[str, int | str | None]
    parts: list[RecordPart]
    position: FilePosition | None
    entry: StoredEntry | None  # None: it has none, too
    index: list[IndexedAt] | None
    life: Life


class MissingReason(TypedDict, total=False):
    """The reason why no message has an id: a code and the values of its sentence."""

    code: str  # not_indexed, other_broker, broker_down, deleted, beyond_end, no_record
    address: str
    known: str
    broker: str
    physical_offset: str
    low: str
    high: str


class OneMessage(TypedDict):
    """The value of the channel of one message."""

    id: str
    record: Record | None
    others: list[MessageRow]  # further messages of a unique key
    why: MissingReason | None  # None: there is a record


class MessageTail(TypedDict):
    """The newest messages of the channel that follows arrivals."""

    rows: dict[str, MessageRow]  # by number, in the order of arrival
    rest: int  # matching messages that are not shown: more than 20 arrived in a second
    unseen: int  # arrived too fast to be read
