"""Named counters over a minute, an hour and a day, as in VIEW_BROKER_STATS_DATA (315)."""

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from sandbox.kernel.clock import Clock
from sandbox.remoting.bodies import StatsData, StatsSpan

TOPIC_PUT_NUMS = "TOPIC_PUT_NUMS"
TOPIC_PUT_SIZE = "TOPIC_PUT_SIZE"
GROUP_GET_NUMS = "GROUP_GET_NUMS"
GROUP_GET_SIZE = "GROUP_GET_SIZE"
QUEUE_PUT_NUMS = "QUEUE_PUT_NUMS"
QUEUE_PUT_SIZE = "QUEUE_PUT_SIZE"
QUEUE_GET_NUMS = "QUEUE_GET_NUMS"
QUEUE_GET_SIZE = "QUEUE_GET_SIZE"
SNDBCK_PUT_NUMS = "SNDBCK_PUT_NUMS"
BROKER_PUT_NUMS = "BROKER_PUT_NUMS"
BROKER_GET_NUMS = "BROKER_GET_NUMS"

MAX_ITEMS = 16_384  # names times keys; any client may name any topic and group


class _Sample(NamedTuple):
    at_s: float
    value: int
    times: int


class _Samples:
    """Samples of a counter every `period_s` since the broker's start, at most the last `most`."""

    __slots__ = ("_period_s", "_rows", "next_s")

    def __init__(self, boot_s: float, now_s: float, period_s: int, most: int) -> None:
        self._period_s = period_s
        self._rows: deque[_Sample] = deque(maxlen=most)
        self.next_s = boot_s + ((now_s - boot_s) // period_s + 1) * period_s

    def catch_up(self, now_s: float, value: int, times: int) -> None:
        """Add the samples that became due since the counter last changed, at most as many as are kept."""
        if now_s < self.next_s:
            return
        period_s, most = self._period_s, self._rows.maxlen or 1
        if not self._rows:
            self._rows.append(_Sample(self.next_s - period_s, 0, 0))
        due = int((now_s - self.next_s) // period_s) + 1
        for step in range(max(0, due - most), due):
            self._rows.append(_Sample(self.next_s + step * period_s, value, times))
        self.next_s += due * period_s

    def span(self) -> StatsSpan:
        """Return sum and rates from the oldest kept sample to the newest; empty before the first is due."""
        if not self._rows:
            return StatsSpan()
        first, last = self._rows[0], self._rows[-1]
        total, calls = last.value - first.value, last.times - first.times
        return StatsSpan(total, total / (last.at_s - first.at_s), total / calls if calls > 0 else 0.0)


class StatsItem:
    """Counter with 7 samples 10 s apart, 7 of 10 minutes, 25 of an hour.  RocketMQ: `StatsItem`.

    No timer runs: between two changes a counter is constant, so samples can be added when it is read.
    """

    __slots__ = ("_day", "_due_s", "_hour", "_minute", "times", "value")

    def __init__(self, boot_s: float, now_s: float) -> None:
        self.value = 0
        self.times = 0
        self._due_s = 0.0  # earliest time of the next sample
        self._minute = _Samples(boot_s, now_s, 10, 7)
        self._hour = _Samples(boot_s, now_s, 600, 7)
        self._day = _Samples(boot_s, now_s, 3_600, 25)

    def add(self, now_s: float, value: int, times: int) -> None:
        if now_s >= self._due_s:
            self._catch_up(now_s)
        self.value += value
        self.times += times

    def data(self, now_s: float) -> StatsData:
        self._catch_up(now_s)
        return StatsData(self._minute.span(), self._hour.span(), self._day.span())

    def _catch_up(self, now_s: float) -> None:
        for samples in (self._minute, self._hour, self._day):
            samples.catch_up(now_s, self.value, self.times)
        self._due_s = self._minute.next_s


class StatsTable:
    """Counters by name and key; a key is a topic, `topic@group`, or the cluster.  RocketMQ: `BrokerStatsManager`."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._boot_s = clock.monotonic()
        self._items: dict[tuple[str, str], StatsItem] = {}

    def item(self, name: str, key: str) -> StatsItem:
        """Return a counter, created if missing; a full table returns one that is not kept."""
        item = self._items.get((name, key))
        if item is None:
            item = StatsItem(self._boot_s, self._clock.monotonic())
            if len(self._items) < MAX_ITEMS:
                self._items[name, key] = item
        return item

    def get(self, name: str, key: str) -> StatsData | None:
        """Return the data of a counter; None if nothing was counted under that name and key."""
        item = self._items.get((name, key))
        return item.data(self._clock.monotonic()) if item else None

    def group_tps(self, group: str, topic: str) -> float:
        """Return the messages per second that a group received from a topic in the last minute.

        RocketMQ: `tpsGroupGetNums`.
        """
        data = self.get(GROUP_GET_NUMS, stats_key(topic, group))
        return data.minute.tps if data else 0.0

    def forget_topic(self, topic: str) -> None:
        self._forget(lambda key: key == topic or key.startswith(f"{topic}@"))

    def forget_group(self, group: str) -> None:
        self._forget(lambda key: key.endswith(f"@{group}"))

    def _forget(self, concerns: Callable[[str], bool]) -> None:
        for key in [key for key in self._items if concerns(key[1])]:
            del self._items[key]


def stats_key(topic: str, group: str) -> str:
    return f"{topic}@{group}"
