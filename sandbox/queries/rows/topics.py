"""Rows of the Topics page: permissions, readers and waiting messages (catalogue 10: `topics/<slug>`).

Offsets and counts that may pass 2^53 are text.  Times (`…_ms`) are of the sandbox's clock.
"""

from typing import NotRequired, TypedDict

from sandbox.queries.rows.board import QueueEnds


class TopicDown(TypedDict):
    """The last known state of a topic whose master is down."""

    known_at_ms: int  # time of the master's last report
    kept: bool  # a slave that runs has its queues


class TopicAtBroker(TypedDict):
    """The topic in one master's table."""

    broker: str
    write_queues: int
    read_queues: int
    permission: int  # bits: 4 read, 2 write
    how: str | None  # how the topic came to this broker (event TopicChanged); None: not known
    down: NotRequired[TopicDown | None]  # sandbox; None: the master runs, else all of its row is as it knew it last


class QueueOfTopic(QueueEnds):
    """One queue.  `min` and `max` are None if a real cluster does not report them."""

    broker: str
    queue_id: int
    use: str  # rw; wo: written, no one may read it; ro: readable, no one may write it; none: left behind by a shrink
    waiting: dict[str, str | None]  # group → messages behind its committed offset; None: it never committed


class TopicUse(TypedDict):
    """One topic over all brokers."""

    topic: str
    kind: str  # normal, retry, dead_letter, delay
    brokers: list[TopicAtBroker]
    groups: list[str]  # clustering groups that read it, or did; the first 16
    queues: list[QueueOfTopic]
    left_out: NotRequired[int]  # queues beyond the limit of a real cluster


class Topics(TypedDict):
    """All topics except the system's own."""

    topics: list[TopicUse]
