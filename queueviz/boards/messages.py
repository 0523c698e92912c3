"""The Messages page: search by id, key, position or time, and new messages as they arrive.

Its channel is `messages/<slug>?…`.
"""

from __future__ import annotations

from urllib.parse import quote, urlencode

from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from queueviz.boards.board import live_config, now_of
from queueviz.boards.js_texts import texts
from queueviz.boards.message_texts import message_words
from queueviz.boards.page import BoardPage, Context, Place, Readings, data_of
from sandbox.control.channel_names import FILTER_CHARS, FILTERS
from sandbox.queries.rows.records import MessageTail

WAYS = {"id": _("by id"), "key": _("by key"), "place": _("by position"), "time": _("by time, tag and field")}
SEARCHED = (
    "by",
    "id",
    "topic",
    "key",
    "queue",
    "offset",
    "tag",
    "field",
    "value",
    "from",
    "to",
)  # kept in the address as `s-…`


def channel(place: Place) -> str:
    """Return the channel with the filters that are set, so that viewers with the same filters share one channel."""
    filters = {name: value for name in FILTERS if (value := place.query.get(name, "").strip()[:FILTER_CHARS])}
    name = f"messages/{place.slug}"
    return f"{name}?{urlencode(filters, quote_via=quote, safe='')}" if filters else name


def _context(place: Place, readings: Readings) -> Context:
    name = channel(place)
    data = data_of(readings, name, MessageTail)
    rows = data["rows"] if data else {}
    searched = {key: place.query.get(f"s-{key}", "") for key in SEARCHED}
    wording = texts(message_words())
    topics = sorted(place.topics, key=lambda topic: (topic.get("kind", "normal") != "normal", str(topic["topic"])))
    return {
        "data": data,
        "rows": [(number, rows[number]) for number in sorted(rows, key=int, reverse=True)],
        "topics": [str(topic["topic"]) for topic in topics],
        "queues": sorted(
            {f"{queue['broker']}:{queue['queue_id']}" for topic in topics for queue in topic.get("queues", ())},
            key=_by_number,
        ),
        "wanted": {key: place.query.get(key, "") for key in FILTERS},
        "searched": searched,
        "ways": WAYS.items(),
        "way": searched["by"] if searched["by"] in WAYS else "id",
        "now_ms": now_of(place, readings, name),
        "live": live_config(place, readings, {"messages": name} if data is not None else {}, tab="messages"),
        "texts": wording,
    }


def _by_number(row: str) -> tuple[str, int]:
    broker, _, number = row.rpartition(":")
    return broker, int(number)


MESSAGES = BoardPage(
    name="messages",
    title=pgettext_lazy("page", "Messages"),
    path="messages/",
    template="queueviz/boards/messages.html",
    attached=True,
    channels=lambda place: [channel(place)],
    context=_context,
)
