"""Rebalancing of push consumers: every member computes its own queues and acquires them."""

import logging
from collections.abc import Awaitable, Callable

from sandbox.client.owned_queues import OwnedQueues
from sandbox.client.pull_service import PullService
from sandbox.client.queue_assignment import AssignmentNews, Divider, Division, Round, divide
from sandbox.client.subscription import Subscription
from sandbox.kernel.errors import ClientError
from sandbox.message.queue import MessageQueue

log = logging.getLogger(__name__)


class Rebalance:
    """Rebalancing of one push consumer's topics with its strategy.  RocketMQ: `RebalancePushImpl`.

    The offset of a dropped queue is persisted and removed from memory; a new queue starts at the stored offset (spec
    client-behaviour 5).  `changed` is called with each topic whose assignment changes.
    """

    def __init__(
        self,
        member: Divider,
        subscriptions: dict[str, Subscription],
        queues: OwnedQueues,
        pulls: PullService,
        changed: Callable[[str], Awaitable[None]],
    ) -> None:
        self._member = member
        self._subscriptions = subscriptions
        self._queues = queues
        self._pulls = pulls
        self._changed = changed
        self._news = AssignmentNews(member)

    def claimed(self) -> list[MessageQueue]:
        """Return the queues that the last rebalances assigned to this member, acquired or not."""
        return self._news.claimed()

    @property
    def rounds(self) -> dict[str, Round]:
        """Return the newest rebalance result of each topic, as this member computed it."""
        return self._news.rounds

    async def run(self, trigger: str) -> None:
        """Rebalance every subscribed topic once.  A topic whose assignment fails keeps its queues."""
        for topic in list(self._subscriptions):
            try:
                await self._topic(topic, trigger)
            except ClientError as error:
                log.info("queues of topic %s not assigned in group %s: %s", topic, self._member.group, error)
                self._news.missed(topic, trigger, str(error))
            if not self._member.may_rebalance:
                return
        self._drop_unsubscribed()

    async def _topic(self, topic: str, trigger: str) -> None:
        division = await divide(self._member, topic)
        if division is None:
            self._news.missed(topic, trigger)
        else:
            self._news.found(topic, division, trigger)
            await self._apply(topic, division, trigger)

    async def _apply(self, topic: str, division: Division, trigger: str) -> None:
        """Release queues of other members, acquire new ones, start their pulls, and report a change to the brokers."""
        queues = self._queues
        dropped = await self._release_others(topic, set(division.mine))
        added = [mq for mq in division.mine if mq not in queues.table and await queues.take(mq)]
        self._news.report(topic, division, trigger, added=added, dropped=dropped)
        for mq in added:
            self._pulls.start(queues.table[mq])
        if dropped or added:
            await self._changed(topic)

    async def _release_others(self, topic: str, mine: set[MessageQueue]) -> list[MessageQueue]:
        queues, instance = self._queues, self._member.instance
        now_ms = instance.clock.now_ms()
        released: list[MessageQueue] = []
        for mq, pq in queues.items():
            if mq.topic != topic:
                continue
            if mq not in mine:
                reason = "rebalance"
            elif now_ms - pq.last_pull_ms > instance.config.pull_max_idle_ms:
                reason = "idle"
            else:
                continue
            pq.dropped = True
            if await queues.release(mq, pq) and queues.table.get(mq) is pq:
                queues.remove(mq, pq, reason)
                released.append(mq)
        return released

    def _drop_unsubscribed(self) -> None:
        """Drop queues of unsubscribed topics without a commit and without an unlock, as RocketMQ does."""
        for mq, pq in self._queues.items():
            if mq.topic not in self._subscriptions:
                pq.dropped = True
                self._queues.remove(mq, pq, "unsubscribed")
