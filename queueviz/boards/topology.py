"""The Topology page: name servers, brokers and clients, their connections, and the actions on them."""

from __future__ import annotations

from typing import TypedDict

from django.utils.translation import gettext_lazy as _

from queueviz.boards import topology_plan as plan
from queueviz.boards.board import live_config, now_of
from queueviz.boards.faults import faults_of
from queueviz.boards.js_texts import texts
from queueviz.boards.page import BoardPage, Context, Part, Place, Readings, data_of
from queueviz.boards.topology_texts import SIGNS, topology_words
from sandbox.queries.rows.topology import ClientNode, LinkState, Topology


def _channel(place: Place) -> str:
    return f"topology/{place.slug}"


def _data(place: Place, readings: Readings) -> Topology:
    return data_of(readings, _channel(place), Topology) or plan.as_it_slept(place.snapshot)


def _map(place: Place, readings: Readings) -> Context:
    data, now_ms = _data(place, readings), now_of(place, readings, _channel(place))
    return {
        "servers": plan.servers(data, now_ms),
        "brokers": plan.brokers(data),
        "clients": plan.clients(data),
        "shape": plan.shape(data),
        "now_ms": now_ms,
    }


def _twin(place: Place, readings: Readings) -> Context:
    data = _data(place, readings)
    links = [{**plan.linked(row), "broken": plan.is_broken(row)} for row in data["links"].values()]
    return {**_map(place, readings), "link_rows": links}


def _panel(place: Place, readings: Readings) -> Context:
    """Return the template values of the selection in the query.

    `node=` selects a server or a broker, `link=` a link, `group=` a box of clients.
    """
    data, now_ms = _data(place, readings), now_of(place, readings, _channel(place))
    node, link = place.query.get("node", ""), place.query.get("link", "")
    panel: Context = {"chosen": None, "now_ms": now_ms}
    if node in data["brokers"] or node in data["name_servers"]:
        kind = "broker" if node in data["brokers"] else "server"
        buttons = next((row.buttons for row in faults_of(place.snapshot)["brokers"] if row.node == node), ())
        panel |= {
            "chosen": kind,
            "node": node,
            "buttons": buttons,
            "links": plan.links_of(data, node),
            "views": plan.views_of(data, node),
            "row": data["brokers"].get(node) or data["name_servers"][node],
        }
    elif link in data["links"]:
        row = plan.linked(data["links"][link])
        panel |= {"chosen": "link", "link": link, "row": row, "broken": plan.is_broken(row), "ways": _ways(row)}
    elif place.attached and node in data["clients"]:  # elsewhere a client has a page of its own
        panel |= {
            "chosen": "client",
            "node": node,
            "row": _client(place, data["clients"][node]),
            "links": plan.links_of(data, node),
        }
    elif stack := next((box for box in plan.clients(data) if box.key == node and box.stack), None):
        panel |= {"chosen": "stack", "box": stack, "rows": [(name, data["clients"][name]) for name in stack.nodes]}
    return panel


class ReportedClient(ClientNode):
    """A client of a real cluster with what the snapshot reports of it."""

    address: str | None
    language: str | None
    release: str | int | None


def _client(place: Place, row: ClientNode) -> ReportedClient:
    """Return the row with address, language and release of the same client in the snapshot, as far as reported."""
    client_id = row["client_id"]
    for group in place.snapshot.get("groups", ()):
        for member in group["members"]:
            if member["client_id"] == client_id:
                return {
                    **row,
                    "address": member.get("address"),
                    "language": member["language"],
                    "release": member.get("release") or member["version"],
                }
    producer = next((row for row in place.snapshot.get("producers", ()) if row["client_id"] == client_id), None)
    language, version = (producer.get("language"), producer.get("version")) if producer else (None, None)
    return {**row, "address": None, "language": language, "release": version}


class Way(TypedDict):
    """One direction of a link, or both."""

    a: str
    b: str
    one_way: bool
    arrow: str


def _ways(row: LinkState) -> list[Way]:
    """Return the choices of directions of a link: both at once, then each by itself."""
    a, b = row["a"], row["b"]
    return [
        {"a": a, "b": b, "one_way": False, "arrow": "↔"},
        {"a": a, "b": b, "one_way": True, "arrow": "→"},
        {"a": b, "b": a, "one_way": True, "arrow": "→"},
    ]


def _page(place: Place, readings: Readings) -> Context:
    wording = texts(topology_words())
    name = _channel(place)
    live = live_config(
        place,
        readings,
        {"topology": name} if data_of(readings, name, Topology) else {},
        tab="topology",
        signs=SIGNS,
        most_boxes=plan.MOST_BOXES,
        late_ms=plan.LATE_MS,
    )
    return {
        **_map(place, readings),
        **_panel(place, readings),
        "live": live,
        "texts": wording,
        "topics": [topic["topic"] for topic in place.topics],
        "topic": place.query.get("topic") or place.topic(None),
    }


TOPOLOGY = BoardPage(
    name="topology",
    title=_("Topology"),
    path="topology/",
    attached=True,
    replayed=True,
    template="queueviz/boards/topology.html",
    twin="queueviz/partials/twin_topology.html",
    channels=lambda place: [_channel(place)],
    context=lambda place, readings: {**_twin(place, readings), **_page(place, readings)},
)
MAP = Part(
    name="topology-map",
    attached=True,
    replayed=True,
    template="queueviz/partials/topology_map.html",
    channels=lambda place: [_channel(place)],
    context=_map,
)
PANEL = Part(
    name="topology-panel",
    attached=True,
    replayed=True,
    template="queueviz/partials/topology_panel.html",
    channels=lambda place: [_channel(place)],
    context=_panel,
)
