"""Retry and dead-letter queues of a group: thin strips under its rows, once they contain messages.

A retry queue has a reading of its own, since the group consumes it.  A dead-letter queue cannot be read (RocketMQ
makes it write-only), so its lowest and highest offsets come from the snapshot.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import NamedTuple, TypedDict
from urllib.parse import quote

from queueviz.boards import rows
from queueviz.boards.page import Part, Place, Readings, data_of
from sandbox.queries.rows.board import Board, QueueRow
from sandbox.queries.rows.lag import row_lag
from sandbox.queries.rows.snapshot import TopicRow


class DeadLetters(TypedDict):
    """The offsets of a dead-letter queue."""

    min: str | None
    max: str | None
    next_pull: str | None


class SideQueue(NamedTuple):
    kind: str  # retry, dead
    short: str
    me: str
    row: QueueRow | DeadLetters
    waiting: int  # messages not consumed yet
    drawn: str
    options: str


def retry_channel(place: Place) -> str | None:
    """Return the channel of the board of the group on its own retry topic.  None if no message was ever retried."""
    topic = _topic(place, "%RETRY%")
    if topic is None or not _used(topic):
        return None
    return f"board/{place.slug}/{quote(_group(place), safe='')}/{quote(topic['topic'], safe='')}"


def side_queues(place: Place, readings: Readings) -> list[SideQueue]:
    data, dead = data_of(readings, retry_channel(place), Board), _topic(place, "%DLQ%")
    queues = [*(_retry(data) if data else ()), *(_dead(dead) if dead else ())]
    options = json.dumps({"track": 8, "compact": True})  # in the window of the board's strips
    shorts = rows.short_names([key for _, key, _, _ in queues])
    return [
        SideQueue(kind, shorts[key], me, row, _waiting(row), json.dumps(row, default=str), options)
        for kind, key, row, me in queues
    ]


Found = tuple[str, str, QueueRow | DeadLetters, str]


def _retry(data: Board) -> Iterator[Found]:
    queues, members = data["queues"], data["members"]
    for key in sorted(queues, key=rows.order):
        if int(queues[key].get("max") or 0):
            yield "retry", key, queues[key], rows.colour(members.get(queues[key].get("owner") or ""))


def _dead(topic: TopicRow) -> Iterator[Found]:
    for queue in topic.get("queues", ()):
        if int(queue.get("max") or 0):
            low = queue["min"]  # all of it waits for a person
            row: DeadLetters = {"min": low, "max": queue["max"], "next_pull": low}
            yield "dead", f"{queue['broker']}:{queue['queue_id']}", row, "me-none"


def _waiting(row: QueueRow | DeadLetters) -> int:
    lag = row_lag(row)  # a dead letter has no reader: all that is kept waits
    return max(0, int(row["max"] or 0) - int(row.get("min") or 0) if lag is None else lag)


def _group(place: Place) -> str:
    group = place.group()
    return group["group"] if group else ""


def _topic(place: Place, prefix: str) -> TopicRow | None:
    name = prefix + _group(place)
    return next((topic for topic in place.snapshot.get("topics", ()) if topic["topic"] == name), None)


def _used(topic: TopicRow) -> bool:
    return any(int(queue.get("max") or 0) for queue in topic.get("queues", ()))


SIDE = Part(
    name="side",
    template="queueviz/partials/side.html",
    attached=True,
    channels=lambda place: [name] if (name := retry_channel(place)) else [],
    context=lambda place, readings: {"side": side_queues(place, readings)},
)
