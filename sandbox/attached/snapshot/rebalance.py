"""Queues that members should hold, beside those they report to hold (channel `rebalance/k.<name>/<group>`).

The shape is that of `queries.snapshot.rebalance`.  A member reports the queues it holds and its strategy's class.  It
does not report what it received or when it rebalanced: beliefs, claims, waits, rounds and moves are empty.  `due` is
computed here, from what brokers report now.  Trouble: `twice` (two members hold the queue), `nobody` (no member holds
it, and all have reported), `lingers` (a member holds it that should not).
"""

from sandbox.attached.picture import RUNNING
from sandbox.attached.snapshot.group_seen import GroupSeen
from sandbox.attached.snapshot.queues import lock_row
from sandbox.client.config import ClientConfig
from sandbox.message.queue import MessageQueue
from sandbox.queries.rows.member_words import EXPRESSIONS, TOPICS
from sandbox.queries.rows.rebalance import HeldBy, Rebalance, RebalanceMember, RebalanceQueue
from sandbox.queries.snapshot.rebalance import member_card, subscription_of

TOPICS_SHOWN = 16


def read_rebalance(seen: GroupSeen) -> Rebalance:
    picture = seen.picture
    topics = {topic: picture.read_queues(topic) for topic in picture.topics_of_group(seen.group)[:TOPICS_SHOWN]}
    strategies = {client_id: says.strategy for client_id, says in seen.says.items() if says.strategy is not None}
    broadcasting = seen.model == "BROADCASTING"
    return {
        "group": {
            "group": seen.group,
            "model": seen.model,
            "orderly": None if seen.listener is None else seen.listener == "orderly" and not broadcasting,
            "strategy": None if broadcasting else seen.strategy,
            "strategies": strategies,
            "apart": _apart(seen, strategies) if not broadcasting else [],
        },
        "lives": {"rebalance_ms": ClientConfig.rebalance_ms, "route_ms": ClientConfig.poll_name_server_ms},
        "brokers": {
            name: {"state": broker.state, "members": _known(seen, name) if broker.state == RUNNING else None}
            for name, broker in picture.masters().items()
        },
        "topics": {
            topic: {"queues": _counted(mqs), "retry": topic.startswith("%RETRY%")} for topic, mqs in topics.items()
        },
        "members": _members(seen),
        "beliefs": {},
        "queues": {mq.key: row for topic, mqs in topics.items() for mq, row in _queues(seen, topic, mqs).items()},
        "waits": {},
        "rounds": {},
        "moves": {},
    }


def _apart(seen: GroupSeen, strategies: dict[str, str]) -> list[str]:
    found = ["strategy"] if len(set(strategies.values())) > 1 else []
    return found + (["subscription"] if {TOPICS, EXPRESSIONS} & set(seen.members_differ) else [])


def _known(seen: GroupSeen, broker: str) -> list[str]:
    table = seen.picture.members.get(broker, {}).get(seen.group)
    return [] if table is None else sorted(one.client_id for one in table.connections)


def _counted(mqs: list[MessageQueue]) -> dict[str, int]:
    found: dict[str, int] = {}
    for mq in mqs:
        found[mq.broker] = max(found.get(mq.broker, 0), mq.queue_id + 1)
    return found


def _members(seen: GroupSeen) -> dict[str, RebalanceMember]:
    kept = {
        sub.topic: sub.sub_string for table in seen.picture.connections(seen.group) for sub in table.subscriptions
    }  # of a member that reports none of its own
    rows: dict[str, RebalanceMember] = {}
    ids = {key: client_id for client_id in seen.members for key in seen.twins(client_id)}
    for client_id, row in seen.member_rows().items():
        says = seen.says.get(client_id)
        rows[client_id] = {
            **member_card(row),
            "strategy": None if says is None else says.strategy,
            "subscription": subscription_of(row) or kept or None,
            "due_ms": None,
            "route_due_ms": None,
            "rounds": None,
            "known_to": [
                name for name in seen.picture.masters() if ids.get(client_id, client_id) in _known(seen, name)
            ],
        }
    return rows


def _queues(seen: GroupSeen, topic: str, mqs: list[MessageQueue]) -> dict[MessageQueue, RebalanceQueue]:
    """Those brokers have, and those a member holds that are gone."""
    broadcasting = seen.model == "BROADCASTING"
    shares = dict.fromkeys(seen.members, mqs) if broadcasting else seen.shares(mqs)
    holders: dict[MessageQueue, dict[str, HeldBy]] = {mq: {} for mq in mqs}
    for client_id, says in seen.says.items():
        for mq, mine in says.queues.items():
            if mq.topic == topic:
                holders.setdefault(mq, {})[client_id] = {"since_ms": None, "letting_go": mine.dropped}
    rows: dict[MessageQueue, RebalanceQueue] = {}
    for mq in sorted(holders):
        due = [key for client_id, share in shares.items() if mq in share for key in (client_id, *seen.twins(client_id))]
        rows[mq] = {
            "topic": topic,
            "broker": mq.broker,
            "queue_id": mq.queue_id,
            "claims": {},
            "held": holders[mq],
            "due": due,
            "lock": lock_row(seen, mq),
            "since_ms": None,
            "trouble": None if broadcasting else _trouble(seen, holders[mq], due),
        }
    return rows


def _trouble(seen: GroupSeen, held: dict[str, HeldBy], due: list[str]) -> str | None:
    holding = [client_id for client_id, row in held.items() if not row["letting_go"]]
    if len(holding) > 1:
        return "twice"
    if not holding:
        return "nobody" if (due or seen.shared_ids) and seen.all_report else None
    return None if holding[0] in due else "lingers"
