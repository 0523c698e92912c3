"""Protection of the log: of similar lines, a few per second are written and the others are counted."""

from __future__ import annotations

import logging

LINES_PER_S = 10  # of one kind: written by the same line of code
KINDS = 1_000  # remembered at a time


class Flood(logging.Filter):
    """A logging filter that drops similar lines above a rate.

    The next line of that kind in a later second has the number of lines dropped before it.
    """

    def __init__(self) -> None:
        super().__init__()
        self._kinds: dict[tuple[str, int], list[float]] = {}  # second, lines in it, lines left out

    def filter(self, record: logging.LogRecord) -> bool:
        key = (record.pathname, record.lineno)
        second = record.created // 1
        if key not in self._kinds and len(self._kinds) >= KINDS:
            self._kinds.clear()
        kind = self._kinds.setdefault(key, [second, 0, 0])
        if kind[0] != second:
            kind[0], kind[1] = second, 0
        kind[1] += 1
        if kind[1] > LINES_PER_S:
            kind[2] += 1
            return False
        if kind[2]:
            record.msg, record.args = f"{record.getMessage()} (and {int(kind[2])} more of this kind before)", ()
            kind[2] = 0
        return True
