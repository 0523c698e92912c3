"""One pull of any kind of consumer: the node to ask, the request, and the filter of the answer."""

from typing import TYPE_CHECKING

from sandbox.client.client_api import SYS_COMMIT, SYS_SUBSCRIPTION, PullAnswer
from sandbox.client.process_queue import offset_of
from sandbox.client.received import Unpacking, received
from sandbox.client.routes import MASTER_ID
from sandbox.client.subscription import Subscription
from sandbox.journal.events import BodyLeftPacked, MessagesFiltered
from sandbox.kernel.errors import ClientError, ConnectFailed, CorruptRecord
from sandbox.message.filter import TAG
from sandbox.message.message import Message
from sandbox.message.queue import MessageQueue
from sandbox.message.sys_flag import COMPRESSED
from sandbox.remoting.headers import PullHeader

if TYPE_CHECKING:
    from sandbox.client.instance import ClientInstance


REPORT_PACKED_MS = 1_000


class PullApi:
    """Pulls of one consumer, with the node that the broker suggested last for each queue.

    RocketMQ: `PullAPIWrapper`.
    """

    def __init__(self, group: str, instance: "ClientInstance") -> None:
        self._group = group
        self._instance = instance
        self.suggested: dict[MessageQueue, int] = {}
        self._reported_packed_ms = -REPORT_PACKED_MS

    async def pull(
        self,
        mq: MessageQueue,
        subscription: Subscription,
        *,
        offset: int,
        count: int,
        sys_flag: int,
        suspend_ms: int,
        timeout_ms: int,
        commit_offset: int = 0,
        waits: bool = True,
    ) -> PullAnswer:
        """Send one pull and return its answer.

        The expression is sent with SYS_SUBSCRIPTION only.  A slave receives no offset to commit.  Raises ClientError
        if the offset is negative or `count` is not positive, and any error of connection or broker.
        """
        if offset < 0:
            raise ClientError(f"a pull cannot start at offset {offset}")
        if count <= 0:
            raise ClientError(f"a pull must request at least one message, not {count}")
        address, broker_id = await self._node(mq)
        if broker_id != MASTER_ID:
            sys_flag &= ~SYS_COMMIT
        by_text = bool(sys_flag & SYS_SUBSCRIPTION)
        header = PullHeader(
            group=self._group,
            topic=mq.topic,
            queue_id=mq.queue_id,
            queue_offset=offset,
            max_messages=count,
            sys_flag=sys_flag,
            commit_offset=commit_offset,
            suspend_timeout_ms=suspend_ms,
            subscription=subscription.expression if by_text else None,
            sub_version=subscription.version,
            expression_type=subscription.expression_type,
            broker=mq.broker,
        )
        answer = await self._instance.api.pull(address, header, timeout_ms, waits=waits)
        self.suggested[mq] = answer.header.suggest_broker_id
        return answer

    async def wanted(self, mq: MessageQueue, subscription: Subscription, answer: PullAnswer) -> list[Message]:
        """Decode the messages of an answer and return those that match the subscription.

        The tag texts are compared here, because the broker compared hashes only.  Other tasks may run meanwhile.  A
        body that cannot be decompressed is passed on as stored.
        """
        header, instance = answer.header, self._instance
        unpacking = Unpacking(instance.config.body_bytes)
        messages: list[Message] = []
        for stored in answer.records:
            try:
                body = await unpacking.body(stored) if stored.sys_flag & COMPRESSED else stored.body
            except CorruptRecord as error:
                body = stored.body
                self._report_packed(mq, stored.queue_offset, str(error))
            messages.append(
                received(stored, body, mq.broker, min_offset=header.min_offset, max_offset=header.max_offset)
            )
        matching = subscription.wanted(messages)
        if len(matching) < len(messages):
            key = (self._group, mq.topic)
            instance.dropped[key] = instance.dropped.get(key, 0) + len(messages) - len(matching)
        if len(matching) < len(messages) and instance.journal.tracing:
            kept = {offset_of(message) for message in matching}
            refused = [message for message in messages if offset_of(message) not in kept]
            instance.journal.write(
                MessagesFiltered(
                    group=self._group,
                    client_id=instance.client_id,
                    topic=mq.topic,
                    broker=mq.broker,
                    queue_id=mq.queue_id,
                    offsets=tuple(map(offset_of, refused)),
                    tags=tuple(message.tags for message in refused),
                )
            )
        return matching

    def _report_packed(self, mq: MessageQueue, offset: int, reason: str) -> None:
        instance = self._instance
        now_ms = instance.clock.now_ms()
        if now_ms - self._reported_packed_ms >= REPORT_PACKED_MS:
            self._reported_packed_ms = now_ms
            instance.journal.write(
                BodyLeftPacked(
                    group=self._group,
                    client_id=instance.client_id,
                    topic=mq.topic,
                    broker=mq.broker,
                    queue_id=mq.queue_id,
                    offset=offset,
                    why=reason,
                )
            )

    async def is_at_master(self, mq: MessageQueue) -> bool:
        """Return True if the next pull would go to the master.  Raises ConnectFailed if no address is known."""
        return (await self._node(mq))[1] == MASTER_ID

    async def _node(self, mq: MessageQueue) -> tuple[str, int]:
        """Return address and broker id of the node suggested last, or of any other node of that broker.

        If no address is known, the route is requested once.
        """
        routes = self._instance.routes
        broker_id = self.suggested.get(mq, MASTER_ID)
        address = routes.address(mq.broker, broker_id, only_this=False)
        if address is None:
            await self._instance.name_servers.learn_route(mq.topic)
            address = routes.address(mq.broker, broker_id, only_this=False)
        if address is None:
            raise ConnectFailed(f"the broker {mq.broker} has no known address")
        return address


def sent_as(subscription: Subscription) -> Subscription:
    """Return the subscription that a manual pull sends: version 0 for tags, which the broker then does not compare."""
    if subscription.expression_type == TAG and subscription.version:
        return Subscription(subscription.topic, subscription.expression, version=0)
    return subscription
