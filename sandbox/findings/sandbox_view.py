"""The view of a sandbox, from its engine's objects of one turn."""

from collections.abc import Iterator, Mapping

from sandbox.broker.broker import Broker
from sandbox.client.push_consumer import PushConsumer
from sandbox.cluster.actors.consumer_actor import ConsumerActor
from sandbox.cluster.actors.redelivery import CRASH, RESET
from sandbox.cluster.cluster import Cluster
from sandbox.findings.history import History
from sandbox.findings.sampling import sample
from sandbox.findings.view import ClusterView, FailingMessage, GroupNow, RetriedMessage
from sandbox.findings.waiting_messages import WaitingMessages
from sandbox.message.queue import MessageQueue
from sandbox.queries.rows.board import QueueRow
from sandbox.queries.rows.groups import GroupView
from sandbox.queries.snapshot.board import group_strategy, lag_of, queue_rows, with_retries
from sandbox.queries.snapshot.groups import group_names, topics_read
from sandbox.queries.snapshot.member_words import members_differ
from sandbox.queries.snapshot.members import member_rows
from sandbox.queries.snapshot.whole_sandbox import (
    broker_row,
    group_counts,
    name_server_row,
    producer_rows,
    topic_rows,
)

REASONS = (CRASH, RESET)  # of repeated deliveries
LOCK_LIFE_MS = 60_000  # while no master runs
UNLIMITED = 2**31 - 1  # Integer.MAX_VALUE


class SandboxViews:
    """The views of one sandbox, one after the other."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._history = History()
        self._waiting = WaitingMessages()
        self._masters: dict[str, tuple[Broker, int]] = {}  # the running processes, with the first look at each

    def copy(self) -> "SandboxViews":
        """Return views of which the next look of these does not depend."""
        made = SandboxViews(self._cluster)
        made._history, made._waiting, made._masters = self._history.copy(), self._waiting.copy(), dict(self._masters)
        return made

    def look(self) -> tuple[ClusterView, bool]:
        """Return the view of now, and False if it does not follow the last one.

        In a run that can be executed again, the rate that the machine reaches is left out.
        """
        cluster, at_ms = self._cluster, self._cluster.clock.now_ms()
        follows = self._history.begin(at_ms)
        waiting, retried = self._waiting.look(cluster)
        running = {node.name: node.running for node in cluster.nodes.masters()}
        self._masters = {
            name: known if (known := self._masters.get(name)) is not None and known[0] is broker else (broker, at_ms)
            for name, broker in running.items()
        }
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
            lock_life_ms=next((node.running.locks.max_live_ms for node in cluster.nodes.masters()), LOCK_LIFE_MS),
            masters_since_ms={name: since_ms for name, (_, since_ms) in self._masters.items()},
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
        members_differ=members_differ(members),
        consume_enabled=_may_consume(view),
        retried=None if retried is None else retried.get(name, []),
        heartbeats_ms={view.row_of_client(client): info.last_update_ms for client, info in view.registered().items()},
        former=_former(cluster, view, [row for rows in topics.values() for row in rows.values()]),
        failing={(mq.topic, mq.row): failing for actor in view.actors for mq, failing in _failing(actor, topics)},
        strategies={
            view.row_of(actor): cluster.actors.strategy_for(actor.settings).name for actor in view.actors if actor.lives
        },
        again=_again(cluster, name),
    )


def _again(cluster: Cluster, group: str) -> dict[str, int] | None:
    """Return the repeated deliveries by reason; None: the group has no in-process member."""
    stats = cluster.actors.group_stats.get(group)
    return None if stats is None else {reason: stats.again_by_cause[reason] for reason in REASONS}


def _may_consume(view: GroupView) -> bool | None:
    """Return False if a running master's subscription group config forbids the group to consume.

    None: a master is down, and no other forbids it.
    """
    configs = (broker.subscription_groups.table.get(view.group) for broker in view.masters.values())
    if not all(config.consume_enable for config in configs if config is not None):
        return False
    return None if view.down else True


def _former(cluster: Cluster, view: GroupView, rows: list[QueueRow]) -> dict[str, str]:
    """Return the labels of dead processes that are listed or hold a lock, by their client ids."""
    clients = {*view.registered(), *(row["lock"]["holder"] for row in rows if row["lock"] is not None)}
    return {
        client: label
        for client in sorted(clients - view.by_row.keys())
        if view.is_leftover(client) and (label := cluster.actors.label_of(client)) is not None
    }


def _failing(
    actor: ConsumerActor, topics: Mapping[str, Mapping[str, QueueRow]]
) -> Iterator[tuple[MessageQueue, FailingMessage]]:
    """Yield the queues whose oldest message an orderly listener has refused."""
    if actor.settings.listener != "orderly" or not isinstance(actor.consumer, PushConsumer) or not actor.lives:
        return
    most = actor.consumer.config.most_reconsume_times
    for mq, pq in actor.consumer.process_queues.items():
        oldest = pq.oldest()
        if mq.topic in topics and oldest is not None and (attempts := pq.attempts(oldest[0])):
            offset, key, since_ms = oldest
            yield mq, FailingMessage(key, offset, attempts, None if most >= UNLIMITED else most, since_ms)
