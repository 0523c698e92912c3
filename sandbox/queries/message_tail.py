"""The newest messages of all queues that match a filter, for viewers who watch them arrive.

Between two readings a tail keeps its position in each queue, so that a reading reads only new messages.
"""

from collections import deque
from typing import NamedTuple
from urllib.parse import parse_qsl

from sandbox.cluster.cluster import Cluster
from sandbox.message import properties
from sandbox.message.message import StoredMessage
from sandbox.message.queue import MessageQueue
from sandbox.message.topic_names import is_system
from sandbox.queries.rows.messages import message_row
from sandbox.store.message_store import MessageStore

Row = dict[str, object]
Arrived = tuple[MessageQueue, StoredMessage]

ROWS_KEPT = 100
ROWS_PER_S = 20  # shown; the rest is counted
LOOKED_AT = 400  # records that one reading reads; further ones count as unseen
TAILS = 8  # filters followed at a time, of one sandbox
WANTED_CHARS = 255


class Wanted(NamedTuple):
    """A filter of messages: all, or by topic, queue (`broker-a:3`), tag, or a part of one of their keys."""

    topic: str = ""
    queue: str = ""
    tag: str = ""
    key: str = ""

    @classmethod
    def of(cls, query: str) -> "Wanted":
        """Return the filter in the query part of a channel's name; unknown fields are ignored.

        >>> Wanted.of("topic=orders&queue=broker-a%3A3")
        Wanted(topic='orders', queue='broker-a:3', tag='', key='')
        """
        fields = {name: value.strip()[:WANTED_CHARS] for name, value in parse_qsl(query) if name in cls._fields}
        return cls(**fields)

    def has(self, mq: MessageQueue) -> bool:
        """Return True if the filter includes the queue; system topics only if the filter names them."""
        if self.topic != mq.topic and (self.topic or is_system(mq.topic)):
            return False
        return self.queue in ("", mq.row)

    def fits(self, message: StoredMessage) -> bool:
        if self.tag and message.properties.get(properties.TAGS, "") != self.tag:
            return False
        if not self.key:
            return True
        unique = message.properties.get(properties.UNIQ_KEY, "")
        return self.key in message.properties.get(properties.KEYS, "") or self.key == unique

    @property
    def looks_inside(self) -> bool:
        """True if a message must be read to decide if it matches."""
        return bool(self.tag or self.key)


class MessageTail:
    """The newest messages that match one filter.

    `seen`: number of matches.  `rest`: matches that were not shown.  `unseen`: messages that were never read.
    """

    def __init__(self, filters: Wanted) -> None:
        self.wanted = filters
        self.rows: deque[tuple[int, Row]] = deque(maxlen=ROWS_KEPT)
        self.seen = 0
        self.rest = 0
        self.unseen = 0
        self._next: dict[MessageQueue, int] | None = None  # None: not looked at yet
        self._number = 0
        self._second = -1
        self._used = 0

    def read(self, cluster: Cluster) -> None:
        """Read the messages stored since the last reading.

        The first reading takes the last messages, as many as one second shows.
        """
        stores = {node.name: node.running.store for node in cluster.nodes.masters()}
        queues = [
            mq
            for name, store in stores.items()
            for topic, queue_id in store.queues()
            if self.wanted.has(mq := MessageQueue(topic, name, queue_id))
        ]
        ends = {mq: stores[mq.broker].max_offset(mq.topic, mq.queue_id) for mq in queues}
        if self._next is None:
            self._begin(stores, ends)
        else:
            self._go_on(stores, ends, cluster.environment.outside.monotonic())
        self._next = {**(self._next or {}), **ends}

    def _begin(self, stores: dict[str, MessageStore], ends: dict[MessageQueue, int]) -> None:
        depth = max(ROWS_PER_S, LOOKED_AT // max(1, len(ends))) if self.wanted.looks_inside else ROWS_PER_S
        arrived = _read(stores, {mq: range(max(0, _low(stores, mq), end - depth), end) for mq, end in ends.items()})
        for mq, message in [pair for pair in arrived if self.wanted.fits(pair[1])][-ROWS_PER_S:]:
            self._add(mq, message)
            self.seen += 1

    def _go_on(self, stores: dict[str, MessageStore], ends: dict[MessageQueue, int], now_s: float) -> None:
        """Read new messages: only as many as can be shown, or as must be read for the filter.

        If too many match, the newest are shown.
        """
        assert self._next is not None
        new = {
            mq: range(max(begin, _low(stores, mq)), end)
            for mq, end in ends.items()
            if (begin := min(self._next.get(mq, 0), end)) < end
        }
        came = sum(map(len, new.values()))
        room = self._room(now_s)
        if self.wanted.looks_inside:
            share = max(1, LOOKED_AT // max(1, len(new)))
            new = {mq: offsets[-share:] for mq, offsets in new.items()}
            self.unseen += came - sum(map(len, new.values()))
            fitting = [(mq, message) for mq, message in _read(stores, new) if self.wanted.fits(message)]
            came = len(fitting)
        else:
            fitting = _read(stores, {mq: offsets[-room:] for mq, offsets in new.items()}) if room else []
        shown = fitting[-room:] if room else []
        for mq, message in shown:
            self._add(mq, message)
        self._used += len(shown)
        self.seen += came
        self.rest += came - len(shown)

    def _add(self, mq: MessageQueue, message: StoredMessage) -> None:
        self._number += 1
        self.rows.append((self._number, message_row(message, mq.broker)))

    def _room(self, now_s: float) -> int:
        """Return how many rows may still be shown in this second."""
        if int(now_s) != self._second:
            self._second, self._used = int(now_s), 0
        return max(0, ROWS_PER_S - self._used)


class MessageTails:
    """The tails of all filters in use; at the limit the one that was not read for longest is dropped."""

    def __init__(self) -> None:
        self._tails: dict[Wanted, MessageTail] = {}

    def of(self, filters: Wanted) -> MessageTail:
        tail = self._tails.pop(filters, None) or MessageTail(filters)
        self._tails[filters] = tail
        if len(self._tails) > TAILS:
            del self._tails[next(iter(self._tails))]
        return tail

    def forget(self) -> None:
        """Drop all tails, because a log starts again and its offsets have other messages now."""
        self._tails.clear()


def _low(stores: dict[str, MessageStore], mq: MessageQueue) -> int:
    return stores[mq.broker].min_offset(mq.topic, mq.queue_id)


def _read(stores: dict[str, MessageStore], ranges: dict[MessageQueue, range]) -> list[Arrived]:
    """Return the messages in the order they were stored."""
    arrived: list[Arrived] = []
    for mq, offsets in ranges.items():
        store = stores[mq.broker]
        for offset in offsets:
            unit = store.unit(mq.topic, mq.queue_id, offset)
            message = store.read_message(unit.physical_offset) if unit is not None else None
            if message is not None:
                arrived.append((mq, message))
    return sorted(arrived, key=lambda pair: (pair[1].store_ms, pair[0].broker, pair[1].physical_offset))
