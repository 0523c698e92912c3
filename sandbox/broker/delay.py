"""Delayed messages and their delivery."""

import logging
from collections.abc import Callable
from math import ceil
from typing import Any

from sandbox.broker.config import BrokerConfig
from sandbox.broker.stats import BrokerStats
from sandbox.broker.stored_text import host_of
from sandbox.journal.events import DelayedMessageDue
from sandbox.journal.journal import Journal
from sandbox.kernel.clock import Clock, TimerHandle
from sandbox.message import properties as names
from sandbox.message.message import InboundMessage, StoredMessage
from sandbox.message.topic_names import HALF_TOPIC, SCHEDULE_TOPIC
from sandbox.store.message_store import MessageStore
from sandbox.store.results import PutMessageStatus

log = logging.getLogger(__name__)

FIRST_LOOK_S = 1.0
LOOK_EVERY_S = 0.1
AFTER_FAILURE_S = 10.0
DELIVERED_PER_TURN = 512


def postpone(properties: dict[str, str], topic: str, queue_id: int, level: int, max_level: int) -> int:
    """Store the real topic and queue in `properties`; return the delay level, at most `max_level`."""
    level = min(level, max_level)
    properties[names.DELAY] = str(level)
    properties[names.REAL_TOPIC] = topic
    properties[names.REAL_QID] = str(queue_id)
    return level


def delay_level(properties: dict[str, str]) -> int:
    """Return the delay level that a message requests, 0 for none."""
    text = properties.get(names.DELAY, "")
    return int(text) if text.isdecimal() else 0


class ScheduleMessageService:
    """Delivery of delayed messages, from one queue per delay level.

    Entries of these queues contain the delivery time instead of a tags code.  RocketMQ checks every 100 ms if a
    message is due.  Here timers fire at the same instants, but only if one is due.  Within a level, delivery times
    rise with offsets, so the first entry gives the next instant.  RocketMQ: `ScheduleMessageService`,
    `delayOffset.json` (spec broker-behaviour 2.1).
    """

    def __init__(
        self,
        config: BrokerConfig,
        store: MessageStore,
        clock: Clock,
        journal: Journal,
        stats: BrokerStats,
        end_turn: Callable[[], None],
    ) -> None:
        self._broker = config.name
        self._store = store
        self._clock = clock
        self._journal = journal
        self._stats = stats
        self._end_turn = end_turn
        self._delays_ms = store.config.delay_levels_ms
        self._timers: dict[int, TimerHandle] = {}
        self._first_look_s = 0.0
        self._running = False
        self.table: dict[int, int] = {}  # level to the next offset of its queue
        self.changed = False

    @property
    def max_level(self) -> int:
        return len(self._delays_ms)

    def start(self) -> None:
        """Correct the offsets to the queues' ranges, and set each level's first check to one second later."""
        self._running = True
        self._first_look_s = self._clock.monotonic() + FIRST_LOOK_S
        for level in range(1, self.max_level + 1):
            low = self._store.min_offset(SCHEDULE_TOPIC, level - 1)
            high = self._store.max_offset(SCHEDULE_TOPIC, level - 1)
            if level in self.table or low:
                self.table[level] = min(max(self.table.get(level, 0), low), high)
            if self.table.get(level, 0) < high:
                self._look_in(level, FIRST_LOOK_S)

    def stop(self) -> None:
        self._running = False
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()

    def notify_message_arriving(self, queue_id: int, due_ms: int) -> None:
        """Set the level's timer for a new delayed message; `due_ms` is the delivery time in its queue entry."""
        level = queue_id + 1
        if self._running and level not in self._timers:
            self._look_at(level, due_ms)

    def look_again(self) -> None:
        """Check all levels now, because the wall clock was set and messages may be due."""
        for level, timer in sorted(self._timers.items()):
            timer.cancel()
            del self._timers[level]
            self._look_in(level, 0.0)

    def to_json(self) -> dict[str, Any]:
        return {"offsetTable": {str(level): offset for level, offset in sorted(self.table.items())}}

    def load(self, content: Any) -> None:
        """Load the content of `delayOffset.json`.  Raises the errors that `JsonFile.load` expects."""
        self.table = {int(level): int(offset) for level, offset in content.get("offsetTable", {}).items()}

    def _look_at(self, level: int, due_ms: int) -> None:
        """Set the level's next check to the first of the 100 ms instants at or after `due_ms`."""
        now_s = self._clock.monotonic()
        wait_s = max(0.0, (due_ms - self._clock.now_ms()) / 1000)
        steps = ceil((now_s + wait_s - self._first_look_s) / LOOK_EVERY_S - 1e-6)
        self._look_in(level, self._first_look_s + max(0, steps) * LOOK_EVERY_S - now_s)

    def _look_in(self, level: int, wait_s: float) -> None:
        def look() -> None:
            del self._timers[level]
            try:
                self._look(level)
            except Exception:  # as RocketMQ: one invalid record does not stop the level for ever
                log.exception("delivering delay level %d", level)
                self._look_in(level, AFTER_FAILURE_S)

        self._timers[level] = self._clock.call_later(max(0.0, wait_s), look)

    def _look(self, level: int) -> None:
        """Deliver the level's due messages, then set the timer for the next one."""
        delay_ms = self._delays_ms[level - 1]
        for _ in range(DELIVERED_PER_TURN):
            offset = self.table.get(level, 0)
            unit = self._store.unit(SCHEDULE_TOPIC, level - 1, offset)
            if unit is None:
                break
            now_ms = self._clock.now_ms()
            due_ms = unit.tags_code if unit.tags_code <= now_ms + delay_ms else now_ms
            if due_ms > now_ms:
                self._look_at(level, due_ms)
                break
            if not self._deliver(level, offset, unit.physical_offset):
                self._look_in(level, LOOK_EVERY_S)
                break
            self.table[level] = offset + 1
            self.changed = True
        else:
            self._look_in(level, 0.0)
        self._end_turn()

    def _deliver(self, level: int, offset: int, physical_offset: int) -> bool:
        """Store a due message in its real topic; return False if the store refuses and a retry may succeed.

        A record that is deleted or has no destination counts as delivered.
        """
        stored = self._store.read_message(physical_offset)
        message = restored(stored) if stored is not None else None
        if message is None or message.topic == HALF_TOPIC:
            log.warning("discarding delayed message at %d of level %d", offset, level)
            return True
        result = self._store.put_quietly(message)
        status = result.status
        if status in (PutMessageStatus.MESSAGE_ILLEGAL, PutMessageStatus.PROPERTIES_SIZE_EXCEEDED):
            log.warning("discarding delayed message at %d of level %d: %s", offset, level, status)
            return True  # later attempts would fail too, and block the level for ever
        if status is not PutMessageStatus.PUT_OK:
            return False
        self._stats.delivered(level, message.topic, result.store_bytes)
        if self._journal.tracing:
            self._journal.write(
                DelayedMessageDue(
                    delay_level=level,
                    delay_offset=offset,
                    topic=message.topic,
                    broker=self._broker,
                    queue_id=message.queue_id,
                )
            )
        return True


def restored(stored: StoredMessage) -> InboundMessage | None:
    """Return the original message of a delayed record, or None if it has no real topic and queue.

    Its properties still contain DELAY and REAL_*, which have no effect any more.
    """
    topic, queue = stored.properties.get(names.REAL_TOPIC), stored.properties.get(names.REAL_QID)
    if not topic or queue is None:
        return None
    return InboundMessage(
        topic,
        int(queue),
        stored.body,
        names.encode(stored.properties).encode(),
        0,
        stored.sys_flag,
        stored.flag,
        stored.born_ms,
        host_of(stored.born_host),
        stored.reconsume_times,
        stored.prepared_offset,
        wait_store_ok=False,
    )
