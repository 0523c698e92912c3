"""Checks of limits: an action beyond a limit is refused, and the journal gets an event."""

from collections.abc import Callable
from typing import NoReturn

from sandbox.journal.events import LimitReached, Position
from sandbox.journal.journal import Journal
from sandbox.kernel.clock import Clock
from sandbox.kernel.errors import ActionRefused
from sandbox.kernel.throttle import Throttle

_HINTS = {
    "topics": "Delete a topic you no longer need.",
    "queues_per_topic": "Request fewer queues.",
    "queues": "Delete a topic, or request fewer queues.",
    "groups": "Join an existing group.",
    "members": "Remove a consumer first.",
    "producers": "Remove a producer first.",
    "messages_per_send": "Send in smaller portions.",
}


class LimitGuard:
    """Checks of limits, with at most one event per limit and second.

    The event takes the place of the refused action: it has the action's `position`.
    """

    def __init__(self, wall: Clock, journal: Journal, position: Callable[[], Position | None]) -> None:
        self._position = position
        self._wall = wall
        self._journal = journal
        self._reports = Throttle(1)

    def check(self, limit: str, value: int, allowed: int, subject: str) -> None:
        """Raise ActionRefused (422) if `value` is more than `allowed`."""
        if value > allowed:
            self.refuse(limit, value, allowed, subject)

    def refuse(self, limit: str, value: int, allowed: int, subject: str) -> NoReturn:
        if self._reports.take(self._wall.monotonic(), limit):
            self._journal.write(LimitReached(limit, value, allowed, subject), came=self._position())
        raise ActionRefused(
            422,
            "The limit of {limit} is {allowed}; this request would reach {value}.",
            _HINTS.get(limit, ""),
            limit=limit.replace("_", " "),
            allowed=allowed,
            value=value,
        )
