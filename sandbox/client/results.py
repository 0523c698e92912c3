"""Results of sending, pulling and consuming; wire names kept."""

from enum import Enum, IntEnum
from typing import NamedTuple

from sandbox.message.message import Message
from sandbox.message.queue import MessageQueue


class SendStatus(Enum):
    """All but SEND_OK mean: stored, but not as safely as was asked for."""

    SEND_OK = "SEND_OK"
    FLUSH_DISK_TIMEOUT = "FLUSH_DISK_TIMEOUT"
    FLUSH_SLAVE_TIMEOUT = "FLUSH_SLAVE_TIMEOUT"
    SLAVE_NOT_AVAILABLE = "SLAVE_NOT_AVAILABLE"


class SendResult(NamedTuple):
    """`msg_id` is the offset message id (of a batch: joined by commas), `unique_key` the client's own."""

    status: SendStatus
    queue: MessageQueue
    queue_offset: int
    msg_id: str
    unique_key: str
    transaction_id: str | None = None


class PullStatus(Enum):
    FOUND = "FOUND"
    NO_NEW_MSG = "NO_NEW_MSG"
    NO_MATCHED_MSG = "NO_MATCHED_MSG"
    OFFSET_ILLEGAL = "OFFSET_ILLEGAL"


class PullResult(NamedTuple):
    """`next_offset` is where the next pull begins, whatever became of this one."""

    status: PullStatus
    next_offset: int
    min_offset: int
    max_offset: int
    suggested_broker_id: int
    messages: list[Message]


class ConsumeConcurrentlyStatus(Enum):
    CONSUME_SUCCESS = "CONSUME_SUCCESS"
    RECONSUME_LATER = "RECONSUME_LATER"


class ConsumeOrderlyStatus(Enum):
    """COMMIT and ROLLBACK only make sense without automatic commit."""

    SUCCESS = "SUCCESS"
    ROLLBACK = "ROLLBACK"
    COMMIT = "COMMIT"
    SUSPEND_CURRENT_QUEUE_A_MOMENT = "SUSPEND_CURRENT_QUEUE_A_MOMENT"


class ReadOffsetType(IntEnum):
    READ_FROM_MEMORY = 0
    READ_FROM_STORE = 1
    MEMORY_FIRST_THEN_STORE = 2
