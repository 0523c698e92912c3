"""The view of a real cluster for findings: the reported rows, with None for all that is not reported."""

from sandbox.attached.picture import Picture
from sandbox.attached.snapshot.brokers import broker_row
from sandbox.attached.snapshot.group_reports import GroupSeen
from sandbox.attached.snapshot.groups import Waiting, topics_read
from sandbox.attached.snapshot.queues import BROKER_LIFE_MS, Causes, queue_rows
from sandbox.attached.snapshot.whole_cluster import Budget, dead_letters, name_server_row, producer_rows, topic_row
from sandbox.control.limits import AttachedLimits
from sandbox.findings.history import History
from sandbox.findings.sampling import sample
from sandbox.findings.view import ClusterView, GroupNow
from sandbox.queries.rows.board import ReportedQueueRow

RATE = 1.0


def view_of(
    picture: Picture, limits: AttachedLimits, causes: Causes, history: History, at_ms: int
) -> tuple[ClusterView, bool]:
    """Return the view, and False if it does not follow the last one of this history."""
    follows = history.begin(at_ms)
    budget = Budget(limits)
    view = ClusterView(
        at_ms=at_ms,
        rate=RATE,
        reached_rate=None,
        groups={name: _group(picture, name, causes, budget) for name in picture.limited_groups(limits.groups)},
        topics={topic: topic_row(picture, topic, budget) for topic in picture.limited_topics(limits)},
        brokers={broker.node: broker_row(broker) for broker in picture.in_order()},
        name_servers={server.name: name_server_row(server) for server in picture.servers.values()},
        producers=producer_rows(picture),
        history=history,
        lock_life_ms=BROKER_LIFE_MS,
        attached=True,
    )
    sample(view)
    return view, follows


def _group(picture: Picture, name: str, causes: Causes, budget: Budget) -> GroupNow:
    view = GroupSeen(picture, name)
    waiting = Waiting(view)
    return GroupNow(
        name=name,
        model=view.model or "CLUSTERING",
        listener=view.listener,
        strategy=view.strategy,
        members=view.member_rows(),
        topics=_queues(view, causes, budget),
        lag=waiting.lag.messages,
        retrying=waiting.retrying,
        dead_letters=dead_letters(picture, name),
        shared_ids=view.shared_ids,
        members_differ=view.members_differ,
    )


def _queues(view: GroupSeen, causes: Causes, budget: Budget) -> dict[str, dict[str, ReportedQueueRow]]:
    topics: dict[str, dict[str, ReportedQueueRow]] = {}
    for topic in topics_read(view):
        if budget.left("groups"):
            rows = queue_rows(view, topic, causes)
            topics[topic] = dict(list(rows.items())[: budget.queues("groups", len(rows))])
    return topics
