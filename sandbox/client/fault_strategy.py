"""Fault strategy of producers: brokers with slow or failed sends are avoided for a while."""

from collections.abc import Callable, Sequence

from sandbox.kernel.chance import Chance
from sandbox.message.queue import MessageQueue

LATENCY_MAX_MS = (50, 100, 550, 1_000, 2_000, 3_000, 15_000)
NOT_AVAILABLE_MS = (0, 0, 30_000, 60_000, 120_000, 180_000, 600_000)
EXCEPTION_LATENCY_MS = 30_000  # a send that failed counts as this slow


def not_available_ms(latency_ms: int) -> int:
    """Return for how many ms a broker is avoided after a send with this latency.

    >>> [not_available_ms(ms) for ms in (10, 549, 550, 30_000)]
    [0, 0, 30000, 600000]
    """
    for limit, pause in zip(reversed(LATENCY_MAX_MS), reversed(NOT_AVAILABLE_MS), strict=True):
        if latency_ms >= limit:
            return pause
    return 0


class FaultStrategy:
    """Last latency of each broker, and the time until which producers avoid it.  RocketMQ: `MQFaultStrategy`.

    It rates brokers, not queues.  Off by default, as in RocketMQ; then only a retry avoids the broker that failed.
    """

    def __init__(self, chance: Chance, now_ms: Callable[[], int], *, enabled: bool) -> None:
        self.enabled = enabled
        self._now_ms = now_ms
        self.turn = chance.below(2**31)  # of the queue taken last, before the modulo
        self.latency_ms: dict[str, int] = {}
        self.available_from_ms: dict[str, int] = {}
        self._better_half_turn = chance.below(2**31)

    def is_available(self, broker: str) -> bool:
        return self._now_ms() >= self.available_from_ms.get(broker, 0)

    def learn(self, broker: str, latency_ms: int, *, failed: bool) -> None:
        """Record the latency and outcome of one send to `broker`."""
        if not self.enabled:
            return
        self.latency_ms[broker] = latency_ms
        pause = not_available_ms(EXCEPTION_LATENCY_MS if failed else latency_ms)
        self.available_from_ms[broker] = self._now_ms() + pause

    def select(self, queues: Sequence[MessageQueue], last_broker: str | None) -> MessageQueue:
        """Return the next queue in turn.  `last_broker` is the one that just failed, None on a first attempt."""
        if self.enabled:
            return self._select_available(queues)
        for _ in queues:
            mq = self._next(queues)
            if mq.broker != last_broker:
                return mq
        return self._next(queues)

    def _next(self, queues: Sequence[MessageQueue]) -> MessageQueue:
        self.turn = (self.turn + 1) & 0x7FFF_FFFF
        return queues[self.turn % len(queues)]

    def _select_available(self, queues: Sequence[MessageQueue]) -> MessageQueue:
        for _ in queues:
            mq = self._next(queues)
            if self.is_available(mq.broker):
                return mq
        broker = self._pick_one_at_least()
        of_broker = [mq for mq in queues if mq.broker == broker]
        return self._next(of_broker or queues)

    def _pick_one_at_least(self) -> str | None:
        """Return the next broker in turn from the better half of the known ones; None if none is known."""
        ranked = sorted(
            self.available_from_ms,
            key=lambda name: (not self.is_available(name), self.latency_ms[name], self.available_from_ms[name], name),
        )
        if not ranked:
            return None
        half = max(1, len(ranked) // 2)
        self._better_half_turn = (self._better_half_turn + 1) & 0x7FFF_FFFF
        return ranked[self._better_half_turn % half]
