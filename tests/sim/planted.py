"""Bugs put into the engine on purpose, to see that the simulation finds them.

Each is a context manager: inside it the engine of this process has the bug.  docs/simulation.md names them.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from unittest import mock

from sandbox.broker.processors.send_back import SendBackProcessor
from sandbox.broker.rebalance_lock import LockEntry, RebalanceLockManager
from sandbox.client.consume_orderly import ConsumeMessageOrderlyService
from sandbox.client.process_queue import ProcessQueue
from sandbox.client.push_consumer import PushConsumer
from sandbox.client.queue_locks import QueueLocks
from sandbox.client.reset import LET_DRAIN_S
from sandbox.message.message import Message
from sandbox.message.queue import MessageQueue
from sandbox.remoting.channel import Channel
from sandbox.remoting.command import RemotingCommand
from sandbox.store.flush import FlushService
from sandbox.store.ha_service import HAService
from sandbox.store.results import PutMessageStatus

Planted = Callable[[], AbstractContextManager[object]]


@contextmanager
def largest_offset_committed() -> Iterator[None]:
    """Commit the last finished offset, regardless of unfinished ones before it."""
    remove = ProcessQueue.remove

    def hasty(self: ProcessQueue, messages: list[Message]) -> int:
        offset = remove(self, messages)
        return offset if offset < 0 else max([offset, *(message.queue_offset + 1 for message in messages)])  # type: ignore[operator]

    with mock.patch.object(ProcessQueue, "remove", hasty):
        yield


@contextmanager
def lock_trusted_for_ever() -> Iterator[None]:
    """A member does not look how old its lock is: after a silence it works on, beside the next owner."""

    def trusts(self: QueueLocks, pq: ProcessQueue) -> bool:
        return pq.locked

    with mock.patch.object(QueueLocks, "trusts", trusts):
        yield


@contextmanager
def lock_given_to_anyone() -> Iterator[None]:
    """The broker does not look whether a lock has expired: any client that asks gets it."""

    def try_lock(
        self: RebalanceLockManager,
        locks: dict[MessageQueue, LockEntry],
        group: str,
        client_id: str,
        mq: MessageQueue,
        now_ms: int,
    ) -> bool:
        locks.pop(mq, None)
        return honest(self, locks, group, client_id, mq, now_ms)

    honest = RebalanceLockManager._try_lock
    with mock.patch.object(RebalanceLockManager, "_try_lock", try_lock):
        yield


@contextmanager
def failure_passed_over() -> Iterator[None]:
    """Skip a failed message of an orderly queue instead of a retry."""

    async def must_suspend(self: ConsumeMessageOrderlyService, messages: list[Message]) -> bool:
        return False

    with mock.patch.object(ConsumeMessageOrderlyService, "_must_suspend", must_suspend):
        yield


@contextmanager
def answered_before_the_flush() -> Iterator[None]:
    """Return SEND_OK with SYNC_FLUSH before the flush, which follows later."""

    def when_flushed(self: FlushService, physical_end: int, done: Callable[[bool], None]) -> None:
        done(True)

    with mock.patch.object(FlushService, "when_flushed", when_flushed), mock.patch.object(FlushService, "wrote", _late):
        yield


def _late(self: FlushService) -> None:
    if self._running and self._log_timer is None:
        self._log_timer = self._clock.call_later(0.5, self._log_tick)


@contextmanager
def slave_not_awaited() -> Iterator[None]:
    """A SYNC_MASTER says SEND_OK and does not wait for its slave."""

    def when_replicated(self: HAService, physical_end: int, done: Callable[[PutMessageStatus], None]) -> None:
        done(PutMessageStatus.PUT_OK)

    with mock.patch.object(HAService, "when_replicated", when_replicated):
        yield


@contextmanager
def queues_left_long() -> Iterator[None]:
    """Recovery cuts the log, and leaves the queues pointing beyond its end."""
    with mock.patch("sandbox.store.recovery.truncate_queue"):
        yield


@contextmanager
def clumsy_handler() -> Iterator[None]:
    """A handler of the broker meets what its writer did not think of."""

    def send_back(self: SendBackProcessor, c: RemotingCommand, channel: Channel) -> None:
        raise ZeroDivisionError("how many tries are left")

    with mock.patch.object(SendBackProcessor, "send_back", send_back):
        yield


@contextmanager
def reset_overwritten() -> Iterator[None]:
    """A reset neither stops the member nor drops its queues first: what finishes late commits over the new offset."""

    async def reset_offsets(consumer: PushConsumer, topic: str, offsets: dict[MessageQueue, int]) -> None:
        for mq in sorted(consumer.process_queues):
            if mq.topic == topic and mq in offsets:
                consumer.offset_store.update_offset(mq, offsets[mq], increase_only=False)
                await consumer.offset_store.persist(mq, by="release")
        await consumer.clock.sleep(LET_DRAIN_S)

    with mock.patch.object(PushConsumer, "reset_offsets", reset_offsets):
        yield
