"""Clients on real connections, the requests they reached, and refusals (channel `connect/<slug>`, page Connect)."""

from sandbox.cluster.cluster import Cluster
from sandbox.cluster.listeners import Port
from sandbox.cluster.wire_connections import WireConnection
from sandbox.queries.rows.connect import Connect, ConnectedClient, ConnectionRow, LimitCount, PortRow
from sandbox.queries.snapshot.code_names import release_name, request_name
from sandbox.remoting.codes import RequestCode

STATIONS: dict[str, frozenset[int]] = {
    "route": frozenset({RequestCode.GET_ROUTEINFO_BY_TOPIC}),
    "heartbeat": frozenset({RequestCode.HEART_BEAT}),
    "send": frozenset({RequestCode.SEND_MESSAGE, RequestCode.SEND_MESSAGE_V2, RequestCode.SEND_BATCH_MESSAGE}),
    "pull": frozenset({RequestCode.PULL_MESSAGE, RequestCode.LITE_PULL_MESSAGE}),
}
"""What a client does on its way, and the requests that show it."""


def read_connect(cluster: Cluster) -> Connect:
    listeners = cluster.listeners
    connections = [*listeners.connections.ended, *listeners.connections.open.values()]
    return {
        "listener": {
            "open": listeners.is_open,
            "state": _state(listeners.is_open),
            "name_servers": list(listeners.name_servers),
            "shared": listeners.shared is not None,
            "beyond": listeners.is_beyond_loopback,
            "access_key": listeners.access.keys.access_key if listeners.access.keys else None,
            "repeatable": cluster.environment.repeatable,
            "rate": cluster.clock.rate,
            "connections": listeners.guard.connections,
        },
        "ports": {address: _port(cluster, port) for address, port in listeners.ports.items()},
        "connections": {str(row.no): _connection(cluster, row) for row in connections},
        "clients": _clients(cluster),
        "refused": {
            str(number): {
                "at_ms": at_ms,
                "address": event.address,
                "reason": event.reason,
                "request_code": event.request_code,
                "request": request_name(event.request_code),
                "remark": event.remark,
            }
            for number, (at_ms, event) in enumerate(listeners.connections.refused)
        },
        "counts": _counts(cluster),
    }


def _state(is_open: bool) -> str:
    return "open" if is_open else "closed"


def _port(cluster: Cluster, port: Port) -> PortRow:
    return {
        "node": cluster.nodes.name_at(port.address),
        "state": _state(port.server is not None),
        "trouble": port.trouble,
    }


def _connection(cluster: Cluster, row: WireConnection) -> ConnectionRow:
    return {
        "no": row.no,
        "node": cluster.nodes.name_at(row.port),
        "address": row.address,
        "client_id": row.client_id,
        "opened_ms": row.opened_ms,
        "heard_ms": row.heard_ms,
        "first_code": row.first_code,
        "first": request_name(row.first_code),
        "first_ms": row.codes.get(row.first_code or 0),
        "route": _reached(row, "route"),
        "heartbeat": _reached(row, "heartbeat"),
        "send": _reached(row, "send"),
        "pull": _reached(row, "pull"),
        "denied": row.denied,
        "denial": _denial(row.denial),
        "unserved": [f"{code} {request_name(code)}" for code in row.unserved],
        "ended_ms": row.ended_ms,
        "why": row.why,
    }


def _reached(row: WireConnection, station: str) -> int | None:
    """Return the time of a connection's first request of a kind, or None without one."""
    return min((at_ms for code, at_ms in row.codes.items() if code in STATIONS[station]), default=None)


DENIALS = {"No accessKey": "unsigned", "No acl config": "unknown_key", "Check signature": "signature"}
"""What access control said, by how its sentence begins (spec remoting 5)."""


def _denial(remark: str | None) -> str | None:
    sentence = (remark or "").rpartition("AclException: ")[2]
    kinds = (kind for begin, kind in DENIALS.items() if sentence.startswith(begin))
    return next(kinds, "permission" if remark else None)


def _clients(cluster: Cluster) -> dict[str, ConnectedClient]:
    rows: dict[str, ConnectedClient] = {}
    for row in cluster.listeners.connections.open.values():
        if row.client_id is None:
            continue
        before = rows.get(row.client_id)
        rows[row.client_id] = {
            "language": row.language,
            "version": row.version,
            "release": release_name(row.version),
            "groups": _groups(cluster, row.client_id),
            "addresses": [*(before["addresses"] if before else []), row.address],
            "since_ms": min(row.opened_ms, before["since_ms"]) if before else row.opened_ms,
            "heard_ms": max(row.heard_ms, before["heard_ms"]) if before else row.heard_ms,
        }
    return dict(sorted(rows.items()))


def _groups(cluster: Cluster, client_id: str) -> list[str]:
    """Return the consumer and producer groups of a client.

    CLIENT_INNER_PRODUCER is left out: every Java client has it beside its own groups.
    """
    groups: set[str] = set()
    for node in cluster.nodes.brokers:
        if node.broker is not None:
            groups |= {name for name, group in node.broker.consumers.groups.items() if client_id in group.members}
            groups |= {
                name
                for name, channels in node.broker.producers.groups.items()
                if any(info.client_id == client_id for info in channels.values())
            }
    return sorted(name for name in groups if name != "CLIENT_INNER_PRODUCER")


def _counts(cluster: Cluster) -> dict[str, LimitCount]:
    """Return the limits and their refusals by reason, as ConnectionRefused names them."""
    guard, limits = cluster.listeners.guard, cluster.listeners.limits
    used: dict[str, tuple[int | None, int | None]] = {
        "connections": (guard.connections, limits.connections),
        "pending_requests": (None, limits.pending_requests),
        "unread": (guard.unread_bytes, limits.unread_total_bytes),
        "unfinished": (guard.unfinished_bytes, limits.unfinished_bytes),
        "frame_bytes": (None, limits.frame_bytes),
        "idle": (None, None),
        "protocol": (None, None),
        "tls": (None, None),
    }
    rows: dict[str, LimitCount] = {
        name: {"now": now, "allowed": allowed, "refused": 0} for name, (now, allowed) in used.items()
    }
    for reason, count in guard.refused.items():
        rows.setdefault(reason, {"now": None, "allowed": None, "refused": 0})["refused"] = count
    return rows
