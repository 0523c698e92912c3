"""Administrative requests that read and change offsets of queues and of groups."""

from sandbox.client.requests import RequestHeader, Requests
from sandbox.kernel.errors import BrokerRefused
from sandbox.message.queue import MessageQueue
from sandbox.remoting.bodies import ResetOffsetBody
from sandbox.remoting.codes import RequestCode, ResponseCode
from sandbox.remoting.headers import (
    CloneOffsetsHeader,
    OffsetResponseHeader,
    QueryOffsetHeader,
    QueueHeader,
    ResetOffsetHeader,
    SearchOffsetHeader,
    TimestampResponseHeader,
    UpdateOffsetHeader,
)

TO_THE_END = -1
"""As a time: the end of every queue."""


class OffsetQuestions:
    """Administrative requests about offsets; each method sends one to the broker at `address`.

    The largest offset of an unknown queue is 0, its smallest 0 or -1.
    """

    def __init__(self, requests: Requests) -> None:
        self._requests = requests

    async def smallest(self, address: str, mq: MessageQueue) -> int:
        """Return the first offset that the queue still has (31)."""
        return await self._offset(address, RequestCode.GET_MIN_OFFSET, QueueHeader(mq.topic, mq.queue_id, mq.broker))

    async def largest(self, address: str, mq: MessageQueue) -> int:
        """Return the queue's end: one more than its last offset (30)."""
        return await self._offset(address, RequestCode.GET_MAX_OFFSET, QueueHeader(mq.topic, mq.queue_id, mq.broker))

    async def at_time(self, address: str, mq: MessageQueue, timestamp_ms: int) -> int:
        """Return the offset of the message that the broker considers nearest to a store time (29)."""
        return await self._offset(
            address,
            RequestCode.SEARCH_OFFSET_BY_TIMESTAMP,
            SearchOffsetHeader(mq.topic, mq.queue_id, timestamp_ms, mq.broker),
        )

    async def earliest_store_ms(self, address: str, mq: MessageQueue) -> int | None:
        """Return the store time of the queue's first message (32); None if the queue is empty."""
        answer = await self._requests.read(
            address,
            RequestCode.GET_EARLIEST_MSG_STORETIME,
            QueueHeader(mq.topic, mq.queue_id, mq.broker),
            lambda c: TimestampResponseHeader.from_ext(c.ext).timestamp_ms,
        )
        return None if answer < 0 else answer

    async def committed(self, address: str, group: str, mq: MessageQueue) -> int | None:
        """Return the group's committed offset (14).

        None means that the group has committed none and the queue no longer begins at 0.  While the queue begins at
        0, brokers answer 0 instead.
        """
        try:
            return await self._offset(
                address, RequestCode.QUERY_CONSUMER_OFFSET, QueryOffsetHeader(group, mq.topic, mq.queue_id, mq.broker)
            )
        except BrokerRefused as no:
            if no.code == ResponseCode.QUERY_NOT_FOUND:
                return None
            raise

    async def commit(self, address: str, group: str, mq: MessageQueue, offset: int) -> None:
        """Commit an offset in the group's name (15).  Members that are online overwrite it with theirs.

        4.9 accepts any group and topic; 5.x refuses an unknown group with code 26 and an unknown topic with 17.
        """
        await self._requests.ask(
            address,
            RequestCode.UPDATE_CONSUMER_OFFSET,
            UpdateOffsetHeader(group, mq.topic, mq.queue_id, offset, mq.broker),
        )

    async def reset_by_time(
        self, address: str, group: str, topic: str, timestamp_ms: int, *, force: bool = True
    ) -> dict[MessageQueue, int]:
        """Reset a group to a store time, or to the end with TO_THE_END (222).  Return the new offset of each queue.

        Without `force` no queue moves forward.  4.9 only notifies the members and stores nothing.  It raises
        BrokerRefused with code 206 if no member is online, with 1 if the group never committed in a queue.

        5.3 stores the offsets at once, online or not (unless its setting useServerSideResetOffset is off).  It
        corrects each member at its next pull, which may have been held for 15 s.  It refuses unknown groups with 26
        and unknown topics with 17.
        """
        return await self._reset(address, ResetOffsetHeader(topic, group, timestamp_ms, force))

    async def reset_queue(self, address: str, group: str, mq: MessageQueue, offset: int) -> dict[MessageQueue, int]:
        """Reset a group to an offset in one queue, with 5.x's form of request 222.

        A 4.9 broker would reset every queue to the end, so check the broker's version first.
        """
        return await self._reset(address, ResetOffsetHeader(mq.topic, group, TO_THE_END, True, mq.queue_id, offset))

    async def clone(self, address: str, source: str, target: str, topic: str, *, offline: bool = True) -> None:
        """Copy the offsets of group `source` in a topic to group `target` (314)."""
        await self._requests.ask(
            address, RequestCode.CLONE_GROUP_OFFSET, CloneOffsetsHeader(source, target, topic, offline)
        )

    async def _reset(self, address: str, header: ResetOffsetHeader) -> dict[MessageQueue, int]:
        answer = await self._requests.read(
            address, RequestCode.INVOKE_BROKER_TO_RESET_OFFSET, header, lambda c: ResetOffsetBody.decode(c.body)
        )
        return {MessageQueue(*queue): offset for queue, offset in answer.offsets.items()}

    async def _offset(self, address: str, code: RequestCode, header: RequestHeader) -> int:
        return await self._requests.read(address, code, header, lambda c: OffsetResponseHeader.from_ext(c.ext).offset)
