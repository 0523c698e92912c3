"""What a strip draws: one queue row in, one path per layer and a few labels out.

Twin of static/queueviz/js/strip_plan.js.  Zones are fills, positions are marks; an unknown value draws
nothing, never 0.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from queueviz.boards.strip_cells import cell_paths, pulled
from queueviz.boards.strip_scale import Scale, scale
from queueviz.boards.strip_scale import text_of as n
from queueviz.templatetags.formats import THIN, number

LAYERS = [
    "base",
    "done",
    "deleted",
    "lag",
    "unknown",
    "risk",
    "between",
    "replay",
    "skip",
    "finished",
    "working",
    "waiting",
    "pinned",
    "break",
    "min",
    "max",
    "last",
    "none",
    "stem",
    "pin",
    "disk",
    "memory",
    "next",
    "patience",
    "aim",
    "target",
]
ROOM_FOR_TWO_PX = 46  # in lower rows the chevron alone is drawn
LABELS = ("t-min", "t-committed", "t-max", "t-next", "t-pinned", "t-caption")

Label = tuple[float, float, str, str]  # x, y, anchor, text


@dataclass(frozen=True, kw_only=True)
class StripOptions:
    """How one strip is to look.  `k` is the root size over 16 px, `track` a thin track without labels."""

    width: float = 542
    height: float = 50
    window: int = 100
    k: float = 1
    track: float | None = None
    compact: bool = False
    selected: bool = False
    now_ms: int = 0
    pin_ms: int = 15_000
    silent: bool = False
    local: bool = False
    held: float | None = None  # share of a held pull's patience that is left
    target: str | None = None  # of a planned reset
    planned: bool = False  # a row of such a plan, chosen or not
    captions: Mapping[str, str] | None = field(default=None)


class StripPlan(NamedTuple):
    paths: dict[str, str]
    texts: dict[str, Label]


class _Geometry(NamedTuple):
    s: Scale
    y: int
    th: int
    committed: int | None
    memory: int | None
    next: int | None
    owned: bool
    cells: bool
    untold: bool  # of a real cluster: somebody reads it, and nobody says how far

    @property
    def bottom(self) -> int:
        return self.y + self.th


def plan_strip(row: Mapping[str, Any], o: StripOptions) -> StripPlan:
    low = _offset(row.get("min")) or 0
    high = _offset(row.get("max"))
    high = low if high is None else high
    s = scale(low=low, high=high, window=o.window, width=o.width, compact=o.compact)
    th = math.floor((o.track or 14) * o.k + 0.5)
    y = math.floor(o.height / 2 - th / 2 - (2 if o.compact else 1) + 0.5)
    g = _Geometry(
        s,
        y,
        th,
        committed=_offset(row.get("committed")),
        memory=_offset(row.get("in_memory")),
        next=_offset(row.get("next_pull")),
        owned=bool(row.get("owner")) or o.planned,
        cells=bool(row.get("cells")),
        untold="cached" in row and bool(row.get("owner") or row.get("assigned")),
    )
    first = _offset(row.get("cells_from") or row.get("in_memory"))
    paths = _zones(g) | cell_paths(
        pulled(row.get("cells"), first, g.next), None if first is None else s.x(first), s.px, y, th
    )
    paths |= _marks(row, g, o)
    target = _offset(o.target)
    if target is not None:
        paths |= _preview(g, target)
    return StripPlan(paths, {} if o.track else _Labels(row, g, o).place())


def _offset(text: object) -> int | None:
    return None if text is None or text == "" else int(str(text))


def _box(x: float, y: float, w: float, h: float) -> str:
    return f"M{n(x)} {n(y)}h{n(w)}v{n(h)}h{n(-w)}z" if w > 0 else ""


def _furthest(a: int | None, b: int | None) -> int | None:
    return b if a is None else a if b is None else max(a, b)


def _zones(g: _Geometry) -> dict[str, str]:
    s, y, th = g.s, g.y, g.th
    start = max(0.0, s.x(0)) if s.whole and s.lo < 0 else 0.0  # nothing lies left of offset 0
    begin = s.deleted  # of the scale: the place of min
    consumed = begin if g.committed is None else s.x(g.committed)
    held = _furthest(g.memory, g.committed)
    # what nobody holds any more must be pulled again
    pulled = (held if g.next is None else g.next) if g.owned else (g.next if held is None else held)
    shown = g.memory is not None or g.cells  # a wire client does not show what it holds
    hidden = g.owned and not shown and g.next is not None and g.committed is not None and g.next > g.committed
    bx, t = s.history + s.gap / 2, th / 3

    def zone(a: int, b: int) -> str:
        return _box(s.x(a), y, s.x(b) - s.x(a), th)

    return {
        "base": f"M0 {n(y + th / 2)}H{n(start)}" if start > 0 else "",
        "done": _box(begin, y, max(0.0, min(consumed, s.right + 3) - begin), th),
        "deleted": _box(start, y, begin - start, th) if s.min > 0 else "",
        "lag": "" if pulled is None or g.untold else zone(pulled, s.max),
        "unknown": zone(s.min if held is None else held, s.max)
        if g.untold
        else zone(s.min, s.max)
        if pulled is None
        else zone(g.committed, g.next)
        if hidden and g.committed is not None and g.next is not None
        else "",
        "risk": zone(g.committed, g.memory)
        if g.committed is not None and g.memory is not None and g.memory > g.committed
        else "",
        "between": zone(held, g.next)
        if g.owned and shown and held is not None and g.next is not None and g.next > held
        else "",
        "break": ""
        if s.whole
        else f"M{n(bx - 4)} {y - 3}l3 {n(t + 1)}l-3 {n(t + 1)}l3 {n(t + 2)}L{n(bx + 5)} {g.bottom + 3}"
        f"l-3 {n(-t - 2)}l3 {n(-t - 1)}l-3 {n(-t - 1)}z",
    }


def _marks(row: Mapping[str, Any], g: _Geometry, o: StripOptions) -> dict[str, str]:
    s, y, th, bottom = g.s, g.y, g.th, g.bottom
    found = {
        "min": f"M{n(s.x(s.min) + 4)} {y - 3}h-4v{th + 6}h4",
        "max": f"M{n(s.right - 1)} {y - 3}h4v{th + 6}h-4",
    }
    if g.committed is None:
        found["none"] = f"M{n(s.left - 4)} {bottom + 6}a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0 -9 0m2.2 0h4.6"
    else:
        c = s.x(g.committed)
        found["stem"] = f"M{n(c)} {y - 2}v{th + 4}"
        found["pin"] = f"M{n(c)} {bottom + 1}l-4.6 7.4h9.2z"
        if o.local:
            found["disk"] = f"M{n(_r1(c) + 5)} {n(bottom + 3.5)}h4l1.5 1.5v4h-5.5z"
        if g.memory is not None and g.memory != g.committed:
            m = s.x(g.memory)
            if abs(_r1(m) - c) > (7 if o.compact else 2):
                found["memory"] = f"M{n(m)} {y - 1}l-4.2 -6.6h8.4z"
    if g.next is not None and (o.silent or (not row.get("owner") and g.next != g.committed)):
        found["last"] = f"M{n(s.x(g.next))} {y - 8}V{bottom + 8}"
    elif g.next is not None and row.get("owner"):
        at = _r1(min(s.x(g.next), s.right))
        crowded = "memory" in found and g.memory is not None and abs(at - s.x(g.memory)) < 9
        up = y - 10 if crowded and o.height >= ROOM_FOR_TWO_PX else y  # two marks at one place stand above each other
        if crowded and up == y:
            found["memory"] = ""
        if row.get("flow_control"):
            found["next"] = f"M{n(at - 2.5)} {up - 9}v7M{n(at + 1)} {up - 9}v7"
        else:
            found["next"] = f"M{n(at - 2.5)} {up - 8}l4.5 4l-4.5 4"
            if o.held and not o.compact:
                found["patience"] = arc(at - 0.5, up - 4, 5.8, max(0.0, min(1.0, o.held)))
    if is_pinned(row, o):
        found["pinned"] = _box(s.x(int(row["oldest"]["offset"])) - 1.5, y - 4, max(5.0, s.px + 2), th + 8)
    return found


def _preview(g: _Geometry, target: int) -> dict[str, str]:
    """A reset that is only planned: what comes again runs back from the pin, what is skipped runs forward."""
    t = _r1(g.s.x(target))
    c = t if g.committed is None else g.s.x(g.committed)
    return {
        "replay": _box(t, g.y, c - t, g.th) if t < c else "",
        "skip": _box(c, g.y, t - c, g.th) if t > c else "",
        "aim": f"M{n(t)} {g.y - 2}V{g.bottom + 2}",
        "target": f"M{n(t)} {g.y - 8}l4 4l-4 4l-4 -4z",
    }


def is_pinned(row: Mapping[str, Any], o: StripOptions) -> bool:
    oldest = row.get("oldest")
    return oldest is not None and o.now_ms - oldest["since_ms"] > o.pin_ms


def arc(cx: float, cy: float, r: float, share: float) -> str:
    """Clockwise from twelve, a share of a circle."""
    if share >= 0.999:
        return f"M{n(cx)} {n(cy - r)}a{n(r)} {n(r)} 0 1 1 -0.01 0"
    a = share * 2 * math.pi
    big = 1 if share > 0.5 else 0
    end = f"{n(cx + r * math.sin(a))} {n(cy - r * math.cos(a))}"
    return f"M{n(cx)} {n(cy - r)}A{n(r)} {n(r)} 0 {big} 1 {end}"


def _r1(value: float) -> float:
    return math.floor(value * 10 + 0.5) / 10


def text_width(text: str, k: float) -> float:
    return sum((2.2 if sign == THIN else 10.5 if sign > "\u2e80" else 6.15) * k for sign in text)


class _Labels:
    """Numbers beside the marks.  Two lines; who comes first keeps the place, who would touch is left out."""

    def __init__(self, row: Mapping[str, Any], g: _Geometry, o: StripOptions) -> None:
        self._row, self._g, self._o = row, g, o
        self._lower: list[tuple[float, float]] = []
        self._upper: list[tuple[float, float]] = []
        self.found: dict[str, Label] = {}

    def _put(self, key: str, line: list[tuple[float, float]], at: float, text: str, anchor: str) -> bool:
        w = text_width(text, self._o.k)
        a = at - w if anchor == "end" else at
        b = a + w
        if a < -1 or b > self._o.width + 1 or not all(b < c + 2 or a > d - 2 for c, d in line):
            return False
        line.append((a, b))
        y = self._g.bottom + 3 + 10 * self._o.k if line is self._lower else self._g.y - 6
        self.found[key] = (_r1(at), _r1(y), anchor, text)
        return True

    def place(self) -> dict[str, Label]:
        row, g, o, s = self._row, self._g, self._o, self._g.s
        captions = o.captions
        c = None if g.committed is None else s.x(g.committed)
        head = None if g.next is None or not row.get("owner") else min(s.x(g.next), s.right)
        if g.memory is not None and c is not None and g.memory != g.committed:
            self._upper.append((s.x(g.memory) - 5, s.x(g.memory) + 5))
        if head is not None:
            self._upper.append((head - 7, head + 6))
        if c is not None and g.committed is not None:
            self._committed(c, g.committed)
        elif captions and not o.compact:
            self._put("t-caption", self._lower, s.x(s.min) + 8, captions["none"], "start")
        if o.compact:
            return self.found
        if captions and is_pinned(row, o):
            at, text = s.x(int(row["oldest"]["offset"])), captions["pinned"]
            _ = self._put("t-pinned", self._upper, at + 10, text, "start") or self._put(
                "t-pinned", self._upper, at - 6, text, "end"
            )
        self._max(number(s.max))
        if o.selected and captions:
            self._put("t-min", self._lower, 0, f"{captions['min']} {number(s.min)}", "start")
            if head is not None:
                self._put("t-next", self._upper, head - 8, f"{captions['next']} {number(g.next)}", "end")
        return self.found

    def _committed(self, c: float, committed: int) -> None:
        o, s = self._o, self._g.s
        self._lower.append((c - 5, c + (12 if o.local else 5)))
        if not o.compact or o.selected:
            text = number(committed)
            _ = self._put("t-committed", self._lower, c - 7, text, "end") or self._put(
                "t-committed", self._lower, c + (14 if o.local else 8), text, "start"
            )
        odd = "beyond" if committed > s.max else "below" if committed < s.min else None
        if odd and o.captions and not o.compact:
            text = o.captions[odd]
            _ = self._put("t-caption", self._upper, c - 6, text, "end") or self._put(
                "t-caption", self._upper, c + 8, text, "start"
            )

    def _max(self, text: str) -> None:
        """Under the bracket; above it, clear of the other marks, where the line below is taken."""
        width = self._o.width
        if not self._put("t-max", self._lower, width, text, "end"):
            zone = width - text_width(text, self._o.k)
            edge = min((a - 1 for a, b in self._upper if b > zone), default=width)
            self._put("t-max", self._upper, min(edge, width), text, "end")
