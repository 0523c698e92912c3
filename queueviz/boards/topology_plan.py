"""Texts for the channel of the Topology page: boxes, rings and links.

`topology.js` writes the same texts for every later frame.  Only the browser draws arcs and lines.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, TypedDict

from queueviz.boards.live_fields import ago, word
from queueviz.boards.page import node_name
from queueviz.boards.topology_texts import SIGNS
from queueviz.templatetags.formats import UNKNOWN, duration
from sandbox.queries.rows.snapshot import BrokerRow, Snapshot
from sandbox.queries.rows.topology import (
    BrokerOfTopology,
    ClientNode,
    Link,
    LinkState,
    Lives,
    ServerNode,
    Topology,
    View,
)

MOST_BOXES = 40  # clients with a box of their own; more stand together, one box per group
LATE_MS = 5_000  # after the next registration was due


class Ring(NamedTuple):
    """A name server's registration of one broker.  `label`: whole seconds until it expires."""

    key: str
    broker: str
    label: str
    says: str
    tone: str  # ok, late, none, known
    sentence: str


class Stacked(TypedDict):
    """A box of several clients of one group."""

    state: str  # the worst
    kind: str


class ViewInWords(View):
    known: str
    expires_ms: int | None  # None: the name server does not report the broker's last heartbeat


class LinkInWords(Link):
    peer: str  # the other end
    said: str


class Box(NamedTuple):
    """A node, or several clients of one group together.

    `nodes`: the names of the nodes and clients in it, as links name them.
    """

    key: str
    nodes: tuple[str, ...]
    row: ServerNode | BrokerOfTopology | ClientNode | Stacked
    sign: str
    rings: tuple[Ring, ...] = ()
    stack: str | None = None  # the group


def servers(data: Topology, now_ms: int) -> list[Box]:
    return [
        Box(name, (name,), row, _sign(row["state"]), tuple(_rings(data, name, row, now_ms)))
        for name, row in data["name_servers"].items()
    ]


def brokers(data: Topology) -> list[Box]:
    return [Box(name, (name,), row, _sign(row["state"])) for name, row in data["brokers"].items()]


def clients(data: Topology) -> list[Box]:
    """Return a box per client, producers first; above `MOST_BOXES` one box per group."""
    rows = data["clients"]
    names = sorted(rows, key=lambda name: (rows[name]["kind"] != "producer", _group(rows[name]), name))
    if len(rows) <= MOST_BOXES:
        return [Box(name, (name,), rows[name], _sign(rows[name]["state"])) for name in names]
    stacks: dict[str, list[str]] = {}
    for name in names:
        stacks.setdefault(_group(rows[name]), []).append(name)
    return [
        Box(
            f"group:{group}",
            tuple(inside),
            {"state": _worst(rows, inside), "kind": rows[inside[0]]["kind"]},
            _sign(_worst(rows, inside)),
            stack=group,
        )
        for group, inside in stacks.items()
    ]


def shape(data: Topology) -> str:
    """Return a text of the picture's structure.  Pictures with the same text differ in states and numbers only."""
    inside = (
        f"{name}:{','.join(member['label'] for member in row['members'])}"
        for name, row in sorted(data["clients"].items())
    )
    return "|".join((",".join(data["name_servers"]), ",".join(data["brokers"]), ";".join(inside)))


def ring(server: str, broker: str, view: View | None, lives: Lives, next_scan_ms: int | None, now_ms: int) -> Ring:
    key, last_ms = f"{server}~{broker}", None if view is None else view["last_update_ms"]
    if last_ms is None and view is not None and view.get("known_as"):  # a real one does not report since when
        return Ring(
            key, broker, UNKNOWN, word("view.known"), "known", word("view.knows").format(server=server, broker=broker)
        )
    if last_ms is None:
        label = word("view.unknown")
        return Ring(key, broker, UNKNOWN, label, "none", word("view.nothing").format(server=server, broker=broker))
    age_ms, left_ms = now_ms - last_ms, last_ms + lives["expiry_ms"] - now_ms
    tone = "late" if age_ms > lives["register_ms"] + LATE_MS else "ok"
    if left_ms <= 0:
        wait_ms = max(0, (next_scan_ms or now_ms) - now_ms)
        label = word("view.scan").format(left=duration(-(-wait_ms // 1000) * 1000))
    else:
        label = word("view.silent" if tone == "late" else "view.heard").format(age=ago(age_ms))
    left_s = max(0, -(-left_ms // 1000))
    sentence = word("view.sentence").format(server=server, broker=broker, age=ago(age_ms), left=f"{left_s} s")
    return Ring(key, broker, str(left_s), label, tone, sentence)


def link_word(row: LinkState) -> str:
    """Return the fault of a link, in one word if both directions have the same; without a fault, whether it is open."""
    forth, back = _way(row["there_cut"], row["there_ms"]), _way(row["back_cut"], row["back_ms"])
    if forth == back:
        return forth or word("way.whole" if row["connections"] else "way.none")
    return ", ".join(f"{arrow} {label}" for arrow, label in (("→", forth), ("←", back)) if label)


def is_broken(row: LinkState) -> bool:
    return bool(row["there_cut"] or row["back_cut"] or row["there_ms"] or row["back_ms"])


def links_of(data: Topology, node: str) -> dict[str, LinkInWords]:
    """Return the links of one node, with the other end and the texts for them."""
    return {key: linked(row, node) for key, row in data["links"].items() if node in (row["a"], row["b"])}


def linked(row: Link, node: str | None = None) -> LinkInWords:
    return {**row, "peer": row["b"] if row["a"] == node else row["a"], "said": link_word(row)}


def views_of(data: Topology, node: str) -> dict[str, ViewInWords]:
    """Return the registrations of a node, by the node at the other side.

    For a broker: the view of each name server.  For a name server: its view of each broker.
    """
    expiry_ms, views = data["lives"]["expiry_ms"], dict[str, ViewInWords]()
    for key, row in data["views"].items():
        server, _, broker = key.partition("~")
        if node in (server, broker):
            last_ms = row["last_update_ms"]
            views[broker if node == server else server] = {
                **row,
                "known": row["known_as"] or word("view.unknown"),
                "expires_ms": None if last_ms is None else last_ms + expiry_ms,
            }
    return views


def as_it_slept(snapshot: Snapshot) -> Topology:
    """Return the topology of a sleeping sandbox (catalogue 9): the nodes and clients in its snapshot."""
    by_label: dict[str, ClientNode] = {}
    for group in snapshot.get("groups", ()):
        for member in group["members"]:
            label = member.get("actor") or member["client_id"]
            by_label[label] = _asleep(member["client_id"], label, member["state"], "consumer", group["group"])
    for producer in snapshot.get("producers", ()):
        label = producer["actor"] or producer["client_id"] or ""
        by_label[label] = _asleep(producer.get("client_id"), label, producer["state"], "producer", f"PG_{label}")
    return {
        "lives": {"expiry_ms": 120_000, "scan_ms": 10_000, "register_ms": 30_000},
        "name_servers": {
            row["name"]: {"state": row["state"], "address": None, "next_scan_ms": None, "topics": None}
            for row in snapshot.get("name_servers", ())
        },
        "brokers": {node_name(row): _broker_asleep(row) for row in snapshot.get("brokers", ())},
        "clients": by_label,
        "views": {},
        "links": {},
    }


def _broker_asleep(row: BrokerRow) -> BrokerOfTopology:
    log = row["log"]
    return {
        "broker": row["broker"],
        "broker_id": row["broker_id"],
        "role": row["role"],
        "state": row["state"],
        "address": row["address"],
        "flush": row.get("flush"),
        "replication": row.get("replication"),
        "skew_ms": row.get("skew_ms", 0),
        "disk": row.get("disk"),
        "used_percent": None,
        "min": log and log["min"],
        "max": log and log["max"],
        "flushed": log and log["flushed"],
        "replicated": log and log["replicated"],
        "locks": None,
        "behind": None,
        "replica": None,
    }


def _asleep(client_id: str | None, label: str, state: str, kind: str, group: str) -> ClientNode:
    return {
        "kind": kind,
        "state": state,
        "client_id": client_id,
        "colour": None,
        "name_server": None,
        "route_runs": None,
        "route_due_ms": None,
        "heartbeat_runs": None,
        "heartbeat_due_ms": None,
        "members": [{"label": label, "kind": kind, "group": group, "state": state}],
    }


def _rings(data: Topology, server: str, row: ServerNode, now_ms: int) -> list[Ring]:
    """Return a ring for each broker.

    The ring of a broker that is down is hidden and keeps its position.
    """
    return [
        ring(server, broker, data["views"].get(f"{server}~{broker}"), data["lives"], row["next_scan_ms"], now_ms)
        for broker in data["brokers"]
    ]


def _way(cut: bool | None, delay_ms: int | None) -> str:
    if cut:
        return word("way.cut")
    return word("way.slow").format(delay=duration(delay_ms)) if delay_ms else ""


def _sign(state: str) -> str:
    return SIGNS.get(state, "?")


def _group(row: ClientNode) -> str:
    return row["members"][0]["group"] if row["members"] else ""


def _worst(rows: Mapping[str, ClientNode], names: list[str]) -> str:
    states = [rows[name]["state"] for name in names]
    return next((state for state in states if state != "running"), "running")
