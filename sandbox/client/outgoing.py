"""Outgoing messages: checks, headers, compression and batches."""

from typing import NamedTuple

from sandbox.client.config import RETRY_PREFIX, ProducerConfig, check_characters
from sandbox.kernel.errors import ClientError
from sandbox.message import batch as batches
from sandbox.message import compression, properties
from sandbox.message.message import Message
from sandbox.message.queue import MessageQueue
from sandbox.message.sys_flag import TRANSACTION_PREPARED
from sandbox.remoting.headers import SendHeader

MAX_TOPIC_CHARS = 127
NOT_FOR_SENDING = frozenset(
    {
        "SCHEDULE_TOPIC_XXXX",
        "RMQ_SYS_TRANS_HALF_TOPIC",
        "RMQ_SYS_TRANS_OP_HALF_TOPIC",
        "TRANS_CHECK_MAX_TIME_TOPIC",
        "SELF_TEST_TOPIC",
        "OFFSET_MOVED_EVENT",
    }
)


class Outgoing(NamedTuple):
    """Header and body of a message to send; the header has no queue yet."""

    header: SendHeader
    body: bytes

    def to(self, mq: MessageQueue) -> SendHeader:
        return self.header._replace(topic=mq.topic, queue_id=mq.queue_id, broker=mq.broker)


def check(message: Message, max_message_bytes: int) -> None:
    """Raise ClientError with the reason if the message cannot be sent.  RocketMQ: `Validators.checkMessage`."""
    if not message.topic.strip():
        raise ClientError("The specified topic is blank")
    if len(message.topic) > MAX_TOPIC_CHARS:
        raise ClientError(f"The specified topic is longer than topic max length {MAX_TOPIC_CHARS}.")
    check_characters("topic", message.topic)
    if message.topic in NOT_FOR_SENDING:
        raise ClientError(f"Sending message to topic[{message.topic}] is forbidden.")
    if not message.body:
        raise ClientError("the message body length is zero")
    if len(message.body) > max_message_bytes:
        raise ClientError(f"the message body of {len(message.body)} bytes is over the max value {max_message_bytes}")


def pack(message: Message, config: ProducerConfig, *, born_ms: int) -> Outgoing:
    """Build header and body of one message and compress a large body.

    The counters of a retry move from the properties into the header.
    """
    body, sys_flag = message.body, 0
    if len(body) >= config.compress_over_bytes:
        body, sys_flag = compression.compress(body), compression.ZLIB_FLAGS
    if message.properties.get(properties.TRAN_MSG) == "true":
        sys_flag |= TRANSACTION_PREPARED
    pairs = message.properties
    reconsume_times, most_times = 0, None
    if message.topic.startswith(RETRY_PREFIX):
        pairs = dict(pairs)
        reconsume_times = int(pairs.pop(properties.RECONSUME_TIME, "0"))
        if (most := pairs.pop(properties.MAX_RECONSUME_TIMES, None)) is not None:
            most_times = int(most)
    header = _header(config, properties.encode(pairs), sys_flag, message.flag, born_ms)
    return Outgoing(header._replace(reconsume_times=reconsume_times, max_reconsume_times=most_times), body)


def pack_batch(messages: list[Message], config: ProducerConfig, *, born_ms: int) -> Outgoing:
    """Encode several messages of one topic as one body, never compressed.  RocketMQ: `MessageBatch`.

    Raises ClientError if the messages cannot be sent as one batch.
    """
    if not messages:
        raise ClientError("a batch needs at least one message")
    first = messages[0]
    for message in messages:
        if properties.DELAY in message.properties:
            raise ClientError("delayed messages are not supported for batching")
        if message.topic.startswith(RETRY_PREFIX):
            raise ClientError("retry messages are not supported for batching")
        if message.topic != first.topic:
            raise ClientError(f"the messages of a batch have one topic, not {first.topic} and {message.topic}")
        if message.properties.get(properties.WAIT) != first.properties.get(properties.WAIT):
            raise ClientError("the messages of a batch agree on whether to wait for the store")
    body = batches.encode(
        batches.BatchItem(message.flag, message.body, properties.encode(message.properties).encode())
        for message in messages
    )
    if len(body) > config.max_message_bytes:
        raise ClientError(f"the batch of {len(body)} bytes is over the max value {config.max_message_bytes}")
    shared = properties.encode({properties.WAIT: first.properties.get(properties.WAIT, "true")})
    return Outgoing(_header(config, shared, 0, 0, born_ms)._replace(batch=True), body)


def _header(config: ProducerConfig, pairs: str, sys_flag: int, flag: int, born_ms: int) -> SendHeader:
    return SendHeader(
        group=config.group,
        topic="",
        default_topic=config.create_topic_key,
        default_topic_queues=config.default_topic_queues,
        queue_id=-1,
        sys_flag=sys_flag,
        born_ms=born_ms,
        flag=flag,
        properties=pairs,
    )
