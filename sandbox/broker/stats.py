"""How much goes through a broker: totals, and rates over the last ten seconds."""

from typing import NamedTuple

from sandbox.broker import stats_items as items
from sandbox.broker.stats_totals import DAY_S, Mornings, Total
from sandbox.kernel.clock import Clock

WINDOW_S = 10


class Rate:
    """Counts per second for the last ten whole seconds and the one that runs."""

    __slots__ = ("_bytes", "_counts", "_second", "bytes", "count")

    def __init__(self) -> None:
        self._counts = [0] * (WINDOW_S + 1)
        self._bytes = [0] * (WINDOW_S + 1)
        self._second = 0
        self.count = 0
        self.bytes = 0

    def add(self, now_s: int, count: int, size: int) -> None:
        if now_s != self._second:
            self._turn(now_s)
        slot = now_s % (WINDOW_S + 1)
        self._counts[slot] += count
        self._bytes[slot] += size
        self.count += count
        self.bytes += size

    def per_s(self, now_s: int) -> float:
        """Mean of the last ten whole seconds; the running one is left out, so the figure does not flicker."""
        if now_s != self._second:
            self._turn(now_s)
        return (sum(self._counts) - self._counts[now_s % (WINDOW_S + 1)]) / WINDOW_S

    def _turn(self, now_s: int) -> None:
        for second in range(max(self._second + 1, now_s - WINDOW_S), now_s + 1):
            slot = second % (WINDOW_S + 1)
            self._counts[slot] = self._bytes[slot] = 0
        self._second = now_s


class _Flow(NamedTuple):
    """What goes through one topic, or to one group from it."""

    rate: Rate
    nums: items.StatsItem
    sizes: items.StatsItem


class BrokerStats:
    """Put per topic, get per group and topic: rates for boards, and `items` as administrators ask for them.

    RocketMQ: `BrokerStatsManager`.  `cluster` is the key of the counters of the whole broker.
    """

    def __init__(self, clock: Clock, cluster: str, utc_offset_minutes: int = 0) -> None:
        self._clock = clock
        self.items = items.StatsTable(clock)
        self._turn: dict[str, list[int]] = {}  # topic: messages, bytes, requests
        self._put: dict[str, _Flow] = {}
        self._get: dict[tuple[str, str], _Flow] = {}
        self._all_put = Rate()
        self._all_get = Rate()
        self._cluster_put = self.items.item(items.BROKER_PUT_NUMS, cluster)
        self._cluster_get = self.items.item(items.BROKER_GET_NUMS, cluster)
        boot_s = clock.monotonic()
        self.messages_put, self.messages_got = Total(boot_s), Total(boot_s)
        self.pulls_found, self.pulls_missed = Total(boot_s), Total(boot_s)
        self.mornings_put, self.mornings_got = Mornings(), Mornings()
        self.bytes_put = 0
        self.puts_failed = 0
        self.boot_ms = clock.now_ms()
        local_s = self.boot_ms / 1000 + utc_offset_minutes * 60
        self._midnight_s = boot_s + DAY_S - local_s % DAY_S

    def put(self, topic: str, count: int, size: int) -> None:
        """Note messages of this turn; `settle` counts them, so that a turn asks the time once."""
        noted = self._turn.get(topic)
        if noted is None:
            self._turn[topic] = [count, size, 1]
        else:
            noted[0] += count
            noted[1] += size
            noted[2] += 1

    def settle(self) -> None:
        """The turn is over."""
        if not self._turn:
            return
        at_s = self.now_s()
        now_s, total = int(at_s), 0
        for topic, (count, size, requests) in self._turn.items():
            flow = self._put.get(topic)
            if flow is None:
                flow = self._put[topic] = _Flow(Rate(), self.items.item(items.TOPIC_PUT_NUMS, topic),
                                                self.items.item(items.TOPIC_PUT_SIZE, topic))
            flow.rate.add(now_s, count, size)
            flow.nums.add(at_s, count, requests)
            flow.sizes.add(at_s, size, requests)
            self._all_put.add(now_s, count, size)
            total += count
            self.bytes_put += size
        self.messages_put.add(at_s, total)
        self._cluster_put.add(at_s, total, 0)
        self._turn.clear()

    def get(self, group: str, topic: str, count: int, size: int) -> None:
        at_s = self.now_s()
        now_s = int(at_s)
        flow = self._get.get((group, topic))
        if flow is None:
            key = items.stats_key(topic, group)
            flow = _Flow(Rate(), self.items.item(items.GROUP_GET_NUMS, key), self.items.item(items.GROUP_GET_SIZE, key))
            if len(self._get) < items.MAX_ITEMS:
                self._get[group, topic] = flow
        flow.rate.add(now_s, count, size)
        flow.nums.add(at_s, count, 1)
        flow.sizes.add(at_s, size, 1)
        self._all_get.add(now_s, count, size)
        self._cluster_get.add(at_s, count, 0)
        self.messages_got.add(at_s, count)
        self.pulls_found.add(at_s, 1)

    def missed(self) -> None:
        """A pull found nothing."""
        self.pulls_missed.add(self.now_s(), 1)

    def now_s(self) -> float:
        """The clock's seconds; what midnight settles is settled when somebody counts or looks for the first time."""
        at_s = self._clock.monotonic()
        while at_s >= self._midnight_s:
            self.mornings_put.midnight(self.messages_put.value)
            self.mornings_got.midnight(self.messages_got.value)
            self._midnight_s += DAY_S
        return at_s

    def sent_back(self, group: str, topic: str) -> None:
        """A consumer gave one message back."""
        self.items.item(items.SNDBCK_PUT_NUMS, items.stats_key(topic, group)).add(self._clock.monotonic(), 1, 1)

    def put_per_s(self, topic: str | None = None) -> float:
        """Messages stored per second in a topic, or in all."""
        now_s = int(self._clock.monotonic())
        if topic is None:
            return self._all_put.per_s(now_s)
        flow = self._put.get(topic)
        return flow.rate.per_s(now_s) if flow else 0.0

    def get_per_s(self, group: str | None = None, topic: str | None = None) -> float:
        """Messages delivered per second to a group (of one topic), or to all."""
        now_s = int(self._clock.monotonic())
        if group is None:
            return self._all_get.per_s(now_s)
        return sum(self._get[key].rate.per_s(now_s) for key in sorted(self._get)
                   if key[0] == group and topic in (None, key[1]))

    @property
    def put_total(self) -> int:
        return self.messages_put.value

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
