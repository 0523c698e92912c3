"""The messages a consumer holds, as three paths.  Twin of static/queueviz/js/strip_cells.js."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from queueviz.boards.strip_scale import text_of as n

_RUN = re.compile(r"(\d*)([dpb])")
_BAR_PX = 4


def runs(cells: str | None) -> Iterator[tuple[str, int]]:
    """Runs of `3d4p5b`; a letter alone counts one."""
    for count, state in _RUN.findall(cells or ""):
        yield state, int(count) if count else 1


def pulled(cells: str | None, first: int | None, following: int | None) -> str | None:
    """What was pulled and is no longer held is done: cells are listed up to the last unfinished message only."""
    if not cells or first is None or following is None:
        return cells
    rest = following - first - sum(count for _, count in runs(cells))
    return f"{cells}{rest}d" if rest > 0 else cells


def cell_paths(cells: str | None, start: float | None, px: float, y: float, height: float) -> dict[str, str]:
    """Solid while a thread works on them, outlined while they wait, hatched once done."""
    if start is None or not cells:
        return {"finished": "", "working": "", "waiting": ""}
    return _density(cells, start, px, y, height) if px < 1.6 else _single(cells, start, px, y, height)


def _single(cells: str, start: float, px: float, y: float, th: float) -> dict[str, str]:
    width = max(1.2, px - 1)
    found = {"finished": "", "working": "", "waiting": ""}
    at = start
    for state, count in runs(cells):
        if state == "d":
            found["finished"] += f"M{n(at)} {n(y)}h{n(count * px)}v{n(th)}h{n(-count * px)}z"
        else:
            for i in range(count):
                left = at + i * px + 0.5
                if state == "p":
                    found["working"] += _cell(left, y, width, th)
                else:
                    found["waiting"] += _cell(left, y + 2, width, th - 4)
        at += count * px
    return found


def _cell(x: float, y: float, w: float, h: float) -> str:
    if w >= 3:
        return f"M{n(x + 1)} {n(y)}h{n(w - 2)}q1 0 1 1v{n(h - 2)}q0 1 -1 1h{n(2 - w)}q-1 0 -1 -1v{n(2 - h)}q0 -1 1 -1z"
    return f"M{n(x)} {n(y)}h{n(w)}v{n(h)}h{n(-w)}z"


def _density(cells: str, start: float, px: float, y: float, th: float) -> dict[str, str]:
    """Too thin to tell apart: one bar per 4 px, its height shared by processing, done and buffered."""
    bars: dict[int, dict[str, float]] = {}
    per, at = _BAR_PX / px, 0.0
    for state, count in runs(cells):
        left = float(count)
        while left > 0:
            bar = math.floor(at / per + 1e-9)
            room = min(left, (bar + 1) * per - at)
            shares = bars.setdefault(bar, {"d": 0.0, "p": 0.0, "b": 0.0})
            shares[state] += room / per
            at += room
            left -= room
    found = {"finished": "", "working": "", "waiting": ""}
    for bar, shares in bars.items():
        x, floor = n(start + bar * _BAR_PX), y + th
        for name, state in (("working", "p"), ("finished", "d"), ("waiting", "b")):
            height = math.floor(shares[state] * th * 10 + 0.5) / 10
            if height <= 0:
                continue
            floor = math.floor((floor - height) * 10 + 0.5) / 10
            found[name] += f"M{x} {n(floor)}h{n(_BAR_PX - 0.5)}v{n(height)}h{n(0.5 - _BAR_PX)}z"
    return found
