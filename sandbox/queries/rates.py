"""Rates of rising offsets, from successive polls: queue ends, and committed offsets of groups."""

from collections import deque
from typing import Generic, TypeVar

from sandbox.kernel.clock import Clock

WINDOW_S = 30.0
LEAST_S = 1.0
SAMPLES = 12

K = TypeVar("K")


class Rates(Generic[K]):
    """The rates of all polled offsets.  A rate is None (unknown, not 0) until its offset was polled twice."""

    def __init__(self, clock: Clock, most: int, *, window_s: float = WINDOW_S, least_s: float = LEAST_S) -> None:
        self._clock = clock
        self._most = most
        self._window_s = window_s
        self._least_s = least_s
        self._seen: dict[K, deque[tuple[float, int]]] = {}

    def note(self, key: K, offset: int) -> None:
        now_s = self._clock.monotonic()
        samples = self._seen.get(key)
        if samples is None:
            if len(self._seen) >= self._most:
                return
            samples = self._seen[key] = deque(maxlen=SAMPLES)
        if samples and offset < samples[-1][1]:
            samples.clear()  # another log under the same name, or offsets were reset
        if not samples or now_s - samples[-1][0] >= self._least_s:
            samples.append((now_s, offset))
        while len(samples) > 2 and now_s - samples[0][0] > self._window_s:
            samples.popleft()

    def per_s(self, key: K) -> float | None:
        samples = self._seen.get(key)
        if samples is None or len(samples) < 2:
            return None
        (first_s, first), (last_s, last) = samples[0], samples[-1]
        return round((last - first) / (last_s - first_s), 1)


COMMITS_WINDOW_S = 60.0  # brokers count delivered messages by the minute, too
COMMITS_LEAST_S = 5.0  # clients commit every 5 s

Committed = tuple[str, str, str, int]  # group, topic, broker, queue


class CommitRates(Rates[Committed]):
    """The commit rates of groups.  Offsets that a person moved count as consumed."""

    def __init__(self, clock: Clock, most: int) -> None:
        super().__init__(clock, most, window_s=COMMITS_WINDOW_S, least_s=COMMITS_LEAST_S)
