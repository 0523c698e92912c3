"""Request and reply by messages (spec remoting 6).  RocketMQ: `MessageUtil`."""

import asyncio

from sandbox.kernel.chance import Chance
from sandbox.kernel.errors import ClientError
from sandbox.kernel.ids import random_uuid
from sandbox.message import compression
from sandbox.message import properties as props
from sandbox.message.message import Message
from sandbox.remoting.headers import PushReplyHeader

REPLY = "reply"  # MSG_TYPE of a reply
REPLY_SUFFIX = "_REPLY_TOPIC"
MAX_REQUESTS = 10_000  # of one process, waiting for their replies


class ReplyFutures:
    """Requests of one process that wait for a reply message, by CORRELATION_ID.  RocketMQ: `RequestFutureHolder`."""

    def __init__(self, chance: Chance) -> None:
        self._chance = chance
        self._waiting: dict[str, asyncio.Future[Message]] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    def begin(self) -> "tuple[str, asyncio.Future[Message]]":
        """Return a new correlation id and the future of its reply.  Raises ClientError if too many requests wait."""
        if len(self._waiting) >= MAX_REQUESTS:
            raise ClientError(f"{len(self._waiting)} requests are waiting for their replies")
        correlation_id = random_uuid(self._chance.below(2**128))
        future: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        self._waiting[correlation_id] = future
        return correlation_id, future

    def end(self, correlation_id: str) -> None:
        self._waiting.pop(correlation_id, None)

    def waits_for(self, correlation_id: str) -> bool:
        future = self._waiting.get(correlation_id)
        return future is not None and not future.done()

    def arrived(self, reply: Message) -> None:
        """Complete the request that `waits_for` this reply."""
        self._waiting.pop(reply.properties[props.CORRELATION_ID]).set_result(reply)

    def close(self) -> None:
        """Cancel all waiting requests, because the process ends."""
        waiting, self._waiting = self._waiting, {}
        for future in waiting.values():
            future.cancel()


def reply_to(asked: Message, body: bytes) -> Message:
    """Return the reply to a request message, for any producer to send.

    Raises ClientError if the request has no CLUSTER property, which names the cluster that stored it.
    """
    cluster = asked.properties.get(props.CLUSTER)
    if cluster is None:
        raise ClientError(f"create reply message fail, requestMessage error, property[{props.CLUSTER}] is null.")
    taken = {
        name: asked.properties[name]
        for name in (props.CORRELATION_ID, props.REPLY_TO_CLIENT, props.TTL)
        if name in asked.properties
    }
    return Message(cluster + REPLY_SUFFIX, body, {props.MSG_TYPE: REPLY, **taken})


def is_reply(text: str) -> bool:
    """Return True if these encoded properties belong to a reply, which is sent with its own request code."""
    return f"{props.MSG_TYPE}\x01{REPLY}" in text and props.decode(text).get(props.MSG_TYPE) == REPLY


def pushed(header: PushReplyHeader, properties: dict[str, str], body: bytes, now_ms: int, most: int) -> Message:
    """Build the reply message that a broker pushed (request 326).

    Raises CorruptRecord if it cannot be decompressed.
    """
    return Message(
        topic=header.topic,
        body=compression.decompress(body, header.sys_flag, most),
        properties={**properties, props.ARRIVE_TIME: str(now_ms)},
        flag=header.flag,
        queue_id=header.queue_id,
        sys_flag=header.sys_flag,
        born_ms=header.born_ms,
        store_ms=header.store_ms,
        reconsume_times=header.reconsume_times,
    )
