"""Result rows: seconds, and their sums over ten seconds and five minutes."""

from typing import Any, NamedTuple

SECOND_MS = 1_000
WIDTHS_MS = {"tens": 10_000, "fives": 300_000}

COLUMNS = ("sandbox", "group", "topic", "queue", "from_ms", "produced", "consumed", "lag", "lag_ms")


class Figures(NamedTuple):
    """The figures of one group and queue in a period; None is unknown.

    `produced`, `consumed`: messages stored and committed in the period.  `lag`, `lag_ms`: messages at its end, and
    the wait of the oldest one.
    """

    produced: int | None
    consumed: int | None
    lag: int | None
    lag_ms: int | None


class Row(NamedTuple):
    """One row of a result table."""

    group: str
    topic: str
    queue: str
    from_ms: int
    figures: Figures


class Roll:
    """Seconds of one group and queue, combined: produced and consumed are sums, the lag is that at the end."""

    __slots__ = ("figures", "from_ms")

    def __init__(self) -> None:
        self.from_ms: int | None = None
        self.figures = Figures(None, None, None, None)

    def add(self, from_ms: int, second: Figures) -> None:
        if self.from_ms is None:
            self.from_ms, self.figures = from_ms, second
        else:
            before = self.figures
            self.figures = Figures(
                _sum(before.produced, second.produced),
                _sum(before.consumed, second.consumed),
                second.lag,
                second.lag_ms,
            )

    def to_json(self) -> list[Any]:
        return [self.from_ms, list(self.figures)]

    @classmethod
    def from_json(cls, value: list[Any]) -> "Roll":
        roll = cls()
        roll.from_ms, roll.figures = value[0], Figures(*value[1])
        return roll


def _sum(first: int | None, other: int | None) -> int | None:
    return None if first is None or other is None else first + other
