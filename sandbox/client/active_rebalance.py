"""Queue assignment of pull and lite pull consumers: they update their queue table and notify the application."""

import logging
from typing import Protocol

from sandbox.client.config import ConsumeFromWhere
from sandbox.client.offset_store import WatchedOffsetStore
from sandbox.client.process_queue import ProcessQueue
from sandbox.client.queue_assignment import AssignmentNews, Divider, Division, Round, divide
from sandbox.client.start_offset import StartOffset
from sandbox.client.subscription import Subscription
from sandbox.journal.events import QueueDropped, QueueTaken
from sandbox.kernel.errors import ClientError, SandboxError
from sandbox.message.queue import MessageQueue

log = logging.getLogger(__name__)


class ActiveMember(Divider, Protocol):
    """A pull consumer or a lite pull consumer."""

    @property
    def process_queues(self) -> dict[MessageQueue, ProcessQueue]: ...
    @property
    def offset_store(self) -> WatchedOffsetStore: ...
    @property
    def subscriptions(self) -> dict[str, Subscription]: ...
    @property
    def from_where(self) -> ConsumeFromWhere: ...
    async def beginning(self, mq: MessageQueue) -> StartOffset:
        """Return the start offset in a new queue.  An empty trace means that the application chooses it."""

    def queues_changed(self, topic: str, queues: list[MessageQueue], mine: list[MessageQueue]) -> None:
        """Notify the application that its queues of the topic changed: all `queues`, and `mine` among them."""


class ActiveRebalance:
    """Rebalancing that keeps a consumer's queue table equal to its assigned queues.

    RocketMQ: `RebalancePullImpl`, `RebalanceLitePullImpl`.  Unlike the push consumer's, this class locks no queue,
    drops none for being idle, and starts no pull.
    """

    def __init__(self, member: ActiveMember) -> None:
        self._member = member
        self._news = AssignmentNews(member)

    @property
    def rounds(self) -> dict[str, Round]:
        """Return the newest rebalance result of each topic, as this member computed it."""
        return self._news.rounds

    async def run(self, trigger: str) -> None:
        """Rebalance every subscribed topic once.  A topic whose assignment fails keeps its queues."""
        member = self._member
        for topic in list(member.subscriptions):
            try:
                division = await divide(member, topic)
            except ClientError as error:
                log.info("queues of topic %s not assigned in group %s: %s", topic, member.group, error)
                self._news.missed(topic, trigger, str(error))
                continue
            if division is None:
                self._news.missed(topic, trigger)
            else:
                self._news.found(topic, division, trigger)
                await self._apply(topic, division, trigger)
            if not member.may_rebalance:
                return
        for mq, pq in self._held():
            if mq.topic not in member.subscriptions:
                self.remove(mq, pq, "unsubscribed")

    def remove(self, mq: MessageQueue, pq: ProcessQueue, reason: str) -> None:
        """Remove a queue from the table, because another member owns it now or this member stops.

        Write QueueDropped.
        """
        member = self._member
        pq.dropped = True
        member.process_queues.pop(mq, None)
        member.instance.journal.write(
            QueueDropped(
                group=member.group,
                client_id=member.client_id,
                topic=mq.topic,
                broker=mq.broker,
                queue_id=mq.queue_id,
                reason=reason,
                offset=pq.released_offset,
                unfinished=pq.unfinished_runs(),
            )
        )

    def drop_all(self) -> None:
        """Remove all queues because the member stops.  Each queue's event records the last committed offset."""
        for mq, pq in self._held():
            pq.released_offset = self._member.offset_store.read_memory(mq)
            self.remove(mq, pq, "shutdown")

    async def _apply(self, topic: str, division: Division, trigger: str) -> None:
        member = self._member
        mine, dropped = set(division.mine), []
        for mq, pq in self._held():
            if mq.topic == topic and mq not in mine:
                pq.dropped = True
                await self._release(mq, pq)
                self.remove(mq, pq, "rebalance")
                dropped.append(mq)
        added = [mq for mq in division.mine if mq not in member.process_queues and await self._take(mq)]
        self._news.report(topic, division, trigger, added=added, dropped=dropped)
        if added or dropped:
            member.queues_changed(topic, division.queues, division.mine)

    async def _release(self, mq: MessageQueue, pq: ProcessQueue) -> None:
        store = self._member.offset_store
        try:
            await store.persist(mq, by="release")
        except SandboxError as error:
            log.info("offset of %s not committed on release: %s", mq.key, error)
        pq.released_offset = store.read_memory(mq)
        store.remove_offset(mq)

    async def _take(self, mq: MessageQueue) -> bool:
        """Clear the queue's offset in memory, find the start offset and add the queue to the table.

        Return False if no start offset is known or the member must not rebalance now.
        """
        member = self._member
        clock = member.instance.clock
        member.offset_store.remove_offset(mq)
        pq = ProcessQueue(mq, now_ms=clock.now_ms())
        start = await member.beginning(mq)
        if start.offset is None or not member.may_rebalance:
            return False
        pq.next_offset = start.offset
        pq.last_pull_ms = clock.now_ms()
        member.process_queues[mq] = pq
        if start.trace:
            member.offset_store.note_safe(mq, start.offset)
            write_taken(member, mq, start)
        return True

    def _held(self) -> list[tuple[MessageQueue, ProcessQueue]]:
        return sorted(self._member.process_queues.items(), key=lambda item: item[0])


def write_taken(member: ActiveMember, mq: MessageQueue, start: StartOffset) -> None:
    """Write the event that this member acquired a queue and starts at a known offset."""
    member.instance.journal.write(
        QueueTaken(
            group=member.group,
            client_id=member.client_id,
            topic=mq.topic,
            broker=mq.broker,
            queue_id=mq.queue_id,
            start_offset=start.offset or 0,
            trace=start.trace,
            from_where=member.from_where.value,
        )
    )
