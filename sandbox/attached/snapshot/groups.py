"""All groups of a cluster over all topics, as far as brokers report (channel `groups/<slug>`)."""

from sandbox.attached.picture import Picture
from sandbox.attached.snapshot.group_reports import GroupSeen
from sandbox.attached.snapshot.queues import Lag, lag_of, queue_rows, text
from sandbox.control.group_state import Flow, Standing
from sandbox.message.topic_names import retry_topic
from sandbox.queries.rows.group_states import Groups, GroupState
from sandbox.queries.rows.lag import row_lag
from sandbox.queries.rows.member_words import named
from sandbox.queries.snapshot.groups import worst_topic


class Waiting:
    """Messages a group has not consumed, in its topics and its retry topic.  Queue counts exclude the retry topic."""

    def __init__(self, view: GroupSeen) -> None:
        self.rows = {topic: queue_rows(view, topic, {}, divided=False) for topic in topics_read(view)}
        self.every = [row for rows in self.rows.values() for row in rows.values()]
        self.retrying = retrying(view)
        self.lag = with_retries(lag_of(self.every), self.retrying)


def read_groups(picture: Picture, names: list[str], now_ms: int) -> Groups:
    """Return the groups in the shape of a sandbox's.

    The age of the oldest message is not reported; the message was stored after the last consumed one.
    """
    return {"groups": {name: _row(GroupSeen(picture, name), now_ms) for name in names}}


def topics_read(view: GroupSeen) -> list[str]:
    """Return the topics that count for the group, as for mqadmin.

    They are those its members subscribe to, else those it has stored offsets of.
    """
    subscribed = {sub.topic for table in view.picture.connections(view.group) for sub in table.subscriptions}
    topics = subscribed or set(view.picture.topics_of_group(view.group))
    return sorted(topic for topic in topics if not topic.startswith("%"))


def retrying(view: GroupSeen) -> int | None:
    """Return the number of messages in the retry topic that are not consumed yet.

    None: unknown, also if only one of its queues is unknown, or if a master has not reported its topics.  A sum of
    the others would look like the total.
    """
    if view.model == "BROADCASTING":
        return 0
    if not view.picture.all_topics_known:
        return None
    lag = lag_of(queue_rows(view, retry_topic(view.group), {}, divided=False).values())
    return (lag.messages or 0) if lag.queues == lag.of else None


def with_retries(lag: Lag, again: int | None) -> Lag:
    return lag._replace(messages=(lag.messages or 0) + (again or 0)) if lag.messages is not None or again else lag


def flow_of(view: GroupSeen) -> Flow:
    """Return the rates of one minute: commits on the group's own topics, and deliveries by brokers with retries."""
    picture = view.picture
    if picture.member_count(view.group) == 0:
        return Flow(0.0, 0.0)
    mqs = [
        mq
        for topic in topics_read(view)
        for mq in picture.read_queues(topic)
        if picture.silent_since_ms(mq.broker) is None
    ]
    commits = [
        rate
        for mq in mqs
        if (rate := picture.commits.per_s((view.group, mq.topic, mq.broker, mq.queue_id))) is not None
    ]
    handed = [table[view.group].consume_tps for table in picture.stats.values() if view.group in table]
    return Flow(round(sum(commits), 1) if commits else None, round(sum(handed), 1) if handed else None)


def _row(view: GroupSeen, now_ms: int) -> GroupState:
    waiting, flow, members = Waiting(view), flow_of(view), view.picture.member_count(view.group)
    lag, after_ms = waiting.lag, _oldest_after_ms(view, waiting)
    standing = Standing(
        lag.messages,
        waiting.retrying,
        members,
        flow,
        most_age_ms=None if after_ms is None else now_ms - after_ms,
        unknown_queues=lag.of - lag.queues,
        members_differ=bool(differ := view.members_differ),
    )
    return {
        "members_differ": differ,
        "shared_ids": view.shared_ids,
        "member_words": named({client_id: view.words(client_id) for client_id in view.members}, {}) if differ else [],
        "state": standing.state,
        "topic": worst_topic({topic: text(lag_of(rows.values()).messages) for topic, rows in waiting.rows.items()}),
        "topics": list(waiting.rows),
        "lag": text(lag.messages),
        "retrying": text(waiting.retrying),
        "queues_known": lag.queues,
        "queues_all": lag.of,
        "lag_last_known": text(lag.last_known),
        "oldest_since_ms": None,
        "oldest_after_ms": after_ms,
        "members": members,
        "consumed_per_s": flow.consumed,
        "delivered_per_s": flow.delivered,
        "differs": flow.differs,
        "finding": None,
    }


def _oldest_after_ms(view: GroupSeen, waiting: Waiting) -> int | None:
    """Return a time after which the group's oldest unconsumed message was stored.

    For each queue this is the store time of the message before the oldest unconsumed one; the earliest of all is
    returned.  None if a queue with lag does not have one, or no broker was asked.
    """
    stored: list[int] = []
    for topic, rows in waiting.rows.items():
        for key, row in rows.items():
            if row["down"] is None and row_lag(row):
                broker, _, number = key.partition("@")[0].rpartition(":")
                stats = view.picture.stats.get(broker, {}).get(view.group)
                queue = stats.queues.get((topic, broker, int(number))) if stats is not None else None
                stored.append(queue.last_ms if queue is not None else 0)
    return min(stored) if stored and min(stored) > 0 else None
