"""Who is there and who told so (channel `topology/k.<name>`).

A name server tells which brokers it believes in, and not when it last heard of them; what was done to a link, and when
a client's heartbeat came, nobody tells.  Lives are RocketMQ's defaults.
"""

from typing import Any

from sandbox.attached.picture import MASTER, Picture, is_built_in
from sandbox.attached.snapshot.brokers import broker_row
from sandbox.broker.config import BrokerConfig
from sandbox.namesrv.config import NameServerConfig

Row = dict[str, Any]

_CLIENT: Row = {"kind": "wire", "state": "running", "colour": None, "name_server": None, "route_runs": None,
                "route_due_ms": None, "heartbeat_runs": None, "heartbeat_due_ms": None}
_BROKER: Row = {"min": None, "max": None, "flushed": None, "replicated": None, "locks": None, "behind": None,
                "replica": None}


def read_topology(picture: Picture) -> Row:
    config = NameServerConfig(address="")
    clients, places = _clients(picture)
    return {
        "lives": {"expiry_ms": config.broker_expired_ms, "scan_ms": config.scan_period_ms,
                  "register_ms": BrokerConfig.register_period_ms, "assumed": True},
        "name_servers": {server.name: {"state": server.state, "address": server.address, "next_scan_ms": None,
                                       "topics": None} for server in picture.servers.values()},
        "brokers": {seen.node: _broker(broker_row(seen)) for seen in picture.in_order()},
        "clients": clients, "views": _views(picture), "links": _links(picture, places),
    }


def _broker(row: Row) -> Row:
    return {**_BROKER, **row, "min": row["log"]["min"], "max": row["log"]["max"]}


def _clients(picture: Picture) -> tuple[dict[str, Row], set[tuple[str, str]]]:
    """By client id, and which of them are connected to which broker."""
    rows: dict[str, Row] = {}
    places: set[tuple[str, str]] = set()

    def note(client_id: str, kind: str, group: str, broker: str) -> None:
        row = rows.setdefault(client_id, {**_CLIENT, "client_id": client_id, "members": []})
        member = {"label": client_id, "kind": kind, "group": group, "state": "running"}
        if member not in row["members"]:
            row["members"].append(member)
        places.add((client_id, broker))

    for broker, groups in sorted(picture.members.items()):
        for group, told in sorted(groups.items()):
            for one in told.connections:
                note(one.client_id, "consumer", group, broker)
    for broker, tables in sorted(picture.producers.items()):
        for group, producers in sorted(tables.items()):
            for client_id in producers if not is_built_in(group) else ():
                note(client_id, "producer", group, broker)
    return dict(sorted(rows.items())), places


def _views(picture: Picture) -> dict[str, Row]:
    """A name server that does not answer has no opinion, and no row."""
    rows: dict[str, Row] = {}
    for server in picture.servers.values():
        for seen in picture.in_order() if server.brokers is not None else ():
            known = server.brokers is not None and server.brokers.get(seen.name, {}).get(seen.broker_id) == seen.address
            rows[f"{server.name}~{seen.node}"] = {"last_update_ms": None, "known_as": seen.node if known else None}
    return rows


def _links(picture: Picture, places: set[tuple[str, str]]) -> dict[str, Row]:
    ends = dict.fromkeys(places, "data")
    for seen in picture.in_order():
        ends |= {(seen.node, server.name): "register" for server in picture.servers.values()
                 if (server.brokers or {}).get(seen.name, {}).get(seen.broker_id) == seen.address}
        if seen.broker_id != MASTER and seen.name in picture.masters():
            ends[seen.node, seen.name] = "replica"
    return {f"{a}~{b}": {"a": a, "b": b, "kind": kind, "connections": 1, "logs": 0, "there_cut": None,
                         "there_ms": None, "back_cut": None, "back_ms": None, "heard_ms": None}
            for (a, b), kind in sorted(ends.items())}
