"""The messages that wait in a broker's delay levels, read once each as they come."""

from collections import deque
from typing import NamedTuple

from sandbox.broker.broker import Broker
from sandbox.message import properties as names
from sandbox.message.message import StoredMessage
from sandbox.message.topic_names import SCHEDULE_TOPIC

MOST_READ = 400  # messages in one look
MOST_KEPT = 5_000  # messages of one broker


class DelayedMessage(NamedTuple):
    """A message in a delay level.  `attempts`: its failed attempts, 0 for one that its producer delayed."""

    topic: str  # the one to which it goes then
    key: str
    attempts: int
    due_ms: int


class DelayedMessages:
    """The waiting messages of one broker process.  `complete`: False while some are not read yet, or are too many."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self.complete = True
        self._levels: dict[int, deque[tuple[int, DelayedMessage | None]]] = {}
        self._read_to: dict[int, int] = {}

    def copy(self) -> "DelayedMessages":
        made = DelayedMessages(self.broker)
        made._levels = {level: waiting.copy() for level, waiting in self._levels.items()}
        made._read_to = dict(self._read_to)
        return made

    def look(self) -> list[DelayedMessage]:
        """Return the waiting messages; read at most `MOST_READ` new ones."""
        left, kept = MOST_READ, sum(map(len, self._levels.values()))
        self.complete = True
        for level in range(1, self.broker.delay.max_level + 1):
            begin = self.broker.delay.table.get(level, 0)
            high = self.broker.store.max_offset(SCHEDULE_TOPIC, level - 1)
            waiting = self._levels.setdefault(level, deque())
            while waiting and waiting[0][0] < begin:
                waiting.popleft()
                kept -= 1
            offset = max(begin, self._read_to.get(level, 0))
            while offset < high and left and kept < MOST_KEPT:
                waiting.append((offset, self._message(level, offset)))
                offset, left, kept = offset + 1, left - 1, kept + 1
            self._read_to[level] = offset
            self.complete = self.complete and offset == high
        return [message for waiting in self._levels.values() for _, message in waiting if message is not None]

    def _message(self, level: int, offset: int) -> DelayedMessage | None:
        unit = self.broker.store.unit(SCHEDULE_TOPIC, level - 1, offset)
        stored = None if unit is None else self.broker.store.read_message(unit.physical_offset)
        if unit is None or stored is None:
            return None
        return DelayedMessage(
            stored.properties.get(names.REAL_TOPIC, ""),
            stored.properties.get(names.KEYS, ""),
            stored.reconsume_times,
            self._due_ms(level, unit.tags_code, stored),
        )

    def _due_ms(self, level: int, tags_code: int, stored: StoredMessage) -> int:
        """Return the delivery time, which a queue entry of a delay level has instead of a tag."""
        return tags_code or stored.store_ms + self.broker.store.config.delay_levels_ms[level - 1]
