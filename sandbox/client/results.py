"""Results of sending, pulling and consuming, with RocketMQ's names."""

from enum import Enum, IntEnum
from typing import NamedTuple

from sandbox.message.message import Message
from sandbox.message.queue import MessageQueue


class SendStatus(Enum):
    """Status of a stored message.  All but SEND_OK mean that flush or replication was not confirmed."""

    SEND_OK = "SEND_OK"
    FLUSH_DISK_TIMEOUT = "FLUSH_DISK_TIMEOUT"
    FLUSH_SLAVE_TIMEOUT = "FLUSH_SLAVE_TIMEOUT"
    SLAVE_NOT_AVAILABLE = "SLAVE_NOT_AVAILABLE"


class SendResult(NamedTuple):
    """Result of a successful send.

    `msg_id` is the offset message id (of a batch: ids joined by commas); `unique_key` is the client's own id.
    """

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
    """Result of a pull.  `next_offset` is the start of the next pull, whatever the status."""

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
    """Status that an orderly listener returns.  COMMIT and ROLLBACK have an effect without automatic commit only."""

    SUCCESS = "SUCCESS"
    ROLLBACK = "ROLLBACK"
    COMMIT = "COMMIT"
    SUSPEND_CURRENT_QUEUE_A_MOMENT = "SUSPEND_CURRENT_QUEUE_A_MOMENT"


class ReadOffsetType(IntEnum):
    READ_FROM_MEMORY = 0
    READ_FROM_STORE = 1
    MEMORY_FIRST_THEN_STORE = 2
