"""Throughput counters of a broker by topic and group."""

from typing import NamedTuple

from sandbox.broker import stats_items as items
from sandbox.kernel.clock import Clock
from sandbox.message.topic_names import SCHEDULE_TOPIC
from sandbox.store.totals import Mornings, Rate, Total, Turn, total_per_s

SCHEDULE_GROUP = "SCHEDULE_CONSUMER"  # the group that counters use for the delivery of delayed messages


class _Put(NamedTuple):
    """Counters of messages stored in one topic."""

    nums: items.StatsItem
    sizes: items.StatsItem


class _Flow(NamedTuple):
    """Counters of messages delivered to one group from one topic."""

    rate: Rate
    nums: items.StatsItem
    sizes: items.StatsItem


class BrokerStats:
    """Throughput of a broker: puts per topic, gets per group and topic.

    Snapshots read the rates, administrators read `items`.  RocketMQ: `BrokerStatsManager`.  A put counts for the
    topic of the record.  Of the broker's own puts only deliveries of delayed messages count.  `cluster` is the key
    of the counters of the whole broker.
    """

    def __init__(self, clock: Clock, cluster: str, utc_offset_minutes: int = 0) -> None:
        self._clock = clock
        self.items = items.StatsTable(clock)
        self._turn = Turn()
        self.put = self._turn.note  # messages of this turn; `settle` counts them
        self._put: dict[str, _Put] = {}
        self._get: dict[tuple[str, str], _Flow] = {}
        self._cluster_put = self.items.item(items.BROKER_PUT_NUMS, cluster)
        self._cluster_get = self.items.item(items.BROKER_GET_NUMS, cluster)
        self._boot_s = boot_s = clock.monotonic()
        self.messages_got, self.pulls_found, self.pulls_missed = Total(boot_s), Total(boot_s), Total(boot_s)
        self.mornings_got = Mornings(clock, utc_offset_minutes)
        self.puts_failed = 0

    def settle(self) -> None:
        """Add the messages of this turn to the counters."""
        if not self._turn:
            return
        at_s, total = self.now_s(), 0
        for topic, (count, size, requests) in self._turn.items():
            put = self._put.get(topic)
            if put is None:
                put = self._put[topic] = _Put(
                    self.items.item(items.TOPIC_PUT_NUMS, topic), self.items.item(items.TOPIC_PUT_SIZE, topic)
                )
            put.nums.add(at_s, count, requests)
            put.sizes.add(at_s, size, requests)
            total += count
        self._cluster_put.add(at_s, total, 0)
        self._turn.clear()

    def postponed(self, level: int, size: int) -> None:
        """Count a delayed message that was stored in its level's queue."""
        key = f"{SCHEDULE_TOPIC}@{level - 1}"
        self._add(items.QUEUE_PUT_NUMS, key, 1)
        self._add(items.QUEUE_PUT_SIZE, key, size)

    def delivered(self, level: int, topic: str, size: int) -> None:
        """Count a delayed message that was stored in its own topic."""
        self.put(topic, 1, size)
        group, queue = f"{SCHEDULE_TOPIC}@{SCHEDULE_GROUP}", f"{SCHEDULE_TOPIC}@{level - 1}@{SCHEDULE_GROUP}"
        self._add(items.GROUP_GET_NUMS, group, 1)
        self._add(items.GROUP_GET_SIZE, group, size)
        self._add(items.QUEUE_GET_NUMS, queue, 1)
        self._add(items.QUEUE_GET_SIZE, queue, size)

    def get(self, group: str, topic: str, count: int, size: int) -> None:
        """Count the messages of one read of a queue for a group; a `count` of 0 is a miss."""
        at_s = self.now_s()
        now_s = int(at_s)
        if not count:
            self.pulls_missed.add(at_s, 1)
            return
        flow = self._get.get((group, topic))
        if flow is None:
            key = items.stats_key(topic, group)
            flow = _Flow(
                Rate(self._boot_s),
                self.items.item(items.GROUP_GET_NUMS, key),
                self.items.item(items.GROUP_GET_SIZE, key),
            )
            if len(self._get) < items.MAX_ITEMS:
                self._get[group, topic] = flow
        flow.rate.add(now_s, count, size)
        flow.nums.add(at_s, count, 1)
        flow.sizes.add(at_s, size, 1)
        self._cluster_get.add(at_s, count, 0)
        self.messages_got.add(at_s, count)
        self.pulls_found.add(at_s, 1)

    def now_s(self) -> float:
        """Return the clock's seconds.  The first call after midnight closes the day's counters."""
        at_s = self._clock.monotonic()
        self.mornings_got.catch_up(at_s, self.messages_got.value)
        return at_s

    def sent_back(self, group: str, topic: str, level: int, size: int) -> None:
        """Count one sent-back message; level 0 is the dead-letter queue, which no put counter includes."""
        self._add(items.SNDBCK_PUT_NUMS, items.stats_key(topic, group), 1)
        if level > 0:
            self._add(items.TOPIC_PUT_NUMS, SCHEDULE_TOPIC, 1)
            self._add(items.TOPIC_PUT_SIZE, SCHEDULE_TOPIC, size)
            self.postponed(level, size)

    def _add(self, name: str, key: str, value: int) -> None:
        self.items.item(name, key).add(self._clock.monotonic(), value, 1)

    def get_per_s(self, group: str) -> float | None:
        """Return the messages delivered to a group per second.  None: this process has just begun."""
        now_s = int(self._clock.monotonic())
        rates = [self._get[key].rate for key in sorted(self._get) if key[0] == group] or [Rate(self._boot_s)]
        return total_per_s(rate.per_s(now_s) for rate in rates)

    @property
    def get_total(self) -> int:
        return self.messages_got.value

    def forget_topic(self, topic: str) -> None:
        self.items.forget_topic(topic)
        self._put.pop(topic, None)
        for key in [key for key in self._get if key[1] == topic]:
            del self._get[key]

    def forget_group(self, group: str) -> None:
        self.items.forget_group(group)
        for key in [key for key in self._get if key[0] == group]:
            del self._get[key]
