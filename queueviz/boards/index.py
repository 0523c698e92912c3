"""The Index page: from a key to its message in five stations (channel `index/…`, question `walk-index`)."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from queueviz.boards.board import live_config, now_of
from queueviz.boards.js_texts import texts
from queueviz.boards.page import BoardPage, Context, Place, Readings, data_of
from sandbox.queries.rows.snapshot import TopicRow
from sandbox.queries.rows.storage import Index, IndexEntry


def channel(place: Place) -> str | None:
    """Return the name of the index channel.

    None for a real cluster, which answers queries but does not show its files.
    """
    return f"index/{place.slug}/{place.node}" if place.node and not place.attached else None


def _context(place: Place, readings: Readings) -> Context:
    name = channel(place)
    data = data_of(readings, name, Index)
    files = [{"name": key, **row} for key, row in sorted(data["files"].items())] if data else []
    entries: list[NumberedEntry] = [{"no": key, **row} for key, row in data["entries"].items()] if data else []
    broker = (place.node or "").partition(".")[0]  # a slave's files are filled and cut where its master's are
    topics = [(t["topic"], _first_queue(t, broker)) for t in place.topics if not t["topic"].startswith("%")]
    return {
        "files": files,
        "newest_keys": data["keys"] if data else [],
        "entries": sorted(entries, key=_newest)[:12],
        "topics": topics,
        "topic": place.query.get("topic") or (topics[0][0] if topics else ""),
        "key": place.query.get("key", ""),
        "node": place.node,
        "broker": broker,
        "now_ms": now_of(place, readings, name),
        "live": live_config(place, readings, {"index": name}, tab="index"),
        "texts": texts(),
    }


def _first_queue(topic: TopicRow, broker: str) -> str | None:
    """Return the topic's first queue at the broker, such as `broker-a:0`.  None if the topic is not on that broker."""
    rows = sorted((queue["broker"], queue["queue_id"]) for queue in topic.get("queues", ()))
    return next((f"{name}:{queue_id}" for name, queue_id in rows if name == broker), None)


class NumberedEntry(IndexEntry):
    """An index entry with its file and number in `no`, as `file:number`."""

    no: str


def _newest(entry: NumberedEntry) -> tuple[str, int]:
    file, _, no = entry["no"].rpartition(":")
    return ("".join(chr(0x10FFFF - ord(c)) for c in file), -int(no or 0))


INDEX = BoardPage(
    name="index",
    title=_("Index"),
    path="index/",
    template="queueviz/boards/index.html",
    twin="queueviz/partials/twin_index.html",
    attached=True,
    replayed=True,
    channels=lambda place: [name] if (name := channel(place)) else [],
    context=_context,
)
