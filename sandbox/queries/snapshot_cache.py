"""Data of boards kept between two readings: causes, rates, and values that are expensive to read."""

from collections import deque
from typing import Any

from sandbox.cluster.cluster import Cluster
from sandbox.journal.events import Entry, OffsetsReset, TopicChanged
from sandbox.kernel.clock import Clock
from sandbox.message.queue import MessageQueue
from sandbox.queries.client_lives import ClientLives
from sandbox.queries.message_tail import MessageTails
from sandbox.queries.queue_history import QueueHistory
from sandbox.queries.rates import CommitRates
from sandbox.queries.rebalance_history import RebalanceHistory
from sandbox.queries.snapshot.calm import CalmFigures
from sandbox.queries.snapshot.tape import Tape

SAMPLE_EVERY_S = 1.0
SAMPLES_KEPT = 10
CAUSES_KEPT = 4_096
COMMITS_KEPT = 4_096
EVERY_GROUP = ""  # a fact about a queue itself: its messages were cleaned


class QueueRate:
    """The messages per second of one queue, from its max offset over the last ten seconds."""

    __slots__ = ("_samples",)

    def __init__(self) -> None:
        self._samples: deque[tuple[float, int]] = deque(maxlen=SAMPLES_KEPT + 1)

    def per_s(self, now_s: float, max_offset: int) -> float | None:
        """Return the rate; None until there was a second between two samples."""
        samples = self._samples
        if not samples or now_s - samples[-1][0] >= SAMPLE_EVERY_S or max_offset < samples[-1][1]:
            samples.append((now_s, max_offset))
        while len(samples) > 1 and now_s - samples[0][0] > SAMPLES_KEPT + SAMPLE_EVERY_S:
            samples.popleft()
        first_s, first = samples[0]
        return round(max(0, max_offset - first) / (now_s - first_s), 1) if now_s - first_s >= SAMPLE_EVERY_S else None


class SnapshotCache:
    """The cache of one cluster; it is dropped with the cluster."""

    @classmethod
    def beside(cls, cluster: Cluster) -> "SnapshotCache":
        cache = cls(cluster.clock)
        cluster.journal_files.on_fact(cache.note)
        return cache

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._causes: dict[tuple[str, MessageQueue], int] = {}
        self._rates: dict[MessageQueue, QueueRate] = {}
        self._stored_ms: dict[MessageQueue, dict[int, int | None]] = {}
        self.tapes: dict[str, Tape] = {}
        self.tails = MessageTails()
        self.queue_history = QueueHistory()
        self.assigned: dict[tuple[str, str], tuple[Any, dict[str, list[MessageQueue]]]] = {}
        self._calm: dict[tuple[str, str], CalmFigures] = {}
        self.lives = ClientLives()
        self.rebalances = RebalanceHistory()
        self.commits = CommitRates(clock, COMMITS_KEPT)

    def note(self, entry: Entry) -> None:
        """Record a journal entry: the newest fact about each queue that it names, and a part of a client's life."""
        self.lives.note(entry)
        self.rebalances.note(entry)
        event = entry.event
        if isinstance(event, TopicChanged) and event.how == "deleted":
            self.tails.forget()  # it may be made again, and its offsets begin at 0
        if isinstance(event, OffsetsReset):
            keys = [(event.group, MessageQueue.from_key(row[0])) for row in event.rows]
        elif (queue_id := getattr(event, "queue_id", None)) is not None:
            mq = MessageQueue(event.topic, event.broker, queue_id)  # type: ignore[attr-defined]  # who has a queue id does
            keys = [(getattr(event, "group", EVERY_GROUP), mq)]
        else:
            return
        for key in keys:
            self._causes.pop(key, None)
            self._causes[key] = entry.seq
        while len(self._causes) > CAUSES_KEPT:
            del self._causes[next(iter(self._causes))]

    def cause(self, group: str, mq: MessageQueue) -> str | None:
        seq = max(self._causes.get((group, mq), -1), self._causes.get((EVERY_GROUP, mq), -1))
        return None if seq < 0 else str(seq)

    def rate(self, mq: MessageQueue, max_offset: int) -> float | None:
        rate = self._rates.get(mq)
        if rate is None:
            rate = self._rates[mq] = QueueRate()
        return rate.per_s(self._clock.monotonic(), max_offset)

    def calm(self, group: str, topic: str) -> CalmFigures:
        return self._calm.setdefault((group, topic), CalmFigures())

    def forget_store(self, node: str) -> None:
        """Drop the values read from a node's store.

        A log that starts again may be shorter and have other messages at the same offsets.
        """
        self.tapes.pop(node, None)
        self.tails.forget()
        self._stored_ms.clear()

    def tape(self, node: str) -> Tape:
        return self.tapes.setdefault(node, Tape())

    def stored_ms(self, mq: MessageQueue, offset: int, max_offset: int, read: Any) -> int | None:
        """Return the store time of the message at an offset, or None at the queue's end.

        `read` is called once per offset.
        """
        if offset >= max_offset:
            return None
        known = self._stored_ms.setdefault(mq, {})
        if offset not in known:
            if len(known) >= 16:  # groups on this queue
                known.clear()
            known[offset] = read(mq.topic, mq.queue_id, offset)
        return known[offset]


def cache_of(cluster: Cluster) -> SnapshotCache:
    """Return the cluster's snapshot cache."""
    return cluster.companion(SnapshotCache)
