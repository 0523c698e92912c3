"""Conversion of stored records into the messages that a listener receives."""

import asyncio
import logging
from functools import lru_cache

from sandbox.kernel.errors import CorruptRecord
from sandbox.message import compression, msg_id, properties
from sandbox.message.message import Message, StoredMessage

log = logging.getLogger(__name__)


TURN_BYTES = 1024 * 1024  # decompressed before other tasks run: 2 ms


class Unpacking:
    """Decompression of message bodies, one after the other, with pauses in which other tasks run."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._in_turn = 0

    async def body(self, stored: StoredMessage) -> bytes:
        """Return the body as the application sent it.

        Raises CorruptRecord if it cannot be decompressed or exceeds the limit.
        """
        unpacked: list[bytes] = []
        for piece in compression.pieces(stored.body, stored.sys_flag, self._most):
            unpacked.append(piece)
            self._in_turn += len(piece)
            if self._in_turn >= TURN_BYTES:
                self._in_turn = 0
                await asyncio.sleep(0)
        return b"".join(unpacked)


def received(stored: StoredMessage, body: bytes, broker: str, *, min_offset: int, max_offset: int) -> Message:
    """Build the received message from a record and its decompressed body.

    The queue's smallest and largest offset at this pull become properties.  RocketMQ: `MessageDecoder.decode` and
    `PullAPIWrapper.processPullResult`.
    """
    stored.properties[properties.MIN_OFFSET] = str(min_offset)
    stored.properties[properties.MAX_OFFSET] = str(max_offset)
    return _message(stored, body, broker)


def message_of(stored: StoredMessage, most: int) -> Message:
    """Return the message of a record with its body decompressed, or as stored if that fails."""
    try:
        body = compression.decompress(stored.body, stored.sys_flag, most)
    except CorruptRecord as error:
        log.info("%s at %s is delivered as stored: %s", stored.topic, stored.physical_offset, error)
        body = stored.body
    return _message(stored, body, None)


def _message(stored: StoredMessage, body: bytes, broker: str | None) -> Message:
    return Message(
        topic=stored.topic,
        body=body,
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
    """Return a host text as bytes of address and port.  Cached, because a client has few brokers."""
    ip, _, port = host.rpartition(":")
    return msg_id.host_bytes(ip.strip("[]"), int(port))
