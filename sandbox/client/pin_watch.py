"""Watch for a message that keeps its queue's committed offset from advancing."""

from sandbox.client.process_queue import ProcessQueue
from sandbox.journal.events import MessagePinned
from sandbox.journal.journal import Journal
from sandbox.kernel.clock import Clock, TimerHandle
from sandbox.message.queue import MessageQueue

PINNED_AFTER_MS = 15_000
LOOK_EVERY_S = 1.0


class PinWatch:
    """Check once a second, while a listener works, for messages that hold the committed offset.

    It writes `MessagePinned` once per message: if the oldest unfinished one was begun more than 15 s ago.
    """

    def __init__(self, group: str, queues: dict[MessageQueue, ProcessQueue], clock: Clock, journal: Journal) -> None:
        self._group = group
        self._queues = queues
        self._clock = clock
        self._journal = journal
        self._timer: TimerHandle | None = None

    def begin(self) -> None:
        """Start the timer, because a listener starts to work on messages."""
        if self._timer is None:
            self._timer = self._clock.call_later(LOOK_EVERY_S, self._look)

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self) -> None:
        self._timer = None
        now_ms = self._clock.now_ms()
        at_work = False
        for mq, pq in sorted(self._queues.items(), key=lambda item: item[0]):
            oldest = pq.oldest()
            if oldest is None:
                continue
            at_work = True
            offset, key, since_ms = oldest
            if now_ms - since_ms > PINNED_AFTER_MS and pq.pinned_offset != offset:
                pq.pinned_offset = offset
                self._journal.write(
                    MessagePinned(
                        group=self._group,
                        topic=mq.topic,
                        broker=mq.broker,
                        queue_id=mq.queue_id,
                        offset=offset,
                        key=key,
                        age_ms=now_ms - since_ms,
                    )
                )
        if at_work:
            self.begin()
