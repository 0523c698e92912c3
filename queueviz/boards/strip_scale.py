"""The three-part scale of a strip: deleted stub, compressed history, linear window with the head at the right.

Twin of static/queueviz/js/scale.js: the page's first paint, exports and e-mail draw with this one, the moving page with
that one, and tests/browser/fixtures/strips.json holds both to the same numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

HEAD_PX = 9
WIDEST = 5_000  # messages; what is further behind lies left of the break
_LADDER = (20, 30, 50, 70, 100, 150)


def window_for(lags: Iterable[int], widest: int = WIDEST) -> int:
    """The window all strips of a board share: of the ladder's steps the smallest one half as large again as the
    largest lag, so that the lag fills 40 to 67 % of it."""
    most = max(0, *lags, 0)
    power = 1
    while True:
        for step in _LADDER:
            if step * power >= widest:
                return widest
            if 2 * step * power >= 3 * most:
                return step * power
        power *= 10


class Scale(NamedTuple):
    """Where any offset of one queue lies, in pixels.  An offset outside min and max is pinned to the edge."""

    min: int
    max: int
    window: int
    left: float
    span: float
    history: float
    gap: float
    stub: float

    @property
    def px(self) -> float:
        return self.span / self.window

    @property
    def lo(self) -> int:
        return self.max - self.window

    @property
    def whole(self) -> bool:
        """The window already shows everything on disk: no break."""
        return self.min >= self.lo

    @property
    def right(self) -> float:
        return self.left + self.span

    @property
    def deleted(self) -> float:
        return self.x(self.min) if self.whole else self.stub

    def x(self, offset: int) -> float:
        if offset >= self.max:
            return self.right
        if offset >= self.lo:
            return self.right - (self.max - offset) * self.px
        if self.whole:
            return max(0.0, self.left - (self.lo - offset) * self.px)
        if offset <= self.min:
            return self.stub
        return self.stub + (offset - self.min) / (self.lo - self.min) * (self.history - self.stub)


def scale(*, low: int, high: int, window: int, width: float, compact: bool) -> Scale:
    history = 26.0 if compact else max(54.0, width * 0.15)
    gap = 7.0 if compact else 12.0
    left = history + gap
    return Scale(low, high, window, left, max(1.0, width - left - HEAD_PX), history, gap, 9.0 if compact else 18.0)


def text_of(value: float) -> str:
    """A coordinate with one decimal, as JavaScript writes it."""
    rounded = math.floor(value * 10 + 0.5) / 10
    return str(int(rounded)) if rounded == int(rounded) else repr(rounded)
