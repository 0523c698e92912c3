"""The view of a sandbox, from its engine's objects of one turn."""

from sandbox.cluster.cluster import Cluster
from sandbox.findings.history import History
from sandbox.findings.sampling import sample
from sandbox.findings.view import ClusterView, GroupNow, RetriedMessage
from sandbox.findings.waiting_messages import WaitingMessages
from sandbox.queries.rows.groups import GroupView
from sandbox.queries.snapshot.board import group_strategy, lag_of, queue_rows, with_retries
from sandbox.queries.snapshot.groups import group_names, topics_read
from sandbox.queries.snapshot.member_words import THERE, members_differ
from sandbox.queries.snapshot.members import member_rows
from sandbox.queries.snapshot.whole_sandbox import (
    broker_row,
    group_counts,
    name_server_row,
    producer_rows,
    topic_rows,
)


class SandboxViews:
    """The views of one sandbox, one after the other."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._history = History()
        self._waiting = WaitingMessages()

    def look(self) -> tuple[ClusterView, bool]:
        """Return the view of now, and False if it does not follow the last one.

        In a run that can be executed again, the rate that the machine reaches is left out.
        """
        cluster, at_ms = self._cluster, self._cluster.clock.now_ms()
        follows = self._history.begin(at_ms)
        waiting, retried = self._waiting.look(cluster)
        view = ClusterView(
            at_ms=at_ms,
            rate=cluster.clock.rate,
            reached_rate=None if cluster.environment.repeatable else cluster.reached_rate,
            groups={name: _group(cluster, name, retried) for name in group_names(cluster)},
            topics={row["topic"]: row for row in topic_rows(cluster)},
            brokers={node.node: broker_row(cluster, node) for node in cluster.nodes.brokers},
            name_servers={node.name: name_server_row(node) for node in cluster.nodes.name_servers},
            producers=producer_rows(cluster),
            history=self._history,
            waiting=waiting,
        )
        sample(view)
        return view, follows


def _group(cluster: Cluster, name: str, retried: dict[str, list[RetriedMessage]] | None) -> GroupNow:
    view = GroupView(cluster, name)
    settings = next((actor.settings for actor in view.actors), None)
    topics = {topic: queue_rows(cluster, view, topic) for topic in topics_read(view)}
    members = member_rows(cluster, view, None)
    counts = group_counts(cluster, view)
    lag = with_retries(
        lag_of({(topic, key): row for topic, rows in topics.items() for key, row in rows.items()}), counts["retrying"]
    )
    return GroupNow(
        name=name,
        model=view.model,
        listener=settings.listener if settings is not None else None,
        strategy=group_strategy(cluster, view).name,
        members=members,
        topics=topics,
        lag=None if lag is None else int(lag),
        retrying=counts["retrying"],
        dead_letters=counts["dead_letters"],
        shared_ids=view.shared_ids(),
        members_differ=members_differ({key: row for key, row in members.items() if row["state"] in THERE}),
        consume_enabled=_may_consume(view),
        retried=None if retried is None else retried.get(name, []),
    )


def _may_consume(view: GroupView) -> bool:
    """Return False if a running master's subscription group config forbids the group to consume."""
    configs = (broker.subscription_groups.table.get(view.group) for broker in view.masters.values())
    return all(config.consume_enable for config in configs if config is not None)
