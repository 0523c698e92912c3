"""All nodes, and the name servers' records of brokers (channel `topology/<slug>`, product page Topology)."""

from typing import TYPE_CHECKING

from sandbox.broker.config import BrokerConfig
from sandbox.cluster import console
from sandbox.cluster.actors.actors import Actor
from sandbox.cluster.actors.consumer_actor import ConsumerActor
from sandbox.cluster.actors.sending import producer_group
from sandbox.cluster.broker_node import BrokerNode
from sandbox.cluster.cluster import Cluster
from sandbox.cluster.nodes import NameServerNode
from sandbox.namesrv.config import NameServerConfig
from sandbox.queries.rows.groups import GroupView
from sandbox.queries.rows.topology import (
    BrokerOfTopology,
    ClientMember,
    ClientNode,
    ClientRounds,
    Lives,
    ServerNode,
    Topology,
    View,
)
from sandbox.queries.snapshot.topology_links import Talk, link_rows
from sandbox.queries.snapshot.whole_sandbox import damaged_tables

if TYPE_CHECKING:
    from sandbox.client.instance import ClientInstance


def read_topology(cluster: Cluster) -> Topology:
    talk = Talk(cluster)
    return {
        "lives": _lives(cluster),
        "name_servers": {node.name: _name_server(node) for node in cluster.nodes.name_servers},
        "brokers": {node.node: _broker(cluster, node) for node in _in_order(cluster)},
        "clients": _clients(cluster) | _external(cluster, talk),
        "views": _views(cluster),
        "links": link_rows(cluster, talk),
    }


def _lives(cluster: Cluster) -> Lives:
    """Return the expiry of a silent broker, the period of the scan for it, and the period of registrations, in ms."""
    running = (node.name_server.config for node in cluster.nodes.name_servers if node.name_server is not None)
    config = next(running, None) or NameServerConfig(address="")
    return {
        "expiry_ms": config.broker_expired_ms,
        "scan_ms": config.scan_period_ms,
        "register_ms": BrokerConfig.register_period_ms,
    }


def _in_order(cluster: Cluster) -> list[BrokerNode]:
    """Return the brokers, each master followed by its slaves."""
    return sorted(cluster.nodes.brokers, key=lambda node: (node.name, node.record.broker_id))


def _name_server(node: NameServerNode) -> ServerNode:
    server = node.name_server
    return {
        "state": node.state,
        "address": node.record.address,
        "next_scan_ms": None if server is None else server.next_scan_ms,
        "topics": None if server is None else len(server.route_info.topic_queues),
    }


def _broker(cluster: Cluster, node: BrokerNode) -> BrokerOfTopology:
    """Return one broker's row; fields of a running process are None while it does not run."""
    row: BrokerOfTopology = {
        "broker": node.name,
        "broker_id": node.record.broker_id,
        "role": "master" if node.is_master else "slave",
        "state": node.state,
        "address": node.record.address,
        "flush": cluster.preset.flush,
        "replication": node.replication,
        "skew_ms": node.clock.skew_ms,
        "disk": None,
        "used_percent": None,
        "min": None,
        "max": None,
        "flushed": None,
        "replicated": None,
        "locks": None,
        "behind": None,
        "replica": None,
    }
    if node.state == "damaged":
        row["damaged"] = damaged_tables(node)
    if node.broker is None:
        return row
    store, locks = node.broker.store, node.broker.locks
    held = sum(locks.holder(group, mq) is not None for group, table in locks.table.items() for mq in table)
    replicated = store.replicated_offset if node.is_master else None
    row |= {
        "disk": store.disk_state,
        "used_percent": round(store.cleaning.used_ratio() * 100),
        "min": str(store.min_physical_offset),
        "max": str(store.max_physical_offset),
        "flushed": str(store.flushed_offset),
        "replicated": None if replicated is None else str(replicated),
        "locks": held,
    }
    row["replica"], row["behind"] = _replica(cluster, node)
    return row


def _replica(cluster: Cluster, node: BrokerNode) -> tuple[str | None, str | None]:
    """Return a slave's replication state and the bytes by which it is behind.

    Both come from its master, because only the master counts acknowledged bytes.  None: it is a master, or no master
    runs.
    """
    if node.is_master:
        return None, None
    master = next((other for other in cluster.nodes.masters() if other.name == node.name), None)
    if master is None:
        return None, None
    link = next((link for link in master.running.store.ha.slaves() if link.slave_id == node.record.broker_id), None)
    return ("lost", None) if link is None else (link.state, str(link.behind_bytes))


def _views(cluster: Cluster) -> dict[str, View]:
    """Return the name servers' records by `<name server>~<broker node>`; brokers are matched by address.

    After a promotion, a name server has a broker under its former name until it registers again.
    """
    rows: dict[str, View] = {}
    for server in cluster.nodes.name_servers:
        if server.name_server is None:
            continue
        live = server.name_server.route_info.live
        for node in _in_order(cluster):
            known = live.get(node.record.address)
            name = None if known is None else known.broker + (f".{known.broker_id}" if known.broker_id else "")
            rows[f"{server.name}~{node.node}"] = {
                "last_update_ms": None if known is None else known.last_update_ms,
                "known_as": name,
            }
    return rows


def _clients(cluster: Cluster) -> dict[str, ClientNode]:
    """Return the rows by process; actors that share a process are members of its row."""
    actors = cluster.actors.by_label
    members: dict[str, list[ClientMember]] = {}
    for label, actor in sorted(actors.items()):
        members.setdefault(cluster.node_names.node("actor", label), []).append(_member(actor))
    rows = {home: _client(cluster, actors[home], inside) for home, inside in members.items()}
    producer = cluster.console.producer
    if producer is not None and producer.state in ("starting", "running", "hung", "stopping"):
        rows[console.LABEL] = {
            "kind": "producer",
            "state": producer.state,
            "client_id": producer.instance.client_id,
            "colour": None,
            "members": [{"label": console.LABEL, "kind": "producer", "group": producer.group, "state": producer.state}],
            **_rounds(cluster, producer.instance),
        }
    return rows


def _client(cluster: Cluster, actor: Actor, members: list[ClientMember]) -> ClientNode:
    return {
        "kind": actor.kind,
        "state": actor.state,
        "client_id": actor.client_id or None,
        "colour": getattr(actor, "colour", None),
        "members": members,
        **_rounds(cluster, actor.instance if actor.lives else None),
    }


def _member(actor: Actor) -> ClientMember:
    group = actor.group if isinstance(actor, ConsumerActor) else producer_group(actor.label)
    return {"label": actor.label, "kind": actor.kind, "group": group, "state": actor.state}


def _rounds(cluster: Cluster, instance: "ClientInstance | None") -> ClientRounds:
    """Return the name server of the process, and its route requests and heartbeats: rounds so far and next time."""
    rows = {} if instance is None else instance.timer_rows()
    chosen = None if instance is None else instance.name_servers.chosen
    route, heartbeat = rows.get("route"), rows.get("heartbeat")
    return {
        "name_server": None if chosen is None else cluster.nodes.name_at(chosen),
        "route_runs": route and route.runs,
        "route_due_ms": route and route.due_ms,
        "heartbeat_runs": heartbeat and heartbeat.runs,
        "heartbeat_due_ms": heartbeat and heartbeat.due_ms,
    }


def _external(cluster: Cluster, talk: Talk) -> dict[str, ClientNode]:
    """Return the external clients in the brokers' tables.  `members`: connections that share one client id."""
    twins = _twins(cluster)
    return {
        name: {
            "kind": "wire",
            "state": "running",
            "client_id": name,
            "colour": None,
            "name_server": None,
            "members": twins.get(name, []),
            "route_runs": None,
            "route_due_ms": None,
            "heartbeat_runs": None,
            "heartbeat_due_ms": None,
        }
        for name in talk.external
    }


def _twins(cluster: Cluster) -> dict[str, list[ClientMember]]:
    """Return, by client id, the connections of each consumer id that several connections share, by their addresses."""
    twins: dict[str, list[ClientMember]] = {}
    names = {
        name
        for node in cluster.nodes.masters()
        for name, group in node.running.consumers.groups.items()
        if len(group.channels) > len(group.members)
    }
    for name in sorted(names):
        view = GroupView(cluster, name)
        for client_id in view.shared_ids():
            twins.setdefault(client_id, []).extend(
                {"label": info.channel.remote, "kind": "consumer", "group": name, "state": "running"}
                for info in view.at_one_broker()[client_id]
            )
    return twins
