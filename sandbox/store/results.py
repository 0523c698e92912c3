"""Results of a store: statuses with RocketMQ's names, and their values."""

from enum import Enum
from typing import NamedTuple


class PutMessageStatus(Enum):
    PUT_OK = "PUT_OK"
    FLUSH_DISK_TIMEOUT = "FLUSH_DISK_TIMEOUT"
    FLUSH_SLAVE_TIMEOUT = "FLUSH_SLAVE_TIMEOUT"
    SLAVE_NOT_AVAILABLE = "SLAVE_NOT_AVAILABLE"
    SERVICE_NOT_AVAILABLE = "SERVICE_NOT_AVAILABLE"
    CREATE_MAPEDFILE_FAILED = "CREATE_MAPEDFILE_FAILED"  # RocketMQ's spelling
    MESSAGE_ILLEGAL = "MESSAGE_ILLEGAL"
    PROPERTIES_SIZE_EXCEEDED = "PROPERTIES_SIZE_EXCEEDED"
    OS_PAGECACHE_BUSY = "OS_PAGECACHE_BUSY"
    UNKNOWN_ERROR = "UNKNOWN_ERROR"


class GetMessageStatus(Enum):
    """The outcome of a read of a queue (spec broker-behaviour 3.2)."""

    FOUND = "FOUND"
    NO_MATCHED_MESSAGE = "NO_MATCHED_MESSAGE"
    MESSAGE_WAS_REMOVING = "MESSAGE_WAS_REMOVING"
    OFFSET_FOUND_NULL = "OFFSET_FOUND_NULL"
    OFFSET_OVERFLOW_BADLY = "OFFSET_OVERFLOW_BADLY"
    OFFSET_OVERFLOW_ONE = "OFFSET_OVERFLOW_ONE"
    OFFSET_TOO_SMALL = "OFFSET_TOO_SMALL"
    NO_MATCHED_LOGIC_QUEUE = "NO_MATCHED_LOGIC_QUEUE"
    NO_MESSAGE_IN_QUEUE = "NO_MESSAGE_IN_QUEUE"


class PutResult(NamedTuple):
    """The position of a stored message or batch.

    Offsets are those of the first message; they are meaningless if the put was refused.
    """

    status: PutMessageStatus
    physical_offset: int = -1
    store_bytes: int = 0
    store_ms: int = 0
    queue_offset: int = -1
    count: int = 0  # type: ignore[assignment]  # hides tuple.count, which is not used here
    physical_offsets: tuple[int, ...] = ()  # one per message of a batch; empty for a single put

    @property
    def physical_end(self) -> int:
        """The position up to which the log must be flushed, or copied to a slave, for this put to be safe."""
        return self.physical_offset + self.store_bytes

    @property
    def offsets(self) -> tuple[int, ...]:
        """The start position of each message of the put."""
        return self.physical_offsets or (self.physical_offset,)


class GetResult(NamedTuple):
    """The result of reading a queue.  `records` are whole records, one after the other, as in the log."""

    status: GetMessageStatus
    next_offset: int
    min_offset: int
    max_offset: int
    records: bytes = b""
    count: int = 0  # type: ignore[assignment]  # hides tuple.count, which is not used here
    first_offset: int = -1  # queue offset of the first record
    skipped: int = 0  # entries skipped because their tags code did not match
    refused: int = 0  # records read and left out, as the filter did not want their properties
    cold: bool = False  # the last entry read is "on disk" by the 40 % rule


class QueueUnit(NamedTuple):
    """One entry of a consume queue: 20 bytes that point into the log."""

    physical_offset: int
    store_bytes: int
    tags_code: int


class QueryResult(NamedTuple):
    """Records found by key, ascending, and the header values of the newest index file."""

    records: list[bytes]
    last_update_ms: int
    last_update_physical: int


class RecoveryReport(NamedTuple):
    """The result of opening a store."""

    kind: str  # normal, abnormal
    from_offset: int
    truncated_bytes: int
    messages: int  # records read
    steps: tuple[str, ...]
    end_offset: int = 0  # of the log from now on; the truncated bytes were after it
