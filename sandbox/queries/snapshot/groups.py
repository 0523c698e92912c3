"""All groups over all topics: lag and members of each (channel `groups/<slug>`)."""

from sandbox.cluster.cluster import Cluster
from sandbox.control.group_state import Standing
from sandbox.message.topic_names import retry_topic
from sandbox.queries.rows.group_states import Groups, GroupState
from sandbox.queries.rows.groups import GroupView, topics_of
from sandbox.queries.rows.member_words import named
from sandbox.queries.snapshot.board import known_queues, lag_of, queue_rows, with_retries
from sandbox.queries.snapshot.calm import SECOND_MS, whole
from sandbox.queries.snapshot.flow import flow_of, members_there
from sandbox.queries.snapshot.member_words import THERE, members_differ
from sandbox.queries.snapshot.members import member_rows
from sandbox.queries.snapshot.retries import retrying


def read_groups(cluster: Cluster) -> Groups:
    return {"groups": {name: _row(cluster, GroupView(cluster, name)) for name in group_names(cluster)}}


def group_names(cluster: Cluster) -> list[str]:
    """Return the groups with a member, a stopped actor, or a stored offset, without built-in groups."""
    names = {actor.group for actor in cluster.actors.consumers()}
    for node in cluster.nodes.masters():
        names |= set(node.running.consumers.groups)
        names |= {key.group for key in node.running.consumer_offsets.table}
    for known in cluster.nodes.down_masters().values():
        names |= set(known.groups)
    return sorted(name for name in names if not name.startswith("CID_RMQ_SYS_"))


def topics_read(view: GroupView) -> list[str]:
    """Return the topics to which members subscribe, without the retry topic.

    Brokers at which the group is offline add the topics in which it has offsets, as mqadmin counts (`rows.lag`).
    """
    topics = [topic for topic in topics_of(view) if topic != retry_topic(view.group)]
    for broker in view.masters.values():
        if view.group in broker.consumers.groups:
            continue
        topics += [
            topic
            for topic in broker.consumer_offsets.topics_of(view.group)
            if topic not in topics and not topic.startswith("%")
        ]
    return topics


def _row(cluster: Cluster, view: GroupView) -> GroupState:
    queues = {topic: queue_rows(cluster, view, topic) for topic in topics_read(view)}
    every = {(topic, key): row for topic, rows in queues.items() for key, row in rows.items()}
    again = retrying(cluster, view)
    lag = with_retries(lag_of(every), again)
    stored_ms = min(
        (row["oldest_stored_ms"] for row in every.values() if row["oldest_stored_ms"] is not None), default=None
    )
    flow, members = flow_of(cluster, view), members_there(view)
    age_ms = None if stored_ms is None else cluster.clock.now_ms() - stored_ms
    known = known_queues(every)
    online = {client_id: row for client_id, row in member_rows(cluster, view, None).items() if row["state"] in THERE}
    differ = members_differ(online)
    standing = Standing(
        None if lag is None else int(lag),
        again,
        members,
        flow,
        age_ms,
        unknown_queues=known["queues_all"] - known["queues_known"],
        members_differ=bool(differ),
    )
    return {
        "members_differ": differ,
        "shared_ids": view.shared_ids(),
        "member_words": named(online, {client_id: row["actor"] for client_id, row in online.items()}) if differ else [],
        "state": standing.state,
        "topic": worst_topic({topic: lag_of(rows) for topic, rows in queues.items()}),
        "topics": list(queues),
        "lag": lag,
        "retrying": str(again),
        **known,
        "oldest_since_ms": None if stored_ms is None else stored_ms - stored_ms % SECOND_MS,
        "oldest_after_ms": None,
        "members": members,
        "consumed_per_s": None if flow.consumed is None else whole(flow.consumed),
        "delivered_per_s": None if flow.delivered is None else whole(flow.delivered),
        "differs": flow.differs,
        "finding": None,
    }


def worst_topic(lags: dict[str, str | None]) -> str | None:
    """Return the topic with the largest lag; of equal ones the first.

    >>> worst_topic({"orders": "3", "mails": "12", "refunds": None})
    'mails'
    """
    return max(lags, key=lambda topic: int(lags[topic] or 0), default=None)
