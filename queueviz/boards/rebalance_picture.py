"""The drawing of a rebalance plan: before, moves, after; and the strategy's ring, sum or rooms.

static/queueviz/js/plan_picture.js draws it.  This module assigns no queues: the answer has all assignments.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypedDict

from queueviz.boards import rows
from sandbox.queries.rows.plans import RebalancePlan, RoomsPlan

MOST_DRAWN = 96  # queues with a lane of their own


class Line(TypedDict):
    """One line of a column: a member (`queue` is empty) or one of its queues."""

    label: str
    me: str
    queue: str
    short: str
    moved: bool
    count: int


class Columns(TypedDict):
    """The queues by member before and after."""

    before: list[Line]
    after: list[Line]


class Ring(TypedDict):
    """The positions of members and queues on the hash ring."""

    places: list[tuple[int, str, str]]  # position, label and class of a member
    queues: list[tuple[int, str, bool]]  # position, short name, and moved


class Share(TypedDict):
    """The queues of one member before and after."""

    label: str
    me: str
    member: str
    new: bool
    index: int | None
    had: list[str]
    gets: list[tuple[str, bool]]  # queue, and moved
    gone: bool


class Picture(TypedDict):
    """The values that the plan's templates draw."""

    columns: Columns | None  # None: too many queues
    most: int
    least: int
    idle: int
    ring: Ring | None
    sum: dict[str, int] | None
    rooms: RoomsPlan | None
    shares: list[Share]
    unowned: list[str]


def picture(answer: RebalancePlan) -> Picture:
    """Return the values that the templates draw.  `answer` is the answer of `plan-rebalance`."""
    colours = {client_id: f"me-{number % 6}" for client_id, number in answer["colours"].items()}
    owner = {queue: member for member, queues in answer["before"].items() for queue in queues}
    owner_after = {queue: member for member, queues in answer["after"].items() for queue in queues}
    moved = {queue for queue, member in owner_after.items() if owner.get(queue) != member}
    lost = {queue for queue in owner if queue not in owner_after}
    shorts = rows.short_names({*owner, *answer["queues"]})
    counts = [len(queues) for queues in answer["after"].values()]
    drawn = len(answer["queues"]) <= MOST_DRAWN and len(owner) <= MOST_DRAWN
    return {
        "columns": {
            "before": _column(answer["before"], answer["labels"], colours, shorts, moved | lost),
            "after": _column(answer["after"], answer["labels"], colours, shorts, moved),
        }
        if drawn
        else None,
        "most": max(counts, default=0),
        "least": min(counts, default=0),
        "idle": counts.count(0),
        "ring": _ring(answer, colours, shorts, moved),
        "sum": _sum(answer),
        "rooms": answer.get("rooms"),
        "shares": [
            {
                "label": answer["labels"][member],
                "me": colours[member],
                "member": member,
                "new": member not in answer["before"],
                "index": _index(answer, member),
                "had": [shorts[queue] for queue in answer["before"].get(member, ())],
                "gets": [(shorts[queue], queue in moved) for queue in answer["after"].get(member, ())],
                "gone": member not in answer["after"],
            }
            for member in answer["labels"]
        ],
        "unowned": [shorts[queue] for queue in answer["queues"] if queue not in owner_after],
    }


def _index(answer: RebalancePlan, member: str) -> int | None:
    return answer["members"].index(member) if member in answer["members"] else None


def _column(
    shares: Mapping[str, list[str]],
    labels: Mapping[str, str],
    colours: Mapping[str, str],
    shorts: Mapping[str, str],
    moved: set[str],
) -> list[Line]:
    column: list[Line] = []
    for member, queues in shares.items():
        label = str(labels.get(member) or member)
        for queue in ("", *queues):
            column.append(
                {
                    "label": label,
                    "me": colours[member],
                    "queue": queue,
                    "short": shorts.get(queue, ""),
                    "moved": queue in moved,
                    "count": len(queues),
                }
            )
    return column


def _ring(answer: RebalancePlan, colours: Mapping[str, str], shorts: Mapping[str, str], moved: set[str]) -> Ring | None:
    """Return the positions of members and queues on the hash ring, or None if the strategy has no ring."""
    ring = answer.get("ring")
    if not ring:
        return None
    queues = sorted(ring["queues"].items(), key=lambda item: item[1])
    return {
        "places": [
            (position, str(answer["labels"].get(member) or member), colours[member])
            for position, member in ring["places"]
        ],
        "queues": [(position, shorts[queue], queue in moved) for queue, position in queues],
    }


def _sum(answer: RebalancePlan) -> dict[str, int] | None:
    """Return the numbers of the division behind `AVG` and `AVG_BY_CIRCLE`, or None for other strategies."""
    if answer["strategy"] not in ("AVG", "AVG_BY_CIRCLE") or not answer["members"]:
        return None
    share, odd = divmod(len(answer["queues"]), len(answer["members"]))
    return {
        "queues": len(answer["queues"]),
        "members": len(answer["members"]),
        "share": share,
        "odd": odd,
        "more": share + 1,
    }
