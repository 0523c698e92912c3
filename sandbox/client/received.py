"""From a record on the wire to the message a listener sees."""

from functools import lru_cache

from sandbox.message import compression, msg_id, properties
from sandbox.message.message import Message, StoredMessage


def received(stored: StoredMessage, broker: str, *, min_offset: int, max_offset: int) -> Message:
    """The message with its body unpacked, and the queue's ends of this pull among its properties.

    RocketMQ: `MessageDecoder.decode` and `PullAPIWrapper.processPullResult`.
    """
    stored.properties[properties.MIN_OFFSET] = str(min_offset)
    stored.properties[properties.MAX_OFFSET] = str(max_offset)
    return message_of(stored, broker)


def message_of(stored: StoredMessage, broker: str | None = None) -> Message:
    """The message with its body unpacked."""
    return Message(
        topic=stored.topic,
        body=compression.decompress(stored.body, stored.sys_flag),
        properties=stored.properties,
        flag=stored.flag,
        broker=broker,
        queue_id=stored.queue_id,
        queue_offset=stored.queue_offset,
        physical_offset=stored.physical_offset,
        store_bytes=stored.store_bytes,
        sys_flag=stored.sys_flag,
        born_ms=stored.born_ms,
        store_ms=stored.store_ms,
        reconsume_times=stored.reconsume_times,
        msg_id=msg_id.encode(_packed(stored.store_host), stored.physical_offset),
    )


@lru_cache(maxsize=256)
def _packed(host: str) -> bytes:
    """Address and port as bytes; a client talks to a handful of brokers."""
    ip, _, port = host.rpartition(":")
    return msg_id.host_bytes(ip.strip("[]"), int(port))
