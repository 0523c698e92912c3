"""The throughput of a store: totals of all records, and rates by topic."""

from sandbox.kernel.clock import Clock
from sandbox.store.totals import Mornings, Rate, Total, Turn

MINUTE_S = 60
PUT_TIMES = (
    "<=0ms",
    "0~10ms",
    "10~50ms",
    "50~100ms",
    "100~200ms",
    "200~500ms",
    "500ms~1s",
    "1~2s",
    "2~3s",
    "3~4s",
    "4~5s",
    "5~10s",
    "10s~",
)


class StoreStats:
    """Counters of stored records: each counts when it is dispatched, from any source; on a slave, when copied.

    RocketMQ: `StoreStatsService`.

    A delayed message counts for SCHEDULE_TOPIC_XXXX, and when it is delivered again for its own topic.
    """

    def __init__(self, clock: Clock, utc_offset_minutes: int) -> None:
        self._clock = clock
        self._turn = Turn()
        self.note = self._turn.note  # messages of this turn as they are dispatched; `settle` counts them
        self.calls = 0  # puts of this process; a batch is one
        self._rates: dict[str, Rate] = {}
        self.boot_ms = clock.now_ms()
        self._boot_s = boot_s = clock.monotonic()
        self.puts = Total(boot_s)
        self.mornings = Mornings(clock, utc_offset_minutes)
        self.bytes = 0
        self._minute_end_s = boot_s + MINUTE_S
        self._settled_calls = self._calls_before = 0  # of this process, and before this minute
        self._in_last_minute: int | None = None

    def settle(self) -> None:
        """Add the messages of the turn to the totals and rates."""
        if not self._turn:
            return
        at_s, total = self.now_s(), 0
        for topic, (count, size, _) in self._turn.items():
            rate = self._rates.get(topic)
            if rate is None:
                rate = self._rates[topic] = Rate(self._boot_s)
            rate.add(int(at_s), count, size)
            total += count
            self.bytes += size
        self.puts.add(at_s, total)
        self._settled_calls = self.calls
        self._turn.clear()

    def now_s(self) -> float:
        """Return the clock's seconds; the first call after the end of a minute or a day closes its counters."""
        at_s = self._clock.monotonic()
        self.mornings.catch_up(at_s, self.puts.value)
        if at_s >= self._minute_end_s:
            minutes = int((at_s - self._minute_end_s) // MINUTE_S) + 1
            self._in_last_minute = self._settled_calls - self._calls_before if minutes == 1 else 0
            self._calls_before = self._settled_calls
            self._minute_end_s += minutes * MINUTE_S
        return at_s

    def put_per_s(self, topic: str) -> float | None:
        """Return the messages stored per second under a topic.  None: this process has just begun."""
        return (self._rates.get(topic) or Rate(self._boot_s)).per_s(int(self._clock.monotonic()))

    def put_times(self) -> str:
        """Return the durations of puts in the last whole minute as text; `null` before the first minute.

        No put takes any time here, so all counts are in the first class.
        """
        self.now_s()
        if self._in_last_minute is None:
            return "null"
        counts = [self._in_last_minute, *[0] * (len(PUT_TIMES) - 1)]
        return "".join(f"[{name}]:{count} " for name, count in zip(PUT_TIMES, counts, strict=True))

    def forget_topic(self, topic: str) -> None:
        self._rates.pop(topic, None)
