"""The drawing of a plan: before, moves, after; and the ring, the sum or the rooms the strategy goes by.

One unit is one CSS pixel at the drawing's own size.  Nothing here divides queues: all shares come with the answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import cos, pi, sin
from typing import Any, NamedTuple

from queueviz.boards import rows

Answer = Mapping[str, Any]

MOST_DRAWN = 96  # queues with a lane of their own
LINE, WIDTH, COLUMN = 20, 400, 112
RING, MIDDLE = 118.0, 150.0
TURN = 1 << 32


@dataclass(frozen=True)
class Line:
    """One line of a column: a member (`queue` is empty) or one of its queues.  `y`: the middle."""

    y: float
    member: str
    label: str
    me: str
    queue: str
    short: str
    moved: bool
    count: int


class Dot(NamedTuple):
    x: float
    y: float
    label: str
    me: str


class Arrow(NamedTuple):
    """From a queue's place on the ring clockwise to its owner's."""

    d: str
    x: float
    y: float
    text_x: float
    text_y: float
    short: str
    me: str
    moved: bool


def picture(answer: Answer) -> dict[str, Any]:
    """What templates draw; `answer` as `plan-rebalance` gives it."""
    colours = {client_id: f"me-{number % 6}" for client_id, number in answer["colours"].items()}
    owner = {queue: member for member, queues in answer["before"].items() for queue in queues}
    owner_after = {queue: member for member, queues in answer["after"].items() for queue in queues}
    moved = {queue for queue, member in owner_after.items() if owner.get(queue) != member}
    lost = {queue for queue in owner if queue not in owner_after}
    shorts = rows.short_names({*owner, *answer["queues"]})
    before = _column(answer["before"], answer["labels"], colours, shorts, moved | lost)
    after = _column(answer["after"], answer["labels"], colours, shorts, moved)
    counts = [len(queues) for queues in answer["after"].values()]
    drawn = len(answer["queues"]) <= MOST_DRAWN and len(owner) <= MOST_DRAWN
    return {
        "before": before, "after": after, "lanes": _lanes(before, after) if drawn else [], "drawn": drawn,
        "height": LINE * max(1, len(before), len(after)) + 6, "width": WIDTH, "right": WIDTH - COLUMN,
        "most": max(counts, default=0), "least": min(counts, default=0), "idle": counts.count(0),
        "ring": _ring(answer, colours, shorts, moved), "sum": _sum(answer), "rooms": answer.get("rooms"),
        "shares": [{"label": answer["labels"][member], "me": colours[member], "member": member,
                    "new": member not in answer["before"], "index": _index(answer, member),
                    "had": [shorts[queue] for queue in answer["before"].get(member, ())],
                    "gets": [(shorts[queue], queue in moved) for queue in answer["after"].get(member, ())],
                    "gone": member not in answer["after"]} for member in answer["labels"]],
        "unowned": [shorts[queue] for queue in answer["queues"] if queue not in owner_after],
    }  # fmt: skip


def _index(answer: Answer, member: str) -> int | None:
    return answer["members"].index(member) if member in answer["members"] else None


def _column(shares: Mapping[str, list[str]], labels: Mapping[str, str], colours: Mapping[str, str],
            shorts: Mapping[str, str], moved: set[str]) -> list[Line]:
    found: list[Line] = []
    for member, queues in shares.items():
        label = str(labels.get(member) or member)
        for queue in ("", *queues):
            found.append(Line(LINE * len(found) + LINE / 2 + 3, member, label, colours[member], queue,
                              shorts.get(queue, ""), queue in moved, len(queues)))  # fmt: skip
    return found


def _lanes(before: list[Line], after: list[Line]) -> list[tuple[str, Line]]:
    """One curve per queue that is in both columns; those that stay are drawn first, moves above them."""
    places = {line.queue: line for line in before if line.queue}
    found = []
    for line in after:
        old = places.get(line.queue) if line.queue else None
        if old is not None:
            x1, x2 = COLUMN, WIDTH - COLUMN
            middle = (x1 + x2) / 2
            found.append((f"M{x1} {old.y:g}C{middle:g} {old.y:g} {middle:g} {line.y:g} {x2} {line.y:g}", line))
    return sorted(found, key=lambda lane: lane[1].moved)


def _ring(answer: Answer, colours: Mapping[str, str], shorts: Mapping[str, str],
          moved: set[str]) -> dict[str, Any] | None:
    """Twelve o'clock is 0, clockwise."""
    ring = answer.get("ring")
    if not ring:
        return None
    places = ring["places"]
    dots = [Dot(*_at(place, RING), str(answer["labels"].get(member) or member), colours[member])
            for place, member in places]  # fmt: skip
    arrows = []
    for queue, position in sorted(ring["queues"].items(), key=lambda item: item[1]):
        if not places:
            break
        to = next((place for place, _ in places if place >= position), places[0][0])
        owner = next(member for place, member in places if place == to)
        x, y = _at(position, RING)
        text_x, text_y = _at(position, RING - 28)
        arrows.append(Arrow(_arc(position, to), x, y, text_x, text_y, shorts[queue], colours[owner], queue in moved))
    return {"dots": dots, "arrows": arrows, "radius": RING, "middle": MIDDLE, "named": len(dots) <= 64,
            "letters": len(arrows) <= 24}  # fmt: skip


def _at(position: int, radius: float) -> tuple[float, float]:
    turn = 2 * pi * position / TURN
    return round(MIDDLE + radius * sin(turn), 1), round(MIDDLE - radius * cos(turn), 1)


def _arc(start: int, end: int) -> str:
    """Inside the ring, the way a queue goes until it meets a member."""
    radius = RING - 9
    (x1, y1), (x2, y2) = _at(start, radius), _at(end, radius)
    large = 1 if (end - start) % TURN > TURN // 2 else 0
    return f"M{x1:g} {y1:g}A{radius:g} {radius:g} 0 {large} 1 {x2:g} {y2:g}"


def _sum(answer: Answer) -> dict[str, int] | None:
    """The division behind the strategies that only count."""
    if answer["strategy"] not in ("AVG", "AVG_BY_CIRCLE") or not answer["members"]:
        return None
    share, odd = divmod(len(answer["queues"]), len(answer["members"]))
    return {"queues": len(answer["queues"]), "members": len(answer["members"]), "share": share, "odd": odd,
            "more": share + 1}  # fmt: skip
