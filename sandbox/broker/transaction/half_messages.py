"""Forms of a transaction's message: prepared, put again, ended, discarded.

Every form is built from the stored text and fields; this module neither stores nor reads.  Fields that a form loses
(a half message put again loses its flag) are lost in RocketMQ too: `TransactionalMessageBridge`,
`EndTransactionProcessor`.
"""

from typing import NamedTuple

from sandbox.broker.stored_text import host_of
from sandbox.message import msg_id, record
from sandbox.message import properties as names
from sandbox.message import topic_names as topics
from sandbox.message.message import InboundMessage, StoredMessage
from sandbox.message.sys_flag import TRANSACTION_COMMIT, TRANSACTION_MASK

HALF_QUEUE_ID = 0
REMOVED_TAG = "d"  # of an op message: the half message it names has ended


class HalfMessage(NamedTuple):
    """Transaction fields of a half message."""

    transaction_id: str  # UNIQ_KEY; the offset message id for a sender that sets none
    producer_group: str
    topic: str
    queue_id: int
    half_offset: int
    physical_offset: int
    checks: int
    born_ms: int

    @classmethod
    def of(cls, stored: StoredMessage) -> "HalfMessage":
        return cls.of_properties(
            stored.properties, stored.queue_offset, stored.physical_offset, stored.born_ms, host_of(stored.store_host)
        )

    @classmethod
    def of_properties(
        cls, properties: dict[str, str], half_offset: int, physical_offset: int, born_ms: int, store_host: bytes
    ) -> "HalfMessage":
        """Create it from a half message's properties and position."""
        transaction_id = properties.get(names.UNIQ_KEY) or msg_id.encode(store_host, physical_offset)
        return cls(
            transaction_id,
            properties.get(names.PGROUP, ""),
            properties.get(names.REAL_TOPIC, ""),
            whole(properties.get(names.REAL_QID, "")),
            half_offset,
            physical_offset,
            checks_of(properties),
            born_ms,
        )


def prepare(properties: dict[str, str], topic: str, queue_id: int, sys_flag: int) -> int:
    """Store the destination of a commit in `properties`; return the sys flag of the half message.

    The flag has no transaction bits, so the half message takes an offset of the half queue and can be found by key.
    """
    properties[names.REAL_TOPIC] = topic
    properties[names.REAL_QID] = str(queue_id)
    return sys_flag & ~TRANSACTION_MASK


def committed(half: StoredMessage) -> InboundMessage:
    """Build the message for its topic's consumers.  Its properties still contain TRAN_MSG and REAL_*.

    Raises ValueError if the half message has no destination.
    """
    properties = half.properties
    if not properties.get(names.REAL_TOPIC):
        raise ValueError("the message has no REAL_TOPIC")
    wait = properties.get(names.WAIT, "true").lower() == "true"
    return InboundMessage(
        properties[names.REAL_TOPIC],
        int(properties.get(names.REAL_QID, "")),
        half.body,
        names.encode(properties).encode(),
        0,
        half.sys_flag & ~TRANSACTION_MASK | TRANSACTION_COMMIT,
        half.flag,
        half.born_ms,
        host_of(half.born_host),
        half.reconsume_times,
        half.physical_offset,
        wait,
    )


def op_message(half: StoredMessage, now_ms: int, store_host: bytes) -> InboundMessage:
    """Build the op message that marks a half message as ended.

    It has tag `d`, the half message's queue offset as its text, and the same queue id.
    """
    text = names.encode({names.WAIT: "true", names.TAGS: REMOVED_TAG})
    return InboundMessage(
        topics.OP_HALF_TOPIC,
        half.queue_id,
        str(half.queue_offset).encode(),
        text.encode(),
        0,
        0,
        0,
        now_ms,
        store_host,
        wait_store_ok=False,
    )


def put_again(half: StoredMessage, properties: dict[str, str]) -> InboundMessage:
    """Build the half message for the end of its queue; `properties` are its properties with additions.

    RocketMQ: `renewHalfMessageInner`.  The text keeps its WAIT (recorded so), but this put does not wait.
    """
    return InboundMessage(
        half.topic,
        half.queue_id,
        half.body,
        names.encode(properties).encode(),
        0,
        half.sys_flag,
        0,
        half.born_ms,
        host_of(half.born_host),
        wait_store_ok=False,
    )


def put_aside(half: StoredMessage, properties: dict[str, str]) -> InboundMessage:
    """Build a half message within its immunity time for the end of its queue, with its first offset and WAIT=false.

    RocketMQ: `renewImmunityHalfMessageInner`.
    """
    first = properties.get(names.TRAN_PREPARED_QUEUE_OFFSET, str(half.queue_offset))
    return put_again(half, {**properties, names.WAIT: "false", names.TRAN_PREPARED_QUEUE_OFFSET: first})


def given_up(half: StoredMessage, properties: dict[str, str]) -> InboundMessage:
    """Build a discarded half message for TRANS_CHECK_MAX_TIME_TOPIC."""
    return InboundMessage(
        topics.CHECK_MAX_TIME_TOPIC,
        0,
        half.body,
        names.encode(properties).encode(),
        0,
        half.sys_flag,
        half.flag,
        half.born_ms,
        host_of(half.born_host),
        half.reconsume_times,
        wait_store_ok=False,
    )


def asked_about(half: StoredMessage, properties: dict[str, str], queue_offset: int, physical_offset: int) -> bytes:
    """Return the body of request 39: the record with its real destination, at its new position, and WAIT=false.

    Raises ValueError if the half message has no destination.
    """
    m = InboundMessage(
        properties.get(names.REAL_TOPIC, ""),
        int(properties.get(names.REAL_QID, "")),
        half.body,
        names.encode({**properties, names.WAIT: "false"}).encode(),
        0,
        half.sys_flag,
        half.flag,
        half.born_ms,
        host_of(half.born_host),
        half.reconsume_times,
        half.prepared_offset,
    )
    return record.encode(m, queue_offset, physical_offset, half.store_ms, host_of(half.store_host))


def checks_of(properties: dict[str, str]) -> int:
    """Return the number of checks so far."""
    return max(0, whole(properties.get(names.TRANSACTION_CHECK_TIMES, "0")))


def whole(text: str) -> int:
    """Return a number as Java reads it; −1 for invalid text."""
    try:
        return int(text)
    except ValueError:
        return -1
