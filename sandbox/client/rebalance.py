"""Who reads what: every member computes for itself, and acts on it."""

import logging
from typing import TYPE_CHECKING

from sandbox.client.config import MessageModel
from sandbox.client.division import AssignmentNews, Division, Round, divide
from sandbox.client.process_queue import ProcessQueue
from sandbox.client.start_offset import compute_pull_from_where
from sandbox.journal.events import QueueDropped, QueueTaken
from sandbox.kernel.errors import ClientError, SandboxError
from sandbox.message.queue import MessageQueue

if TYPE_CHECKING:
    from sandbox.client.push_consumer import PushConsumer

log = logging.getLogger(__name__)

WAIT_FOR_LISTENER_S = 1.0  # how long a release waits for a running listener in order
UNLOCK_LATER_S = 20.0  # messages are still cached: the next owner must not start before they have drained


class Rebalance:
    """One consumer's share of its topics, kept equal to what the strategy says.  RocketMQ: `RebalancePushImpl`.

    What was dropped is persisted and forgotten; what is new starts at the stored offset (spec client-behaviour 5).
    """

    def __init__(self, consumer: "PushConsumer") -> None:
        self._consumer = consumer
        self._news = AssignmentNews(consumer)

    def claimed(self) -> list[MessageQueue]:
        """What the last rounds gave this member, whether or not it could take it."""
        return self._news.claimed()

    @property
    def rounds(self) -> dict[str, Round]:
        """What it holds for true, by topic."""
        return self._news.rounds

    async def run(self, trigger: str) -> None:
        """One round over all subscribed topics; a failed topic stays as it is."""
        for topic in list(self._consumer.subscriptions):
            try:
                await self._topic(topic, trigger)
            except ClientError as why:
                log.info("topic %s of %s not divided: %s", topic, self._consumer.group, why)
                self._news.missed(topic, trigger, str(why))
            if not self._consumer.may_rebalance:
                return
        await self._drop_unsubscribed()

    async def _topic(self, topic: str, trigger: str) -> None:
        division = await divide(self._consumer, topic)
        if division is None:
            self._news.missed(topic, trigger)
        else:
            self._news.found(topic, division, trigger)
            await self._apply(topic, division, trigger)

    async def _apply(self, topic: str, division: Division, trigger: str) -> None:
        """Release first, then take; pulling starts at once, and a change is told to the brokers."""
        dropped = await self._release_others(topic, set(division.mine))
        added = [mq for mq in division.mine if mq not in self._consumer.process_queues and await self._take(mq)]
        changed = bool(dropped or added)
        self._news.tell(topic, division, trigger, added=added, dropped=dropped)
        for mq in added:
            self._consumer.pulls.start(self._consumer.process_queues[mq])
        if changed:
            await self._consumer.assignment_changed(topic)

    async def _release_others(self, topic: str, mine: set[MessageQueue]) -> list[MessageQueue]:
        consumer = self._consumer
        now_ms = consumer.clock.now_ms()
        released: list[MessageQueue] = []
        for mq, pq in sorted(consumer.process_queues.items(), key=lambda item: item[0]):
            if mq.topic != topic:
                continue
            if mq not in mine:
                reason = "rebalance"
            elif now_ms - pq.last_pull_ms > consumer.instance.config.pull_max_idle_ms:
                reason = "idle"
            else:
                continue
            pq.dropped = True
            if await self.release(mq, pq) and consumer.process_queues.get(mq) is pq:
                self.remove(mq, pq, reason)
                released.append(mq)
        return released

    async def release(self, mq: MessageQueue, pq: ProcessQueue) -> bool:
        """Commit and forget the queue's offset; in order, give its lock back.

        False: a listener still works on it; try again in the next round.
        """
        consumer = self._consumer
        try:
            await consumer.offset_store.persist(mq, by="release")
        except SandboxError as why:
            log.info("offset of %s not committed on release: %s", mq.key, why)
        pq.released_offset = consumer.offset_store.read_memory(mq)
        consumer.offset_store.remove_offset(mq)
        if not consumer.config.orderly or consumer.config.model is not MessageModel.CLUSTERING:
            return True
        if not await pq.quiet(consumer.clock, WAIT_FOR_LISTENER_S):
            pq.unlock_tries += 1
            return False
        if pq.cached:
            consumer.instance.tasks.spawn(self._unlock_later(mq), f"unlock {mq.key}")
        else:
            await consumer.locks.unlock(mq)
        return True

    def remove(self, mq: MessageQueue, pq: ProcessQueue, reason: str) -> None:
        """Out of the table; what it held is another owner's now."""
        consumer = self._consumer
        consumer.process_queues.pop(mq, None)
        consumer.journal.write(QueueDropped(
            group=consumer.group, client_id=consumer.client_id, topic=mq.topic, broker=mq.broker,
            queue_id=mq.queue_id, reason=reason, offset=pq.released_offset, unfinished=pq.unfinished_runs(),
        ))  # fmt: skip

    async def _unlock_later(self, mq: MessageQueue) -> None:
        await self._consumer.clock.sleep(UNLOCK_LATER_S)
        await self._consumer.locks.unlock(mq)

    async def _take(self, mq: MessageQueue) -> bool:
        """Lock (in order), find the start, add to the table.  False: not this round."""
        consumer = self._consumer
        if consumer.config.orderly and not await consumer.locks.lock(mq):
            return False
        consumer.offset_store.remove_offset(mq)
        pq = ProcessQueue(mq, now_ms=consumer.clock.now_ms())
        pq.locked = consumer.config.orderly
        start = await compute_pull_from_where(
            mq, consumer.offset_store, consumer.instance, where=consumer.config.from_where,
            timestamp_ms=consumer.timestamp_ms,
        )  # fmt: skip
        if start.offset is None or not consumer.may_rebalance:
            return False
        pq.next_offset = start.offset
        consumer.offset_store.note_safe(mq, start.offset)
        pq.last_pull_ms = consumer.clock.now_ms()
        consumer.process_queues[mq] = pq
        consumer.journal.write(QueueTaken(
            group=consumer.group, client_id=consumer.client_id, topic=mq.topic, broker=mq.broker,
            queue_id=mq.queue_id, start_offset=start.offset, trace=start.trace,
            from_where=consumer.config.from_where.value,
        ))  # fmt: skip
        return True

    async def _drop_unsubscribed(self) -> None:
        """Queues of topics nobody wants any more go without a commit and without an unlock, as in RocketMQ."""
        consumer = self._consumer
        for mq, pq in sorted(consumer.process_queues.items(), key=lambda item: item[0]):
            if mq.topic not in consumer.subscriptions:
                pq.dropped = True
                self.remove(mq, pq, "unsubscribed")
