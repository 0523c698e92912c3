"""The Topics page: the ranges of writable and readable queue ids, and shrinking a topic without loss."""

from __future__ import annotations

from typing import TypedDict

from django.utils.translation import gettext_lazy as _

from queueviz.boards.board import live_config
from queueviz.boards.down_queue_texts import DOWN, as_of
from queueviz.boards.js_texts import texts
from queueviz.boards.page import BoardPage, Context, Part, Place, Readings, data_of
from sandbox.queries.rows.snapshot import TopicRow
from sandbox.queries.rows.topics import QueueOfTopic, TopicAtBroker, Topics, TopicUse

MOST_QUEUES = 64  # per topic, as the form allows
RIGHTS = ((6, _("read and write")), (4, _("read only")), (2, _("write only")))


class QueueLine(TypedDict):
    """One queue of a topic.

    `stranded`: the number of messages that cannot be read any more or yet.  Messages that every group has consumed
    do not count.
    """

    broker: str
    queue_id: int
    min: str | None
    max: str | None
    rate_per_s: float | None
    use: str
    key: str
    messages: int
    waiting: dict[str, int | None]  # by group
    waits: list[tuple[str, int | None]]  # of the topic's groups
    behind: int
    stranded: int


class BrokerLine(TopicAtBroker):
    """One broker with its queues of the topic."""

    queues: list[QueueLine]
    count: int
    down_said: str
    rights: str


class TopicLine(TypedDict):
    """One topic with its queues by broker."""

    topic: str
    kind: str
    groups: list[str]
    brokers: list[BrokerLine]
    running: list[BrokerLine]
    messages: int
    rate: float | None  # None: unknown at all queues
    write: int
    read: int
    stranded: list[QueueLine]
    starved: list[QueueLine]
    unread: list[QueueLine]


class Shrink(TypedDict):
    """The progress of shrinking a topic, in three steps."""

    to: int
    upper: list[QueueLine]
    waiting: list[QueueLine]
    left: int
    write_done: bool
    drained: bool
    read_done: bool


def _channel(place: Place) -> str:
    return f"topics/{place.slug}"


def _rows(place: Place, readings: Readings) -> list[TopicLine]:
    """Return every topic with a row per broker.  For a sleeping sandbox, the topics of its last snapshot."""
    data = data_of(readings, _channel(place), Topics)
    topics = data["topics"] if data is not None else [_as_it_slept(topic) for topic in place.topics]
    return [_topic(topic) for topic in topics]


def _as_it_slept(topic: TopicRow) -> TopicUse:
    """Return the topic as a snapshot has it (catalogue 9).

    It has no groups and origins, and one pair of counts for all brokers.
    """
    write, read = topic["write_queues"], topic["read_queues"]
    queues: list[QueueOfTopic] = [
        {
            "broker": queue["broker"],
            "queue_id": queue["queue_id"],
            "min": queue["min"],
            "max": queue["max"],
            "rate_per_s": queue.get("rate_per_s"),
            "waiting": {},
            "use": _use(queue["queue_id"], write, read),
        }
        for queue in topic.get("queues", ())
        if queue.get("max") is not None
    ]
    return {
        "topic": topic["topic"],
        "kind": topic["kind"],
        "groups": [],
        "queues": queues,
        "brokers": [
            {
                "broker": broker,
                "write_queues": write,
                "read_queues": read,
                "permission": topic["permission"],
                "how": None,
                "down": None,
            }
            for broker in sorted({queue["broker"] for queue in queues})
        ],
    }


def _use(queue_id: int, write: int, read: int) -> str:
    if queue_id < write:
        return "rw" if queue_id < read else "wo"
    return "ro" if queue_id < read else "none"


def _topic(topic: TopicUse) -> TopicLine:
    brokers = [
        _broker(row, [q for q in topic["queues"] if q["broker"] == row["broker"]], topic["groups"])
        for row in topic["brokers"]
    ]
    running = [broker for broker in brokers if not broker["down"]]
    queues = [queue for broker in running for queue in broker["queues"]]
    rates = [rate for queue in queues if (rate := queue["rate_per_s"]) is not None]
    return {
        "topic": topic["topic"],
        "kind": topic["kind"],
        "groups": topic["groups"],
        "brokers": brokers,
        "running": running,
        "messages": sum(q["messages"] for broker in brokers for q in broker["queues"]),
        "rate": sum(rates) if rates or not queues else None,
        "write": max((broker["write_queues"] for broker in running), default=0),
        "read": max((broker["read_queues"] for broker in running), default=0),
        "stranded": [queue for queue in queues if queue["stranded"]],
        "starved": [queue for queue in queues if queue["use"] == "ro"],
        "unread": [queue for queue in queues if queue["use"] == "wo"],
    }


def _broker(row: TopicAtBroker, queues: list[QueueOfTopic], groups: list[str]) -> BrokerLine:
    permission, down = row["permission"], row["down"]
    sentence = str(DOWN["down.kept" if down["kept"] else "down.nobody"]) if down else ""
    return {
        **row,
        "queues": [_queue(queue, groups) for queue in queues],
        "count": len(queues),
        "down_said": f"{sentence}, {as_of(down)}" if down else "",
        "rights": ("R" if permission & 4 else "-") + ("W" if permission & 2 else "-"),
    }


def _queue(queue: QueueOfTopic, groups: list[str]) -> QueueLine:
    messages = int(queue["max"] or 0) - int(queue["min"] or 0)
    waiting = {group: None if count is None else int(count) for group, count in queue["waiting"].items()}
    unreadable = queue["use"] in ("wo", "none")
    behind = [messages if count is None else count for count in waiting.values()]
    return {
        **queue,
        "key": f"{queue['broker']}:{queue['queue_id']}",
        "messages": messages,
        "waiting": waiting,
        "waits": [(group, waiting.get(group)) for group in groups],
        "behind": max(behind, default=messages),
        "stranded": (max(behind, default=messages) if unreadable else 0),
    }


def _shrink(topic: TopicLine, requested: str) -> Shrink:
    """Return the progress of shrinking a topic to `requested` queues, by default half.

    The three steps: reduce the writable queues, wait until the upper queues are consumed, reduce the readable queues.
    """
    default = max(1, topic["read"] // 2)
    to = min(int(requested), MOST_QUEUES) if requested.isdigit() else default
    upper = [q for broker in topic["running"] for q in broker["queues"] if q["queue_id"] >= to and q["use"] != "none"]
    waiting = [queue for queue in upper if queue["behind"]]
    return {
        "to": to,
        "upper": upper,
        "waiting": waiting,
        "left": sum(queue["behind"] for queue in waiting),
        "write_done": topic["write"] <= to,
        "drained": not waiting,
        "read_done": topic["read"] <= to,
    }


def _sheet(place: Place, readings: Readings) -> Context:
    """Return the template values of one topic, queue by queue.  `chosen` is None if the query has no existing topic."""
    rows = _rows(place, readings)
    chosen = next((row for row in rows if row["topic"] == place.query.get("topic")), None)
    if chosen is None:
        return {"chosen": None}
    to = place.query.get("to", "")
    return {"chosen": chosen, "rights": RIGHTS, "shrink": _shrink(chosen, to), "to": to}


def _page(place: Place, readings: Readings) -> Context:
    rows = [row for row in _rows(place, readings) if _wanted(place) in row["topic"].lower()]
    return {
        "topic_rows": rows,
        "wanted": _wanted(place),
        "live": live_config(place, readings, {}, tab="topics"),
        "texts": texts(),
        **_sheet(place, readings),
    }


def _wanted(place: Place) -> str:
    return place.query.get("q", "").strip().lower()


TOPICS = BoardPage(
    name="topics",
    title=_("Topics"),
    path="topics/",
    template="queueviz/boards/topics.html",
    twin="queueviz/partials/topics_table.html",
    channels=lambda place: [_channel(place)],
    context=_page,
)
TOPIC_SHEET = Part(
    name="topic",
    template="queueviz/partials/topic_sheet.html",
    channels=lambda place: [_channel(place)],
    context=_sheet,
)
TOPIC_FORM = Part(
    name="topic-form",
    template="queueviz/partials/topic_form.html",
    channels=lambda place: [_channel(place)],
    context=_sheet,
)
