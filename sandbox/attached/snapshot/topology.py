"""Nodes and clients, and the nodes that reported them (channel `topology/k.<name>`).

A name server reports its live brokers without the time of their last heartbeat.  Faults of links, and the times of
clients' heartbeats, are not reported.  Expiry times are RocketMQ's defaults.
"""

from collections.abc import Sequence

from sandbox.attached.picture import MASTER, BrokerSeen, Picture, is_built_in
from sandbox.attached.snapshot.brokers import broker_row
from sandbox.attached.snapshot.queues import text
from sandbox.broker.config import BrokerConfig
from sandbox.namesrv.config import NameServerConfig
from sandbox.queries.rows.topology import BrokerOfTopology, ClientMember, ClientNode, Link, Topology, View
from sandbox.remoting.bodies import Connection


def read_topology(picture: Picture) -> Topology:
    config = NameServerConfig(address="")
    clients, places = _clients(picture)
    return {
        "lives": {
            "expiry_ms": config.broker_expired_ms,
            "scan_ms": config.scan_period_ms,
            "register_ms": BrokerConfig.register_period_ms,
            "assumed": True,
        },
        "name_servers": {
            server.name: {"state": server.state, "address": server.address, "next_scan_ms": None, "topics": None}
            for server in picture.servers.values()
        },
        "brokers": {broker.node: _broker(broker) for broker in picture.in_order()},
        "clients": clients,
        "views": _views(picture),
        "links": _links(picture, places),
    }


def _broker(broker: BrokerSeen) -> BrokerOfTopology:
    row = broker_row(broker)
    return {
        "broker": row["broker"],
        "broker_id": row["broker_id"],
        "role": row["role"],
        "state": row["state"],
        "address": row["address"],
        "flush": None,
        "replication": None,
        "skew_ms": None,
        "disk": row["disk"],
        "used_percent": row["used_percent"],
        "min": text(broker.runtime.log_min_offset),
        "max": text(broker.runtime.log_max_offset),
        "flushed": None,
        "replicated": None,
        "locks": None,
        "behind": None,
        "replica": None,
        "answered_ms": row["answered_ms"],
        "version": row["version"],
        "in_per_s": row["in_per_s"],
        "out_per_s": row["out_per_s"],
        "trouble": row["trouble"],
    }


def _clients(picture: Picture) -> tuple[dict[str, ClientNode], dict[tuple[str, str], int]]:
    """Return the client rows by client id, and the number of connections by client id and broker."""
    rows: dict[str, ClientNode] = {}
    places: dict[tuple[str, str], int] = {}

    def note(client_id: str, kind: str, group: str, broker: str, connections: Sequence[Connection] = ()) -> None:
        row = rows.setdefault(
            client_id,
            {
                "kind": "wire",
                "state": "running",
                "client_id": client_id,
                "colour": None,
                "members": [],
                "name_server": None,
                "route_runs": None,
                "route_due_ms": None,
                "heartbeat_runs": None,
                "heartbeat_due_ms": None,
            },
        )
        named = [connection.client_address for connection in connections] if len(connections) > 1 else [client_id]
        mine: list[ClientMember] = [
            {"label": label, "kind": kind, "group": group, "state": "running"} for label in named
        ]
        before = [member for member in row["members"] if (member["kind"], member["group"]) == (kind, group)]
        if len(mine) > len(before):  # of several brokers the one that has most of it
            row["members"] = [member for member in row["members"] if member not in before] + mine
        places[client_id, broker] = max(places.get((client_id, broker), 0), len(mine))

    for broker, groups in sorted(picture.members.items()):
        for group, table in sorted(groups.items()):
            by_client: dict[str, list[Connection]] = {}
            for connection in table.connections:
                by_client.setdefault(connection.client_id, []).append(connection)
            for client_id, connections in by_client.items():
                note(client_id, "consumer", group, broker, connections)
    for broker, tables in sorted(picture.producers.items()):
        for group, producers in sorted(tables.items()):
            for client_id in producers if not is_built_in(group) else ():
                note(client_id, "producer", group, broker)
    return dict(sorted(rows.items())), places


def _views(picture: Picture) -> dict[str, View]:
    """Return each name server's view of each broker.  A name server that does not answer has no row."""
    rows: dict[str, View] = {}
    for server in picture.servers.values():
        for broker in picture.in_order() if server.brokers is not None else ():
            known = (
                server.brokers is not None
                and server.brokers.get(broker.name, {}).get(broker.broker_id) == broker.address
            )
            rows[f"{server.name}~{broker.node}"] = {"last_update_ms": None, "known_as": broker.node if known else None}
    return rows


def _links(picture: Picture, places: dict[tuple[str, str], int]) -> dict[str, Link]:
    ends = dict.fromkeys(places, "data")
    for broker in picture.in_order():
        ends |= {
            (broker.node, server.name): "register"
            for server in picture.servers.values()
            if (server.brokers or {}).get(broker.name, {}).get(broker.broker_id) == broker.address
        }
        if broker.broker_id != MASTER and broker.name in picture.masters():
            ends[broker.node, broker.name] = "replica"
    return {
        f"{a}~{b}": {
            "a": a,
            "b": b,
            "kind": kind,
            "connections": places.get((a, b), 1),
            "logs": 0,
            "there_cut": None,
            "there_ms": None,
            "back_cut": None,
            "back_ms": None,
            "heard_ms": None,
        }
        for (a, b), kind in sorted(ends.items())
    }
