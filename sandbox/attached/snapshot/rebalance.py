"""Queues that members should hold, beside those they report to hold (channel `rebalance/k.<name>/<group>`).

The shape is that of `queries.snapshot.rebalance`.  A member reports the queues it holds and its strategy's class.
It does not report what it received or when it rebalanced: beliefs, claims, waits, rounds and moves are empty.  `due`
is computed here, from what brokers report now.  Trouble: `twice` (two members hold the queue), `nobody` (no member
holds it, and all have reported), `lingers` (a member holds it that should not).
"""

from sandbox.attached.picture import RUNNING
from sandbox.attached.snapshot.group_reports import GroupSeen
from sandbox.attached.snapshot.queues import lock_row
from sandbox.client.config import ClientConfig
from sandbox.message.queue import MessageQueue
from sandbox.queries.rows.member_words import EXPRESSIONS, TOPICS
from sandbox.queries.rows.rebalance import HeldBy, Rebalance, RebalanceMember, RebalanceQueue
from sandbox.queries.snapshot.rebalance import member_card, subscription_of

TOPICS_SHOWN = 16


def read_rebalance(view: GroupSeen) -> Rebalance:
    picture = view.picture
    topics = {topic: picture.read_queues(topic) for topic in picture.topics_of_group(view.group)[:TOPICS_SHOWN]}
    strategies = {client_id: says.strategy for client_id, says in view.says.items() if says.strategy is not None}
    broadcasting = view.model == "BROADCASTING"
    return {
        "group": {
            "group": view.group,
            "model": view.model,
            "orderly": None if view.listener is None else view.listener == "orderly" and not broadcasting,
            "strategy": None if broadcasting else view.strategy,
            "strategies": strategies,
            "apart": _apart(view, strategies) if not broadcasting else [],
        },
        "lives": {"rebalance_ms": ClientConfig.rebalance_ms, "route_ms": ClientConfig.poll_name_server_ms},
        "brokers": {
            name: {"state": broker.state, "members": _known(view, name) if broker.state == RUNNING else None}
            for name, broker in picture.masters().items()
        },
        "topics": {
            topic: {"queues": _counted(mqs), "retry": topic.startswith("%RETRY%")} for topic, mqs in topics.items()
        },
        "members": _members(view),
        "beliefs": {},
        "queues": {mq.key: row for topic, mqs in topics.items() for mq, row in _queues(view, topic, mqs).items()},
        "waits": {},
        "rounds": {},
        "moves": {},
    }


def _apart(view: GroupSeen, strategies: dict[str, str]) -> list[str]:
    differences = ["strategy"] if len(set(strategies.values())) > 1 else []
    return differences + (["subscription"] if {TOPICS, EXPRESSIONS} & set(view.members_differ) else [])


def _known(view: GroupSeen, broker: str) -> list[str]:
    table = view.picture.members.get(broker, {}).get(view.group)
    return [] if table is None else sorted(connection.client_id for connection in table.connections)


def _counted(mqs: list[MessageQueue]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for mq in mqs:
        counts[mq.broker] = max(counts.get(mq.broker, 0), mq.queue_id + 1)
    return counts


def _members(view: GroupSeen) -> dict[str, RebalanceMember]:
    kept = {
        sub.topic: sub.sub_string for table in view.picture.connections(view.group) for sub in table.subscriptions
    }  # of a member that reports none of its own
    rows: dict[str, RebalanceMember] = {}
    ids = {key: client_id for client_id in view.members for key in view.twins(client_id)}
    for client_id, row in view.member_rows().items():
        says = view.says.get(client_id)
        rows[client_id] = {
            **member_card(row),
            "strategy": None if says is None else says.strategy,
            "subscription": subscription_of(row) or kept or None,
            "due_ms": None,
            "route_due_ms": None,
            "rounds": None,
            "known_to": [
                name for name in view.picture.masters() if ids.get(client_id, client_id) in _known(view, name)
            ],
        }
    return rows


def _queues(view: GroupSeen, topic: str, mqs: list[MessageQueue]) -> dict[MessageQueue, RebalanceQueue]:
    """Return the queues that brokers have, and those a member holds that do not exist any more."""
    broadcasting = view.model == "BROADCASTING"
    shares = dict.fromkeys(view.members, mqs) if broadcasting else view.shares(mqs)
    holders: dict[MessageQueue, dict[str, HeldBy]] = {mq: {} for mq in mqs}
    for client_id, says in view.says.items():
        for mq, mine in says.queues.items():
            if mq.topic == topic:
                holders.setdefault(mq, {})[client_id] = {"since_ms": None, "letting_go": mine.dropped}
    rows: dict[MessageQueue, RebalanceQueue] = {}
    for mq in sorted(holders):
        due = [key for client_id, share in shares.items() if mq in share for key in (client_id, *view.twins(client_id))]
        rows[mq] = {
            "topic": topic,
            "broker": mq.broker,
            "queue_id": mq.queue_id,
            "claims": {},
            "held": holders[mq],
            "due": due,
            "lock": lock_row(view, mq),
            "since_ms": None,
            "trouble": None if broadcasting else _trouble(view, holders[mq], due),
        }
    return rows


def _trouble(view: GroupSeen, held: dict[str, HeldBy], due: list[str]) -> str | None:
    holding = [client_id for client_id, row in held.items() if not row["letting_go"]]
    if len(holding) > 1:
        return "twice"
    if not holding:
        return "nobody" if (due or view.shared_ids) and view.all_report else None
    return None if holding[0] in due else "lingers"
