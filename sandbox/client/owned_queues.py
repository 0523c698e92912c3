"""Queues that a push consumer owns, and how it acquires and releases them."""

import logging

from sandbox.client.config import MessageModel, PushConsumerConfig
from sandbox.client.instance import ClientInstance
from sandbox.client.lifecycle import LifeCycle
from sandbox.client.offset_store import WatchedOffsetStore
from sandbox.client.process_queue import ProcessQueue
from sandbox.client.queue_locks import QueueLocks
from sandbox.client.start_offset import StartOffset, compute_pull_from_where
from sandbox.journal.events import QueueDropped, QueueTaken
from sandbox.kernel.errors import SandboxError
from sandbox.message.queue import MessageQueue

log = logging.getLogger(__name__)

WAIT_FOR_LISTENER_S = 1.0  # how long a release waits for a running listener in order
UNLOCK_LATER_S = 20.0  # messages are still cached: the next owner must not start before they have drained


class OwnedQueues:
    """Queues of a push consumer with their process queues.  RocketMQ: `processQueueTable` of `RebalancePushImpl`.

    `table` maps each queue to its process queue; other parts of the consumer read it.
    """

    def __init__(
        self,
        config: PushConsumerConfig,
        instance: ClientInstance,
        life: LifeCycle,
        table: dict[MessageQueue, ProcessQueue],
        offset_store: WatchedOffsetStore,
        locks: QueueLocks,
        *,
        timestamp_ms: int,
    ) -> None:
        self.table = table
        self.offset_store = offset_store
        self.locks = locks
        self._config = config
        self._instance = instance
        self._life = life
        self._timestamp_ms = timestamp_ms

    def items(self) -> list[tuple[MessageQueue, ProcessQueue]]:
        """Return a sorted copy of the table, safe against changes during iteration."""
        return sorted(self.table.items(), key=lambda item: item[0])

    async def start_offset(self, mq: MessageQueue) -> StartOffset:
        """Return the offset from which the group starts in the queue (spec client-behaviour 4)."""
        return await compute_pull_from_where(
            mq, self.offset_store, self._instance, where=self._config.from_where, timestamp_ms=self._timestamp_ms
        )

    async def take(self, mq: MessageQueue) -> bool:
        """Acquire a queue: lock it (orderly only), find the start offset, add it to the table.

        Return False if this rebalance cannot acquire the queue.
        """
        config, clock = self._config, self._instance.clock
        if config.orderly and not await self.locks.lock(mq):
            return False
        self.offset_store.remove_offset(mq)
        pq = ProcessQueue(mq, now_ms=clock.now_ms())
        pq.locked = config.orderly
        start = await self.start_offset(mq)
        if start.offset is None or not self._life.is_active:
            return False
        pq.next_offset = start.offset
        self.offset_store.note_safe(mq, start.offset)
        pq.last_pull_ms = clock.now_ms()
        self.table[mq] = pq
        self._instance.journal.write(
            QueueTaken(
                group=config.group,
                client_id=self._instance.client_id,
                topic=mq.topic,
                broker=mq.broker,
                queue_id=mq.queue_id,
                start_offset=start.offset,
                trace=start.trace,
                from_where=config.from_where.value,
            )
        )
        return True

    async def release(self, mq: MessageQueue, pq: ProcessQueue) -> bool:
        """Commit the queue's offset and remove it from memory; an orderly consumer also unlocks the queue.

        Return False if a listener still works on the queue; the next rebalance tries again.
        """
        try:
            await self.offset_store.persist(mq, by="release")
        except SandboxError as error:
            log.info("offset of %s not committed on release: %s", mq.key, error)
        pq.released_offset = self.offset_store.read_memory(mq)
        self.offset_store.remove_offset(mq)
        if not self._config.orderly or self._config.model is not MessageModel.CLUSTERING:
            return True
        if not await pq.quiet(self._instance.clock, WAIT_FOR_LISTENER_S):
            pq.unlock_tries += 1
            return False
        if pq.cached:
            self._instance.tasks.spawn(self._unlock_later(mq), f"unlock {mq.key}")
        else:
            await self.locks.unlock(mq)
        return True

    def remove(self, mq: MessageQueue, pq: ProcessQueue, reason: str) -> None:
        """Remove a queue from the table, because this member no longer owns it.  Write QueueDropped."""
        self.table.pop(mq, None)
        self._instance.journal.write(
            QueueDropped(
                group=self._config.group,
                client_id=self._instance.client_id,
                topic=mq.topic,
                broker=mq.broker,
                queue_id=mq.queue_id,
                reason=reason,
                offset=pq.released_offset,
                unfinished=pq.unfinished_runs(),
            )
        )

    async def _unlock_later(self, mq: MessageQueue) -> None:
        await self._instance.clock.sleep(UNLOCK_LATER_S)
        await self.locks.unlock(mq)
