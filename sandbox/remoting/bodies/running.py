"""The body with a member's running info, requested by an administrator (GET_CONSUMER_RUNNING_INFO, 307)."""

from typing import Any, NamedTuple, Self

from sandbox.remoting.bodies.groups import SubscriptionData
from sandbox.remoting.json_body import Queue, dumps, loads, number, queue_key, queue_of, reading, rows, table


class QueueRunningInfo(NamedTuple):
    """One queue in the memory of its member.  RocketMQ: `ProcessQueueInfo`.

    `cached`: pulled and waiting, with offsets 0 if none is.  `taken`: being processed by an orderly listener.
    `committed_offset` is the offset that the member would commit now, -1 without one.  Times in ms: a time that has
    not occurred is 0, or the time when the member acquired the queue.
    """

    committed_offset: int
    cached_count: int
    cached_min_offset: int
    cached_max_offset: int
    cached_mib: int
    taken_count: int
    taken_min_offset: int
    taken_max_offset: int
    locked: bool
    last_lock_ms: int
    unlock_tries: int
    dropped: bool
    last_pull_ms: int
    last_consume_ms: int

    def to_json(self) -> dict[str, object]:
        return dict(zip(_QUEUE_KEYS, self, strict=True))

    @classmethod
    def from_json(cls, value: dict[str, object]) -> Self:
        """Decode one queue; a missing field is 0 or false."""
        read: dict[str, Any] = {
            name: value.get(key) is True if name in _FLAGS else number(value.get(key) or 0)
            for name, key in zip(cls._fields, _QUEUE_KEYS, strict=True)
        }
        return cls(**read)


_QUEUE_KEYS = (
    "commitOffset",
    "cachedMsgCount",
    "cachedMsgMinOffset",
    "cachedMsgMaxOffset",
    "cachedMsgSizeInMiB",
    "transactionMsgCount",
    "transactionMsgMinOffset",
    "transactionMsgMaxOffset",
    "locked",
    "lastLockTimestamp",
    "tryUnlockTimes",
    "droped",
    "lastPullTimestamp",
    "lastConsumeTimestamp",
)
_FLAGS = frozenset({"locked", "dropped"})


class TopicRunningStatus(NamedTuple):
    """Averages over the last minutes for one topic of the member.  RocketMQ: `ConsumeStatus`."""

    pull_rt_ms: float
    pull_tps: float
    consume_rt_ms: float
    consume_ok_tps: float
    consume_failed_tps: float
    consume_failed_messages: int

    def to_json(self) -> dict[str, object]:
        return dict(zip(_STATUS_KEYS, self, strict=True))

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Self:
        *means, failed = (value.get(key) or 0 for key in _STATUS_KEYS)
        pull_rt_ms, pull_tps, consume_rt_ms, ok_tps, failed_tps = map(float, means)
        return cls(pull_rt_ms, pull_tps, consume_rt_ms, ok_tps, failed_tps, number(failed))


_STATUS_KEYS = ("pullRT", "pullTPS", "consumeRT", "consumeOKTPS", "consumeFailedTPS", "consumeFailedMsgs")


class RunningInfo(NamedTuple):
    """The response to GET_CONSUMER_RUNNING_INFO (307).  RocketMQ: `ConsumerRunningInfo`.

    `stacks`: the stacks of its threads, if requested.  Pull and lite pull consumers send no queues; clients in other
    languages mostly send only queues.
    """

    properties: dict[str, str]
    queues: dict[Queue, QueueRunningInfo]
    subscriptions: tuple[SubscriptionData, ...] = ()
    statuses: dict[str, TopicRunningStatus] = {}
    stacks: str | None = None

    def encode(self) -> bytes:
        value: dict[str, object] = {
            "properties": self.properties,
            "mqTable": {queue_key(queue): row.to_json() for queue, row in self.queues.items()},
            "statusTable": {topic: row.to_json() for topic, row in self.statuses.items()},
            "subscriptionSet": [subscription.to_json() for subscription in self.subscriptions],
        }
        if self.stacks is not None:
            value["jstack"] = self.stacks
        return dumps(value)

    @classmethod
    def decode(cls, data: bytes | None) -> Self:
        with reading("account of a member"):
            value = loads(data)
            stacks = value.get("jstack")
            return cls(
                {name: str(setting) for name, setting in table(value.get("properties")).items()},
                {queue_of(key): QueueRunningInfo.from_json(row) for key, row in table(value.get("mqTable")).items()},
                tuple(map(SubscriptionData.from_json, rows(value.get("subscriptionSet")))),
                {topic: TopicRunningStatus.from_json(row) for topic, row in table(value.get("statusTable")).items()},
                None if stacks is None else str(stacks),
            )
