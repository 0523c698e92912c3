"""Rebalance: every member computes its own queues and acquires them."""

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
    """One consumer's share of its topics, kept equal to what the strategy says.  RocketMQ: `RebalancePushImpl`.

    What was dropped is persisted and forgotten; what is new starts at the stored offset (spec client-behaviour 5).
    `changed` is called with a topic whose share is another now.
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
        """List the queues the last rounds assigned to this member, acquired or not."""
        return self._news.claimed()

    @property
    def rounds(self) -> dict[str, Round]:
        """The newest assignment of each topic, as this member knows it."""
        return self._news.rounds

    async def run(self, trigger: str) -> None:
        """One round over all subscribed topics; a failed topic stays as it is."""
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
        """Release first, then take; pulling starts at once, and brokers learn of a change."""
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
        """Queues of topics no longer subscribed to go without a commit and without an unlock, as in RocketMQ."""
        for mq, pq in self._queues.items():
            if mq.topic not in self._subscriptions:
                pq.dropped = True
                self._queues.remove(mq, pq, "unsubscribed")
