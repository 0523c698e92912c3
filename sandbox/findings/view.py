"""The input of all findings: rows of one moment, and their history.

A sandbox and a real cluster fill the same view.  None: the source does not report it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sandbox.findings.history import History
from sandbox.message.topic_names import retry_topic
from sandbox.queries.rows.board import MemberRow, QueueRow
from sandbox.queries.rows.snapshot import BrokerRow, NameServerRow, ProducerRow, TopicRow

PULLS_BY_ITSELF = ("pull", "lite", "lite_pull")
THERE = ("starting", "running", "hung", "stopping")


class RetriedMessage(NamedTuple):
    """A message that waits for its next attempt."""

    key: str
    topic: str
    attempts: int  # failed so far
    most_attempts: int
    next_ms: int


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
    """One consumer group.  `consume_enabled`: False if an operator forbade it to read."""

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

    @property
    def clustering(self) -> bool:
        return self.model == "CLUSTERING"

    @property
    def orderly(self) -> bool:
        return self.listener == "orderly"

    def queues(self) -> Iterator[QueueAt]:
        """Yield the queues of all its topics, without its retry topic."""
        for topic, rows in self.topics.items():
            if topic != retry_topic(self.name):
                for name, row in rows.items():
                    yield QueueAt(topic, name, row)

    def online(self) -> dict[str, MemberRow]:
        """Return the members that have a process."""
        return {key: row for key, row in self.members.items() if row["state"] in THERE}


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
    attached: bool = False

    @property
    def labels(self) -> dict[str, str]:
        """Return the names of members, by their row keys; a member of a real cluster has its client id."""
        return {key: row["actor"] or key for group in self.groups.values() for key, row in group.members.items()}

    def group_queues(self) -> Iterator[tuple[GroupNow, QueueAt]]:
        for group in self.groups.values():
            for queue in group.queues():
                yield group, queue
