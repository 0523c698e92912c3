"""One client process: start and stop, timers, requests, queues (channel `client/<slug>/<id>`).

The channel names it by client id or by an actor's label.  For a dead process the value has the facts of the journal;
None: unknown.
"""

from typing import NamedTuple

from sandbox.broker.consumers import MemberInfo
from sandbox.broker.producers import ProducerInfo
from sandbox.client.instance import ClientInstance
from sandbox.client.producer import Producer
from sandbox.client.push_consumer import PushConsumer
from sandbox.cluster import console
from sandbox.cluster.actors.actors import Actor
from sandbox.cluster.actors.consumer_actor import ConsumerActor, GroupMember
from sandbox.cluster.actors.sending import producer_group
from sandbox.cluster.cluster import Cluster
from sandbox.queries.client_lives import ClientLife
from sandbox.queries.rows.clients import Client, ClientIdentity, ClientSettings, PendingRequest, TimerLine
from sandbox.queries.rows.groups import GroupView
from sandbox.queries.snapshot.client_queues import queue_rows, subscription_rows
from sandbox.queries.snapshot.client_sends import producer_row
from sandbox.queries.snapshot.client_waits import waits, waits_of_producer
from sandbox.queries.snapshot.code_names import request_name
from sandbox.queries.snapshot.offset_files import member_offsets
from sandbox.queries.snapshot_cache import cache_of

PENDING_SHOWN = 50
FETCH_NAME_SERVERS_MS = (10_000, 120_000)  # first and period; only without a configured address
RESPONSE_SCAN_MS = (3_000, 1_000)  # of Java's response table; here each request has a timer of its own


class Found(NamedTuple):
    """The client of a page.  `actor` is None for the console, a wire client, and a process whose actor is gone."""

    client_id: str
    label: str | None
    kind: str  # consumer, producer, wire, former
    state: str
    actor: Actor | None = None
    instance: ClientInstance | None = None  # only while the process lives
    consumer: GroupMember | None = None
    producer: Producer | None = None
    info: MemberInfo | None = None
    group: str | None = None


def read_client(cluster: Cluster, client_name: str) -> Client | None:
    """Return the client with this id or label; None if it never existed here."""
    client = _find(cluster, client_name)
    if client is None:
        return None
    life = cache_of(cluster).lives.get(client.client_id)
    view = GroupView(cluster, client.group) if client.group is not None and client.kind != "producer" else None
    row, member = client.client_id, client.info
    if view is not None and isinstance(client.actor, ConsumerActor):
        row, member = view.row_of(client.actor), view.connection_of(client.actor)
    elif view is not None and member is None:
        member = view.registered().get(client.client_id)
    info = member if view is not None else _sender(cluster, client)
    names = _names(cluster)
    pending, more = _pending(client.instance, names)
    return {
        "client": {
            **_identity(cluster, client, life, info),
            **_settings(client, info, names),
            "connections": _connections(client, names),
            "expires_at_ms": view.expires_at_ms(row, member) if view is not None else None,
        },
        "steps": {} if life is None else {f"{row['group']}/{row['phase']}/{row['step']}": row for row in life.steps},
        "states": [] if life is None else list(life.states),
        "marks": {} if life is None else {row["seq"]: row for row in life.marks},
        "unfinished": {} if life is None or client.instance is not None else life.unfinished,
        "waits": waits_of_producer(client.producer)
        if client.producer is not None and client.instance is not None
        else waits(cluster, view, client.consumer),
        "timers": _timers(client),
        "pending": pending,
        "pending_more": more,
        "queues": queue_rows(view, client.consumer, client.client_id),
        "offsets": None
        if client.consumer is None
        else member_offsets(client.consumer.offset_store, list(client.consumer.process_queues)),
        "subscriptions": subscription_rows(view, client.consumer, client.client_id),
        "producer": producer_row(cluster, client.actor, client.producer),
    }


def _find(cluster: Cluster, client_name: str) -> Found | None:
    actor = cluster.actors.find(client_name)
    if actor is not None:
        return _of_actor(actor)
    producer = cluster.console.producer
    if producer is not None and client_name in (console.LABEL, producer.instance.client_id):
        alive = producer.state in ("starting", "running", "hung", "stopping")
        return Found(
            producer.instance.client_id,
            console.LABEL,
            "producer",
            producer.state,
            None,
            producer.instance if alive else None,
            None,
            producer,
            None,
            producer.group,
        )
    # One of several connections with an id goes by `<client id> <address>`.
    names = [client_name, client_name.rpartition(" ")[0]]
    return next(
        (
            client
            for name in names
            if name
            if (client := _on_the_wire(cluster, name) or _former(cluster, name)) is not None
        ),
        None,
    )


def _of_actor(actor: Actor) -> Found:
    instance = actor.instance if actor.lives else None
    if isinstance(actor, ConsumerActor):
        consumer = actor.consumer if actor.lives else None
        return Found(
            actor.client_id, actor.label, "consumer", actor.state, actor, instance, consumer, None, None, actor.group
        )
    return Found(
        actor.client_id,
        actor.label,
        "producer",
        actor.state,
        actor,
        instance,
        None,
        actor.producer,
        None,
        producer_group(actor.label),
    )


def _on_the_wire(cluster: Cluster, client_id: str) -> Found | None:
    """Return an external client from the brokers' tables, or None."""
    for node in cluster.nodes.masters():
        for group in node.running.consumers.groups.values():
            info = group.members.get(client_id)
            if info is not None and cache_of(cluster).lives.get(client_id) is None:
                return Found(client_id, None, "wire", "running", info=info, group=group.name)
    return None


def _former(cluster: Cluster, client_id: str) -> Found | None:
    """Return an earlier process from the journal's facts, or None; its actor may have another process now."""
    life = cache_of(cluster).lives.get(client_id)
    if life is None:
        return None
    state = life.states[-1]["state"] if life.states else "unknown"
    label = cluster.actors.label_of(client_id)
    group = life.group
    if label is None:
        producers = cluster.actors.producers()
        label = next((actor.label for actor in producers if producer_group(actor.label) == group), None)
    return Found(client_id, label, "former", state, group=group)


def _identity(
    cluster: Cluster, client: Found, life: ClientLife | None, info: MemberInfo | ProducerInfo | None
) -> ClientIdentity:
    now_actor = cluster.actors.by_label.get(client.label) if client.label is not None else None
    entered = [row["at_ms"] for row in life.states if row["state"] == client.state] if life is not None else []
    # the journal's states are those of all processes with the client id, and none is older than the last restart
    since = getattr(client.actor, "state_since_ms", None) or (entered[-1] if entered else None)
    return {
        "client_id": client.client_id or None,
        "actor": client.label,
        "kind": client.kind,
        "state": client.state,
        "state_since_ms": since,
        "began_ms": life.began_ms if life is not None else None,
        "lives": client.instance is not None or client.kind == "wire",
        "now_client_id": now_actor.client_id if client.kind == "former" and now_actor is not None else None,
        "reason": getattr(client.actor, "refused", "") or None,
        "group": client.group,
        "colour": getattr(client.actor, "colour", None),
        "transport": "tcp" if client.kind == "wire" else "loopback",
        "language": None if info is None else info.language,
        "version": None if info is None else info.version,
        "heard_ms": None if info is None else info.last_update_ms,
        "since_ms": getattr(client.actor, "since_ms", 0) or getattr(info, "since_ms", None),
    }


def _settings(client: Found, info: MemberInfo | ProducerInfo | None, names: dict[str, str]) -> ClientSettings:
    """Return the settings of the process while it runs, else those of the actor's next process."""
    instance = client.instance
    chosen = instance.name_servers.chosen if instance is not None else None
    row: ClientSettings = {
        "name_server": None if chosen is None else names.get(chosen, chosen),
        "hosts": [] if instance is None else [*instance.consumers, *instance.producers],
        "address": info.channel.remote if info is not None and client.kind == "wire" else None,
    }
    if isinstance(client.actor, ConsumerActor):
        settings = client.actor.settings
        row |= {
            "pulls": settings.kind,
            "model": settings.model,
            "listener": settings.listener,
            "from_where": settings.from_where,
            "strategy": settings.strategy,
            "threads": client.actor.threads,
            "batch": settings.batch,
            "offset_store": settings.offset_store,
        }
    if client.consumer is not None:
        row["strategy"] = client.consumer.strategy.name
        row["busy"] = getattr(client.actor, "busy", None)
    return row


def _names(cluster: Cluster) -> dict[str, str]:
    """Return the names of servers by address."""
    nodes = cluster.nodes
    return {
        **{node.record.address: node.name for node in nodes.name_servers},
        **{node.record.address: node.node for node in nodes.brokers},
    }


def _sender(cluster: Cluster, client: Found) -> ProducerInfo | None:
    """Return a broker's record of the producer's connection; of several, the one with the last heartbeat."""
    known = [
        info
        for node in cluster.nodes.masters()
        for info in node.running.producers.groups.get(client.group or "", {}).values()
        if info.client_id == client.client_id
    ]
    return max(known, key=lambda info: info.last_update_ms, default=None)


def _connections(client: Found, names: dict[str, str]) -> list[str]:
    addresses = [] if client.instance is None else client.instance.connections.addresses
    return [names.get(address, address) for address in addresses]


def _timers(client: Found) -> dict[str, TimerLine]:
    """Return the timer table (spec client-behaviour 2.2).  `how`: runs, empty, off, each (a timer per request)."""
    if client.instance is None:
        return {}
    own = client.consumer.timer_rows() if isinstance(client.consumer, PushConsumer) else client.instance.timer_rows()
    rows: dict[str, TimerLine] = {
        name: {
            "due_ms": row.due_ms,
            "first_ms": row.first_ms,
            "period_ms": row.period_ms,
            "runs": row.runs,
            "how": "empty" if name == "adjust pool" else "runs",
        }
        for name, row in own.items()
    }
    for name, (first_ms, period_ms), how in (
        ("fetch name servers", FETCH_NAME_SERVERS_MS, "off"),
        ("response scan", RESPONSE_SCAN_MS, "each"),
    ):
        rows[name] = {"due_ms": None, "first_ms": first_ms, "period_ms": period_ms, "runs": None, "how": how}
    return rows


def _pending(instance: ClientInstance | None, names: dict[str, str]) -> tuple[dict[str, PendingRequest], int]:
    """Return the oldest requests without a response, and the number of further ones."""
    if instance is None:
        return {}, 0
    waiting = instance.connections.pending
    rows: dict[str, PendingRequest] = {
        str(request.opaque): {
            "code": int(request.code),
            "name": request_name(request.code),
            "address": request.address,
            "to": names.get(request.address, request.address),
            "since_ms": request.since_ms,
            "timeout_ms": request.timeout_ms,
            "until_ms": request.since_ms + request.timeout_ms,
        }
        for request in waiting[:PENDING_SHOWN]
    }
    return rows, max(0, len(waiting) - PENDING_SHOWN)
