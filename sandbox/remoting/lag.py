"""Delays of payloads on a clock."""

from collections import deque
from collections.abc import Callable
from typing import Any

from sandbox.remoting.exchange import End, Payload

Later = Callable[[float, Callable[[], None]], Any]
"""`call_later` of a clock or a loop: seconds, then the callback."""


class Lag:
    """A delay of payloads; on one connection their order stays, even if the delay becomes shorter.

    `arrive` is called with the sending end and the payload (None: the end of the connection).
    """

    def __init__(self, later: Later, now: Callable[[], float], arrive: Callable[[End, Payload | None], None]) -> None:
        self._later = later
        self._now = now
        self._arrive = arrive
        self.under_way: dict[End, deque[tuple[float, Payload | None]]] = {}  # with the time of arrival

    def carry(self, sender: End, payload: Payload | None, seconds: float) -> None:
        """Deliver a payload after `seconds`; at once without a delay and without earlier payloads that wait."""
        if seconds <= 0 and sender not in self.under_way:
            self._arrive(sender, payload)
        else:
            self.send(sender, payload, seconds)

    def send(self, sender: End, payload: Payload | None, seconds: float) -> None:
        """Deliver a payload after `seconds`, in a later turn."""
        now = self._now()
        due = now + max(0.0, seconds)
        waiting = self.under_way.setdefault(sender, deque())
        if waiting:
            due = max(due, waiting[-1][0])
        waiting.append((due, payload))
        self._later(due - now, lambda: self._arrive_oldest(sender))

    def _arrive_oldest(self, sender: End) -> None:
        waiting = self.under_way[sender]
        _, payload = waiting.popleft()
        if not waiting:
            del self.under_way[sender]
        self._arrive(sender, payload)
