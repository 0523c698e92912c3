"""Notices a message that holds its queue's offset."""

from typing import TYPE_CHECKING

from sandbox.journal.events import MessagePinned
from sandbox.kernel.clock import TimerHandle

if TYPE_CHECKING:
    from sandbox.client.push_consumer import PushConsumer

PINNED_AFTER_MS = 15_000
LOOK_EVERY_S = 1.0


class PinWatch:
    """Looks once a second while somebody works; an idle consumer has no such timer.

    `MessagePinned` is written once per message: when the oldest unfinished one was begun more than 15 s ago.
    """

    def __init__(self, consumer: "PushConsumer") -> None:
        self._consumer = consumer
        self._timer: TimerHandle | None = None

    def begin(self) -> None:
        """Somebody starts to work on something."""
        if self._timer is None:
            self._timer = self._consumer.clock.call_later(LOOK_EVERY_S, self._look)

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self) -> None:
        self._timer = None
        consumer = self._consumer
        now_ms = consumer.clock.now_ms()
        at_work = False
        for mq, pq in sorted(consumer.process_queues.items(), key=lambda item: item[0]):
            oldest = pq.oldest()
            if oldest is None:
                continue
            at_work = True
            offset, key, since_ms = oldest
            if now_ms - since_ms > PINNED_AFTER_MS and pq.pinned_offset != offset:
                pq.pinned_offset = offset
                consumer.journal.write(MessagePinned(
                    group=consumer.group, topic=mq.topic, broker=mq.broker, queue_id=mq.queue_id, offset=offset,
                    key=key, age_ms=now_ms - since_ms,
                ))  # fmt: skip
        if at_work:
            self.begin()
