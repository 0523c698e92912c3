"""The Connect page: the address for real clients, the state of each connection, and refused clients (`connect/…`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from queueviz.boards.board import live_config, now_of
from queueviz.boards.connect_snippets import snippets
from queueviz.boards.connect_texts import connect_words
from queueviz.boards.js_texts import texts
from queueviz.boards.page import BoardPage, Context, Place, Readings, data_of
from sandbox.queries.rows.connect import Connect, ListenerRow

ANY_TOPIC, ANY_GROUP = "TopicTest", "my-group"  # where the sandbox has none

T = TypeVar("T")


def channel(place: Place) -> str:
    return f"connect/{place.slug}"


def _context(place: Place, readings: Readings) -> Context:
    name = channel(place)
    data = data_of(readings, name, Connect)
    listening: Connect = data or {
        "listener": _as_it_slept(place),
        "ports": {},
        "connections": {},
        "clients": {},
        "refused": {},
        "counts": {},
    }
    wording = texts(connect_words())
    servers = list(listening["listener"]["name_servers"])
    chosen_group = place.group()
    group = place.query.get("group") or (chosen_group["group"] if chosen_group else ANY_GROUP)
    topic = place.topic(chosen_group) or ANY_TOPIC
    return {
        "listener": listening["listener"],
        "ports": sorted(listening["ports"].items()),
        "connections": _newest_first(listening["connections"]),
        "clients": sorted(listening["clients"].items()),
        "refused": _newest_first(listening["refused"]),
        "counts": sorted(listening["counts"].items()),
        "servers": ";".join(servers),
        "snippets": snippets(servers, topic, group, listening["listener"].get("access_key")),
        "snippet_topic": topic,
        "snippet_group": group,
        "topic_names": sorted({row["topic"] for row in place.topics if row.get("kind", "normal") == "normal"}),
        "group_names": [row["group"] for row in place.groups],
        "now_ms": now_of(place, readings, name),
        "live": live_config(place, readings, {"connect": name} if data is not None else {}, tab="connect"),
        "texts": wording,
    }


def _newest_first(rows: Mapping[str, T]) -> list[tuple[str, T]]:
    return [(number, rows[number]) for number in sorted(rows, key=int, reverse=True)]


def _as_it_slept(place: Place) -> ListenerRow:
    """Return the listener row of a sleeping sandbox.

    The address is derived with one broker and one name server only.
    """
    brokers, servers = place.snapshot.get("brokers", ()), place.snapshot.get("name_servers", ())
    both = [brokers[0]["address"]] if len(brokers) == len(servers) == 1 else []
    return {"open": False, "state": "closed", "name_servers": both, "shared": bool(both), "connections": 0}


CONNECT = BoardPage(
    name="connect",
    path="connect/",
    template="queueviz/boards/connect.html",
    channels=lambda place: [channel(place)],
    context=_context,
)
