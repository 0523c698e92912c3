"""The input of all findings: rows of one moment, and their history.

A sandbox and a real cluster fill the same view.  None: the source does not report it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from sandbox.findings.history import History
from sandbox.message.topic_names import retry_topic
from sandbox.queries.rows.board import MemberRow, QueueRow
from sandbox.queries.rows.snapshot import BrokerRow, NameServerRow, ProducerRow, TopicRow
from sandbox.queries.snapshot.member_words import THERE


class RetriedMessage(NamedTuple):
    """A message that waits for its next attempt."""

    key: str
    topic: str
    attempts: int  # failed so far
    most_attempts: int
    next_ms: int


class FailingMessage(NamedTuple):
    """The oldest unfinished message of an orderly queue, after its listener suspended the queue at least once."""

    key: str
    offset: int
    attempts: int  # failed so far
    most_attempts: int | None  # None: without a limit
    since_ms: int  # its first attempt


class QueueAt(NamedTuple):
    """One queue of a group: its topic, the name of its row, and the row."""

    topic: str
    name: str
    row: QueueRow

    @property
    def broker(self) -> str:
        return self.name.partition("@")[0].rpartition(":")[0]

    @property
    def queue_id(self) -> int:
        return int(self.name.partition("@")[0].rpartition(":")[2])


@dataclass(frozen=True, slots=True)
class GroupNow:
    """One consumer group.  `consume_enabled`: False if an operator forbade it to read.

    `heartbeats_ms`: the last heartbeats of the clients that brokers list.  `former`: labels of processes without a
    row that brokers still list or that hold a lock.  Both are by row key or, without a row, by client id.
    `failing`: by topic and queue row.  `strategies`: wire names, by the row keys of members with a process.
    """

    name: str
    model: str
    listener: str | None
    strategy: str | None
    members: Mapping[str, MemberRow]
    topics: Mapping[str, Mapping[str, QueueRow]]
    lag: int | None
    retrying: int | None
    dead_letters: int | None
    shared_ids: Sequence[str]
    members_differ: Sequence[str]
    consume_enabled: bool | None = None
    retried: Sequence[RetriedMessage] | None = None
    heartbeats_ms: Mapping[str, int] | None = None
    former: Mapping[str, str] | None = None
    failing: Mapping[tuple[str, str], FailingMessage] | None = None
    strategies: Mapping[str, str] | None = None
    again: Mapping[str, int] | None = None  # repeated deliveries since the group began, by reason
    every_queue: tuple[QueueAt, ...] = field(init=False, repr=False, compare=False)  # all rules read them

    def __post_init__(self) -> None:
        topics = [(topic, rows) for topic, rows in self.topics.items() if topic != retry_topic(self.name)]
        every = tuple(QueueAt(topic, name, row) for topic, rows in topics for name, row in rows.items())
        object.__setattr__(self, "every_queue", every)  # the class is frozen

    @property
    def clustering(self) -> bool:
        return self.model == "CLUSTERING"

    @property
    def orderly(self) -> bool:
        return self.listener == "orderly"

    def queues(self) -> tuple[QueueAt, ...]:
        """Return the queues of all its topics, without its retry topic."""
        return self.every_queue

    def online(self) -> dict[str, MemberRow]:
        """Return the members that have a process."""
        return {key: row for key, row in self.members.items() if row["state"] in THERE}

    def listed(self) -> dict[str, MemberRow]:
        """Return the members with a process that brokers list.

        Where heartbeats are not reported, members come from the brokers' lists.
        """
        return {
            key: row
            for key, row in self.online().items()
            if self.heartbeats_ms is None or key.partition(" ")[0] in self.heartbeats_ms
        }

    def readers(self, topic: str) -> dict[str, MemberRow]:
        """Return the members with a process that subscribe to the topic, or do not report their subscriptions."""
        return {
            key: row
            for key, row in self.online().items()
            if row["subscriptions"] is None or any(sub["topic"] == topic for sub in row["subscriptions"])
        }


@dataclass(frozen=True, slots=True)
class Waiting:
    """Messages that wait by order: delayed ones by topic, and half messages of open transactions."""

    delayed: Mapping[str, int]  # by real topic
    delayed_until_ms: Mapping[str, int]  # the next delivery, by real topic
    half: int
    oldest_half_ms: int | None


@dataclass(frozen=True, slots=True)
class ClusterView:
    """`attached`: of a real cluster.

    `reached_rate`: the rate of the clock that a busy machine reaches; None: the full rate.
    `masters_since_ms`: the first look at the process of each running master, by broker.
    """

    at_ms: int
    rate: float
    reached_rate: float | None
    groups: Mapping[str, GroupNow]
    topics: Mapping[str, TopicRow]
    brokers: Mapping[str, BrokerRow]  # by node: `broker-a`, `broker-a.1`
    name_servers: Mapping[str, NameServerRow]
    producers: Sequence[ProducerRow]
    history: History
    waiting: Waiting | None = None
    lock_life_ms: int = 60_000  # for which a broker keeps a lock that is not renewed
    attached: bool = False
    masters_since_ms: Mapping[str, int] | None = None

    @property
    def labels(self) -> dict[str, str]:
        """Return the names of members, by their row keys; a member of a real cluster has its client id."""
        former = {key: label for group in self.groups.values() for key, label in (group.former or {}).items()}
        return former | {
            key: row["actor"] or key for group in self.groups.values() for key, row in group.members.items()
        }

    @property
    def masters_run(self) -> bool:
        """Return False if a master does not run: the messages in its store are not known then."""
        return all(row["state"] == "running" for row in self.brokers.values() if row["role"] == "master")

    def group_queues(self) -> Iterator[tuple[GroupNow, QueueAt]]:
        for group in self.groups.values():
            for queue in group.queues():
                yield group, queue
