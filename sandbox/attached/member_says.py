"""A member's running info (307), converted to the terms of the pages."""

from typing import NamedTuple, Self, TypedDict

from sandbox.client.allocate import AllocateMessageQueueStrategy, strategy
from sandbox.kernel.errors import ClientError
from sandbox.message.queue import MessageQueue
from sandbox.queries.rows.board import CachedMessages, PullLimits
from sandbox.remoting.bodies import QueueRunningInfo, RunningInfo, SubscriptionData

MIB = 1024 * 1024

HeldQueue = QueueRunningInfo

_STRATEGIES = {
    "AllocateMessageQueueAveragely": "AVG",
    "AllocateMessageQueueAveragelyByCircle": "AVG_BY_CIRCLE",
    "AllocateMessageQueueConsistentHash": "CONSISTENT_HASH",
    "AllocateMessageQueueByConfig": "CONFIG",
    "AllocateMessageQueueByMachineRoom": "MACHINE_ROOM",
    "AllocateMachineRoomNearby": "MACHINE_ROOM_NEARBY",
}
_COMPUTED = ("AVG", "AVG_BY_CIRCLE", "CONSISTENT_HASH")
DEFAULT_STRATEGY = "AVG"


class MemberSays(NamedTuple):
    """One member's report.  A Java client sends every field of its configuration, others a part."""

    properties: dict[str, str]
    queues: dict[MessageQueue, HeldQueue]
    heard_ms: int
    subscriptions: tuple[SubscriptionData, ...] = ()  # its own; none: not reported

    @classmethod
    def of(cls, reported: RunningInfo, heard_ms: int) -> Self:
        queues = {MessageQueue(*queue): held for queue, held in reported.queues.items()}
        return cls(reported.properties, queues, heard_ms, tuple(sorted(reported.subscriptions)))

    @property
    def kind(self) -> str | None:
        return {"CONSUME_PASSIVELY": "push", "CONSUME_ACTIVELY": "pull"}.get(
            self.properties.get("PROP_CONSUME_TYPE", "")
        )

    @property
    def listener(self) -> str | None:
        return {"true": "orderly", "false": "concurrent"}.get(self.properties.get("PROP_CONSUMEORDERLY", ""))

    @property
    def model(self) -> str | None:
        return reported if (reported := self.properties.get("messageModel")) in ("CLUSTERING", "BROADCASTING") else None

    @property
    def threads(self) -> int | None:
        """The number of threads in the pool, or None.  A Go client sends −1: it has no thread pool."""
        reported = self._number("PROP_THREADPOOL_CORE_SIZE")
        return reported if reported is not None and reported > 0 else None

    @property
    def since_ms(self) -> int | None:
        return self._number("PROP_CONSUMER_START_TIMESTAMP") or None

    @property
    def strategy(self) -> str | None:
        """The strategy, by the class name that begins Java's `toString`.  None: another class, or not reported."""
        name = self.properties.get("allocateMessageQueueStrategy", "").partition("@")[0].rpartition(".")[2]
        return _STRATEGIES.get(name)

    @property
    def limits(self) -> PullLimits | None:
        """The flow control limits of the member's pulls, or None if not reported."""
        count = self._number("pullThresholdForQueue")
        if count is None:
            return None
        size_mib = self._number("pullThresholdSizeForQueue")
        return {
            "count": count,
            "bytes": None if size_mib is None else size_mib * MIB,
            "span": self._number("consumeConcurrentlyMaxSpan"),
        }

    def held(self, topic: str | None) -> dict[MessageQueue, HeldQueue]:
        """Return the queues that the member holds and has not dropped, of one topic or all."""
        return {mq: held for mq, held in self.queues.items() if topic in (None, mq.topic) and not held.dropped}

    def _number(self, name: str) -> int | None:
        text = self.properties.get(name, "")
        return int(text) if text.removeprefix("-").isdecimal() else None


def computed_strategy(reported: str | None) -> AllocateMessageQueueStrategy:
    """Return the strategy to compute assignments with.

    It is RocketMQ's default if none was reported, or if the reported one needs lists or rooms, which are unknown here.
    """
    try:
        return strategy(reported if reported in _COMPUTED else DEFAULT_STRATEGY)
    except ClientError:
        return strategy(DEFAULT_STRATEGY)


class Position(TypedDict):
    """The fields of a queue's row that its member reports."""

    in_memory: str | None
    cells_from: str | None
    cached: CachedMessages | None


NOWHERE: Position = {"in_memory": None, "cells_from": None, "cached": None}


def position(held: HeldQueue, committed: int | None) -> Position:
    """Return the offset the member would commit now, and its cached offsets.

    The smallest cached offset is the oldest unfinished one.  A member is polled less often than its broker: if its
    offset is below `committed`, its report is outdated, and all values are None.
    """
    if committed is not None and 0 <= held.committed_offset < committed:
        return NOWHERE
    count = held.cached_count + held.taken_count
    ends = [
        (low, high)
        for low, high, some in (
            (held.cached_min_offset, held.cached_max_offset, held.cached_count),
            (held.taken_min_offset, held.taken_max_offset, held.taken_count),
        )
        if some
    ]
    cached: CachedMessages | None = None
    if ends:
        cached = {"count": count, "min": str(min(low for low, _ in ends)), "max": str(max(high for _, high in ends))}
    return {
        "in_memory": None if held.committed_offset < 0 else str(held.committed_offset),
        "cells_from": cached["min"] if cached else None,
        "cached": cached,
    }
