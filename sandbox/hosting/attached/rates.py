"""How fast queues grow, from their ends as they were seen."""

from collections import deque

from sandbox.kernel.clock import Clock
from sandbox.message.queue import MessageQueue

WINDOW_S = 30.0
LEAST_S = 1.0
SAMPLES = 12


class Rates:
    """Of every queue that is polled.  None until it was seen twice: nobody knows yet, which is not nought."""

    def __init__(self, clock: Clock, most_queues: int) -> None:
        self._clock = clock
        self._most = most_queues
        self._seen: dict[MessageQueue, deque[tuple[float, int]]] = {}

    def note(self, mq: MessageQueue, max_offset: int) -> None:
        now_s = self._clock.monotonic()
        samples = self._seen.get(mq)
        if samples is None:
            if len(self._seen) >= self._most:
                return
            samples = self._seen[mq] = deque(maxlen=SAMPLES)
        if samples and max_offset < samples[-1][1]:
            samples.clear()  # another log under the same name
        if not samples or now_s - samples[-1][0] >= LEAST_S:
            samples.append((now_s, max_offset))
        while len(samples) > 2 and now_s - samples[0][0] > WINDOW_S:
            samples.popleft()

    def per_s(self, mq: MessageQueue) -> float | None:
        samples = self._seen.get(mq)
        if samples is None or len(samples) < 2:
            return None
        (first_s, first), (last_s, last) = samples[0], samples[-1]
        return round((last - first) / (last_s - first_s), 1)
