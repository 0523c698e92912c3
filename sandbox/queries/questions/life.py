"""The life of a message: the positions of its copies, and the progress of each group on it."""

from typing import Any

from sandbox.cluster.actors.consumer_actor import ConsumerActor
from sandbox.cluster.cluster import Cluster
from sandbox.message.filter import TAG
from sandbox.message.message import StoredMessage
from sandbox.message.queue import MessageQueue
from sandbox.message.string_hash import tags_code
from sandbox.message.topic_names import TRANSACTION_GROUP
from sandbox.queries.questions.chain import chain_of, origin_topic
from sandbox.queries.questions.message_deliveries import Heard, heard_of
from sandbox.queries.rows.groups import GroupView
from sandbox.remoting.bodies import SubscriptionData

Row = dict[str, Any]

GROUPS = 16  # groups in one answer


def life_of(cluster: Cluster, broker: str, message: StoredMessage) -> Row:
    """Return the copies of a message and the progress of each group on it.

    {"chain": [step], "linked", "groups": [group], "known_from_ms", "known_from_seq", "complete", "skipped"}.

    A step is a row of `chain.chain_of` and {"seq": of its MessagesStored, as text; None: no longer in memory}.
    `linked`: the message has a unique key, so its copies could be found.

    A group is {"group", "model", "expression", "subscribed", "state", "given", "places", "deliveries", "pulls"}:
    `subscribed`: its subscription matches this message (None: unknown, or an SQL92 condition);
    `given`: one of its in-process listeners received the message (None: unknown);
    `places`: for each record the group reads {"step" (index into the chain), "member" (client id, broadcasting only),
      "state", "committed", "in_memory", "next_pull" (text or None), "owner" (client id), "since_ms"};
    `state` of a place: committed (the committed offset is past it), finished (past it in the member's memory only),
      finished_ahead (done, an older one is not), processing, buffered, pulled (by a client that reports no more),
      passed_over (skipped by a pull: its tag does not match), waiting (not pulled yet), no_offset (the
      group has no offset in this queue yet), unknown;
    `state` of the group: dead_letter, delayed (waits for a retry), else the state of its newest place;
    `deliveries` oldest first: {"seq", "step", "client_id", "actor" (label or None), "started_ms", "ended_ms",
      "outcome" (as in MessagesConsumed; None: still working), "reconsume_times", "thread", "handler",
      "batch" (messages of that call), "once" (an administrator requested it: then the outcome is RocketMQ's
      result, CR_SUCCESS, …, or a response code's name)};
    `pulls`: {"seq", "step", "client_id", "actor", "at_ms", "what": pulled | filtered (dropped by text at the client)}.

    Both lists have what the journal's memory holds: `known_from_ms` and `known_from_seq` are its begin, `complete` is
    True if it contains the store of the message, `skipped` if details were left out of the journal.  For an attached
    cluster they are unknown: both lists and `given` are None and `complete` is False.  `chain` and `groups` are None
    if nothing is known.
    """
    chain = chain_of(cluster, broker, message)
    places: dict[tuple[str, str, int], dict[int, int]] = {}
    for number, step in enumerate(chain):
        places.setdefault((step["topic"], step["broker"], step["queue_id"]), {})[int(step["queue_offset"])] = number
    heard = heard_of(cluster, places)
    for number, step in enumerate(chain):
        step["seq"] = heard.stored.get(number)
    topic = origin_topic(message)
    first_ms = min(step["store_ms"] for step in chain)
    names = _groups(cluster, topic, chain, heard)
    return {
        "chain": chain,
        "linked": message.properties.get("UNIQ_KEY") is not None,
        "groups": [_group(cluster, name, topic, message, chain, heard) for name in names],
        "known_from_ms": heard.from_ms,
        "known_from_seq": str(heard.from_seq),
        "complete": heard.from_seq == 0 or (heard.from_ms is not None and heard.from_ms <= first_ms),
        "skipped": heard.skipped,
    }


def _groups(cluster: Cluster, topic: str, chain: list[Row], heard: Heard) -> list[str]:
    """Return the groups that read or have read the topic, that own a copy, or that pulled a copy."""
    groups = {step["group"] for step in chain if step["group"]} | heard.pulls.keys() | heard.deliveries.keys()
    for node in cluster.nodes.masters():
        groups |= set(node.running.consumer_offsets.groups_of(topic))
        groups |= {name for name, group in node.running.consumers.groups.items() if topic in group.subscriptions}
    groups |= {
        actor.group
        for actor in cluster.actors.consumers()
        if any(sub.topic == topic for sub in actor.settings.subscriptions)
    }
    return sorted(groups - {TRANSACTION_GROUP})[:GROUPS]


def _group(cluster: Cluster, name: str, topic: str, message: StoredMessage, chain: list[Row], heard: Heard) -> Row:
    view = GroupView(cluster, name)
    subscription = _subscription(view, topic)
    own = [number for number, step in enumerate(chain) if _reads(name, topic, step)]
    places = [position for number in own for position in _places(view, number, chain[number])]
    deliveries = [
        *heard.deliveries.get(name, ()),
        *(row for position in places for row in _working(view, position, chain)),
    ]
    return {
        "group": name,
        "model": view.model,
        "expression": None if subscription is None else subscription.sub_string,
        "subscribed": None if subscription is None else _wants(subscription, message),
        "state": _state_of(name, chain, places),
        "given": _given(cluster, view, chain, own),
        "places": places,
        "deliveries": sorted(deliveries, key=lambda row: (row["started_ms"], row["ended_ms"] is None)),
        "pulls": heard.pulls.get(name, []),
    }


def _reads(group: str, topic: str, step: Row) -> bool:
    if step["what"] == "retry":
        return bool(step["group"] == group)
    return bool(step["what"] == "stored" and step["topic"] == topic)


def _subscription(view: GroupView, topic: str) -> SubscriptionData | None:
    for broker in view.masters.values():
        group = broker.consumers.groups.get(view.group)
        if group is not None and topic in group.subscriptions:
            return group.subscriptions[topic]
    return None


def _wants(subscription: SubscriptionData, message: StoredMessage) -> bool | None:
    """Return True if the subscription matches the message: by tag hash at the broker, then by text at the client.

    None: an SQL92 condition, which is not evaluated here (spec broker-behaviour 3.3).
    """
    if subscription.expression_type not in (TAG, "", None):
        return None
    tag = message.properties.get("TAGS", "")
    return not subscription.codes or (tags_code(tag) in subscription.codes and tag in subscription.tags)


def _state_of(name: str, chain: list[Row], places: list[Row]) -> str:
    own = [step for step in chain if step["group"] == name]
    if any(step["what"] == "dead_letter" for step in own):
        return "dead_letter"
    if own and own[-1]["what"] == "delayed" and not own[-1]["delivered"]:
        return "delayed"
    return str(places[-1]["state"]) if places else "unknown"


def _places(view: GroupView, number: int, step: Row) -> list[Row]:
    """Return a group's progress on one record: one row; in broadcasting, one for each member with the queue."""
    mq, offset = MessageQueue(step["topic"], step["broker"], step["queue_id"]), int(step["queue_offset"])
    broker = view.masters.get(mq.broker)
    if view.model == "BROADCASTING" and step["what"] == "stored":
        return [
            _place(number, key, actor, mq, offset, actor.consumer.offset_store.read_memory(mq), None)
            for key, actor in view.by_row.items()
            if actor.consumer is not None and actor.lives and mq in actor.consumer.process_queues
        ]
    if broker is None:
        return [_row(number, None, "unknown")]
    holder = view.holder(mq)
    pull = broker.pulls.get(view.group, mq)
    row = _place(
        number,
        None,
        None if holder is None else holder[0],
        mq,
        offset,
        view.committed(mq),
        None if pull is None else pull.next_offset,
    )
    return [{**row, "owner": view.owner(mq)}]


def _place(
    number: int,
    member: str | None,
    actor: ConsumerActor | None,
    mq: MessageQueue,
    offset: int,
    committed: int | None,
    pulled_to: int | None,
) -> Row:
    in_memory, mark, since_ms = None, None, None
    held = actor is not None and actor.consumer is not None
    if actor is not None and actor.consumer is not None:
        pq = actor.consumer.process_queues[mq]
        in_memory, pulled_to = actor.consumer.offset_store.read_memory(mq), pq.next_offset
        mark, since_ms = pq.mark_of(offset), pq.started_ms(offset)
    state = _state(offset, committed, in_memory, pulled_to, mark, held=held)
    return _row(
        number,
        member,
        state,
        committed=committed,
        in_memory=in_memory,
        next_pull=pulled_to,
        owner=member,
        since_ms=since_ms,
    )


def _state(
    offset: int, committed: int | None, in_memory: int | None, pulled_to: int | None, mark: str | None, *, held: bool
) -> str:
    if mark == "p":
        return "processing"
    if committed is not None and committed > offset:
        return "committed"
    if mark is not None:
        return "buffered" if mark == "b" else "finished_ahead"
    if in_memory is not None and in_memory > offset:
        return "finished"
    if pulled_to is not None and pulled_to > offset:
        return "passed_over" if held else "pulled"
    return "no_offset" if committed is None and pulled_to is None else "waiting"


def _row(
    number: int,
    member: str | None,
    state: str,
    *,
    committed: int | None = None,
    in_memory: int | None = None,
    next_pull: int | None = None,
    owner: str | None = None,
    since_ms: int | None = None,
) -> Row:
    return {
        "step": number,
        "member": member,
        "state": state,
        "committed": _text(committed),
        "in_memory": _text(in_memory),
        "next_pull": _text(next_pull),
        "owner": owner,
        "since_ms": since_ms,
    }


def _text(number: int | None) -> str | None:
    return None if number is None else str(number)


def _working(view: GroupView, position: Row, chain: list[Row]) -> list[Row]:
    """Return the delivery of a message that a listener is processing now, as a list of one or none."""
    if position["state"] != "processing" or position["since_ms"] is None:
        return []
    actor = view.by_row.get(position["owner"])
    return [
        {
            "seq": None,
            "step": position["step"],
            "client_id": position["owner"],
            "actor": None if actor is None else actor.label,
            "started_ms": position["since_ms"],
            "ended_ms": None,
            "outcome": None,
            "reconsume_times": chain[position["step"]]["reconsume_times"],
            "thread": None,
            "handler": None if actor is None else actor.handler,
            "batch": None,
            "once": False,
        }
    ]


def _given(cluster: Cluster, view: GroupView, chain: list[Row], own: list[int]) -> bool | None:
    """Return True if a listener of the group received one of these records; None if unknown.

    The group's statistics have every offset that a listener received; after a sleep only the newest are left.
    """
    stats = cluster.actors.group_stats.get(view.group)
    accounts = ["", *(actor.label for actor in view.actors)]
    for number in own if stats is not None else ():
        assert stats is not None
        step = chain[number]
        mq, offset = MessageQueue(step["topic"], step["broker"], step["queue_id"]), int(step["queue_offset"])
        if any(first <= offset <= last for account in accounts for first, last in stats.given(mq, account)):
            return True
    only_ours = all(client in view.by_client for client in view.registered())
    return False if stats is not None and only_ours and cluster.record.wakes == 1 else None
