"""The Store page: one log for all queues, consume queue entries that point into it, and its files.

Its channels are `store/…`.
"""

from __future__ import annotations

from collections.abc import Mapping

from django.utils.translation import gettext_lazy as _

from queueviz.boards.board import live_config, now_of, store_channel
from queueviz.boards.faults import faults_of
from queueviz.boards.js_texts import texts
from queueviz.boards.page import BoardPage, Context, Place, Readings, data_of, node_name
from queueviz.boards.store_texts import store_words
from sandbox.queries.rows.storage import Disk, DiskLog, Store, TapeRecord

ENTRIES_SHOWN = 12


def disk_channel(place: Place) -> str | None:
    name = store_channel(place)
    return f"{name}/disk" if name else None


def _channels(place: Place) -> list[str]:
    return [name for name in (store_channel(place), disk_channel(place)) if name]


def _context(place: Place, readings: Readings) -> Context:
    tape, disk = data_of(readings, store_channel(place), Store), data_of(readings, disk_channel(place), Disk)
    records = tape["records"] if tape else {}
    queues = sorted(disk["queues"] if disk else (), key=_queue_order)
    asked = place.query.get("queue")
    queue = asked if asked in queues else next(iter(queues), None)
    brokers = place.snapshot.get("brokers", ())
    broker = next((row for row in brokers if node_name(row) == place.node), None)
    wording = texts(store_words())
    return {
        "node": place.node,
        "nodes": sorted(node_name(row) for row in brokers),
        "broker": broker or {},
        "disk": disk,
        "log": figures(disk) or {},
        "queues": queues,
        "queue": queue,
        "entries": entries(records, queue),
        "buttons": next((row.buttons for row in faults_of(place.snapshot)["brokers"] if row.node == place.node), ()),
        "now_ms": now_of(place, readings, disk_channel(place)),
        "live": live_config(
            place,
            readings,
            {"store": store_channel(place), "disk": disk_channel(place)},
            tab="store",
            queue=queue,
            broker=broker["broker"] if broker else None,
            node=place.node,
        ),
        "texts": wording,
    }


class LogFigures(DiskLog):
    """Positions of the log, and the bytes that are in memory only."""

    loose: str  # bytes not flushed
    behind: str | None  # bytes not replicated; None: unknown


def figures(disk: Disk | None) -> LogFigures | None:
    """Return the positions of the log, and the number of bytes not flushed and not replicated."""
    if disk is None:
        return None
    log = disk["log"]
    return {
        **log,
        "loose": str(int(log["max"]) - int(log["flushed"])),
        "behind": None if log["replicated"] is None else str(int(log["max"]) - int(log["replicated"])),
    }


class TapeEntry(TapeRecord):
    """A record with its position in the log."""

    at: str


def entries(records: Mapping[str, TapeRecord], queue: str | None) -> list[TapeEntry]:
    """Return the newest records of one queue, the newest first, as far as the tape holds them."""
    topic, _, number = (queue or "").rpartition("/")
    mine: list[TapeEntry] = [
        {**row, "at": at} for at, row in records.items() if row["topic"] == topic and str(row["queue_id"]) == number
    ]
    return sorted(mine, key=lambda row: int(row["at"]), reverse=True)[:ENTRIES_SHOWN]


def _queue_order(key: str) -> tuple[bool, str, int]:
    """Return the sort key of a queue: ordinary topics first."""
    topic, _, number = key.rpartition("/")
    return topic.startswith(("%", "SCHEDULE_", "RMQ_")), topic, int(number)


STORE = BoardPage(
    name="store",
    title=_("Store"),
    path="store/",
    template="queueviz/boards/store.html",
    twin="queueviz/partials/twin_store.html",
    replayed=True,
    channels=_channels,
    context=_context,
)
