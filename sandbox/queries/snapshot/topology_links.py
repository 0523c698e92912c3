"""Connections between nodes in the network, and the changes that actions made to links."""

from typing import NamedTuple

from sandbox.broker.broker import Broker
from sandbox.broker.consumers import MemberInfo
from sandbox.broker.producers import ProducerInfo
from sandbox.cluster.cluster import Cluster
from sandbox.cluster.wire_connections import WireConnection
from sandbox.queries.rows.topology import Link, LinkState

Ends = tuple[str, str]  # client, server


class Open(NamedTuple):
    """One open connection."""

    ends: Ends
    is_log: bool  # carries the log to a slave


class Talk:
    """The open connections between nodes in this turn.  An external client is named by its id, else by its address."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._names: dict[str, str | None] = {}
        self._ids: dict[str, str] | None = None
        self.external: dict[str, None] = {}
        logs = {node.ha_address for node in cluster.nodes.brokers}
        self.open = [
            Open((self.name(client), self.name(server)), server in logs)
            for client, server in cluster.network.connections()
        ]
        self.open += [
            Open((self._external(connection), self.name(connection.port)), False)
            for connection in cluster.listeners.connections.open.values()
        ]

    def name(self, address: str) -> str:
        if address not in self._names:
            self._names[address] = self._cluster.node_names.name_of(address)
        known = self._names[address]
        if known is not None:
            return known
        name = self._client_ids().get(address) or address.rpartition(":")[0]
        self.external[name] = None
        return name

    def _external(self, connection: WireConnection) -> str:
        self.external[connection.name] = None
        return connection.name

    def _client_ids(self) -> dict[str, str]:
        """Return the client ids by remote address, for connections whose client has sent a heartbeat."""
        if self._ids is None:
            self._ids = {
                known.channel.remote: known.client_id
                for node in self._cluster.nodes.brokers
                if node.broker is not None
                for known in node.broker.connections
                if known.client_id
            }
        return self._ids


def link_rows(cluster: Cluster, talk: Talk) -> dict[str, Link]:
    """Return by `a~b` every link that has an open connection, or that an action has changed."""
    rows: dict[Ends, LinkState] = {}
    for open_link in talk.open:
        row = rows.setdefault(open_link.ends, _row(cluster, open_link.ends))
        row["connections"] += 1
        row["logs"] += open_link.is_log
    for fault in cluster.links.rows():
        ends = _oriented(cluster, fault["a"], fault["b"])
        if ends not in rows:
            ends = ends[::-1] if ends[::-1] in rows else ends
            rows.setdefault(ends, _row(cluster, ends))
    heard = _heard(cluster, talk)
    return {f"{a}~{b}": {**rows[a, b], "heard_ms": heard.get((a, b))} for a, b in sorted(rows)}


def _row(cluster: Cluster, ends: Ends) -> LinkState:
    a, b = ends
    forward, back = cluster.links.state(a, b), cluster.links.state(b, a)
    return {
        "a": a,
        "b": b,
        "kind": _kind(cluster, ends),
        "connections": 0,
        "logs": 0,
        "there_cut": forward.cut,
        "there_ms": forward.delay_ms,
        "back_cut": back.cut,
        "back_ms": back.delay_ms,
    }


def _kind(cluster: Cluster, ends: Ends) -> str:
    calls, serves = (cluster.nodes.find(name) is not None for name in ends)
    if serves:
        return "replica" if calls else "data"
    return "register" if calls else "route"


def _oriented(cluster: Cluster, a: str, b: str) -> Ends:
    """Return the two nodes in the direction of a connection.

    Clients call brokers, both call name servers, slaves call their master.
    """

    def rank(name: str) -> tuple[int, int]:
        node = cluster.nodes.find(name)
        if node is not None:
            return 1, node.record.broker_id
        return (0, 0) if name in cluster.nodes.names() else (2, 0)

    return (a, b) if rank(a) > rank(b) else (b, a)


def _heard(cluster: Cluster, talk: Talk) -> dict[Ends, int]:
    """Return the time of the newest heartbeat of each client at each broker, by the sandbox's clock."""
    last_ms: dict[Ends, int] = {}
    for node in cluster.nodes.brokers:
        if node.broker is None:
            continue
        for address, at_ms in _beats(node.broker):
            ends = talk.name(address), node.node
            last_ms[ends] = max(last_ms.get(ends, 0), at_ms - node.clock.skew_ms)
    return last_ms


def _beats(broker: Broker) -> list[tuple[str, int]]:
    infos: list[MemberInfo | ProducerInfo] = [
        info for group in broker.consumers.groups.values() for info in group.channels.values()
    ]
    infos += [info for channels in broker.producers.groups.values() for info in channels.values()]
    return [(info.channel.remote, info.last_update_ms) for info in infos]
