"""Limits on the update rate of figures that would change with every message.

Offsets, cells, owners and locks stay those of the turn.  The snapshot of the whole sandbox (catalogue 9) is not
limited.
"""

from collections.abc import Callable
from typing import Any, TypeVar

from sandbox.queries.rows.board import MemberRow, QueueRow

T = TypeVar("T")

BEAT_S = 1.0  # of the machine: figures are taken at most so often, all together
SHOWN_AFTER_MS = 2_000  # a message is called the oldest once a listener has had it for so long
HELD_AFTER_MS = 1_000  # a pull is called held once it has waited for so long
SECOND_MS = 1_000


class CalmFigures:
    """Figures of one board, each kept for a second.  A new figure is computed at once."""

    def __init__(self) -> None:
        self._taken_s = float("-inf")
        self._values: dict[Any, Any] = {}

    def begin(self, now_s: float) -> None:
        """Begin a reading at a time of the machine's clock, and drop the figures if a second is over."""
        if now_s - self._taken_s >= BEAT_S:
            self._taken_s = now_s
            self._values.clear()

    def figure(self, key: Any, take: Callable[[], T]) -> T:
        if key not in self._values:
            self._values[key] = take()
        value: T = self._values[key]
        return value


def calm_queue(row: QueueRow, key: str, figures: CalmFigures, now_ms: int, pulled_ms: int | None) -> None:
    """Limit the figures of a queue row.

    Rates change once a second and are whole; ages are in seconds; a message or a held pull that just began is left out.
    """
    rate = row["rate_per_s"]
    if rate is not None:
        row["rate_per_s"] = figures.figure(("rate", key), lambda: whole(rate))
    if row["oldest_stored_ms"] is not None:
        row["oldest_stored_ms"] -= row["oldest_stored_ms"] % SECOND_MS
    if row["oldest"] is not None and now_ms - row["oldest"]["since_ms"] < SHOWN_AFTER_MS:
        row["oldest"] = None
    if pulled_ms is not None and now_ms - pulled_ms < HELD_AFTER_MS:
        row["held_until_ms"] = None


def calm_member(row: MemberRow, client_id: str, figures: CalmFigures) -> None:
    row["buffered_bytes"] = figures.figure(("bytes", client_id), lambda: row["buffered_bytes"])


def whole(per_s: float) -> float:
    """Return a rate for display: whole from 1 on.

    >>> [whole(rate) for rate in (0.0, 0.4, 1.6, 31.2)]
    [0.0, 0.4, 2, 31]
    """
    return per_s if per_s < 1 else round(per_s)


def rounded(per_s: float | None) -> float | None:
    """Return a rate with one decimal; None if it is unknown."""
    return None if per_s is None else round(per_s, 1)
