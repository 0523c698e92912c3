"""Headers for statistics."""

from typing import NamedTuple, Self

from sandbox.remoting.fields import Ext, int32_or_none, int64_or_none, is_true, text, text_or_none, written


class StatsHeader(NamedTuple):
    """The header of VIEW_BROKER_STATS_DATA (315): one counter.  RocketMQ: `ViewBrokerStatsDataRequestHeader`."""

    name: str
    key: str

    @classmethod
    def from_ext(cls, ext: Ext) -> Self:
        return cls(text(ext, "statsName"), text(ext, "statsKey"))

    def to_ext(self) -> dict[str, str]:
        return {"statsName": self.name, "statsKey": self.key}


class AllConsumeStatsHeader(NamedTuple):
    """The header of GET_BROKER_CONSUME_STATS (317).  RocketMQ: `GetConsumeStatsInBrokerHeader`.

    `order`: only topics marked as orderly.
    """

    order: bool = False

    @classmethod
    def from_ext(cls, ext: Ext) -> Self:
        return cls(is_true(ext, "isOrder"))

    def to_ext(self) -> dict[str, str]:
        return written(isOrder=self.order)


class QueueEntriesHeader(NamedTuple):
    """The header of QUERY_CONSUME_QUEUE (321).  RocketMQ: `QueryConsumeQueueRequestHeader`.

    Missing fields are 0, as in Java.
    """

    topic: str
    queue_id: int
    first: int
    most: int
    group: str | None = None

    @classmethod
    def from_ext(cls, ext: Ext) -> Self:
        return cls(
            text(ext, "topic"),
            int32_or_none(ext, "queueId") or 0,
            int64_or_none(ext, "index") or 0,
            int32_or_none(ext, "count") or 0,
            text_or_none(ext, "consumerGroup"),
        )

    def to_ext(self) -> dict[str, str]:
        return written(
            topic=self.topic, queueId=self.queue_id, index=self.first, count=self.most, consumerGroup=self.group
        )


class CorrectionOffsetHeader(NamedTuple):
    """The header of QUERY_CORRECTION_OFFSET (308).  RocketMQ: `QueryCorrectionOffsetHeader`.

    `filter_groups` are left out.
    """

    topic: str
    compare_group: str
    filter_groups: tuple[str, ...] = ()

    @classmethod
    def from_ext(cls, ext: Ext) -> Self:
        names = (text_or_none(ext, "filterGroups") or "").split(",")
        return cls(text(ext, "topic"), text(ext, "compareGroup"), tuple(name for name in names if name))

    def to_ext(self) -> dict[str, str]:
        return written(topic=self.topic, compareGroup=self.compare_group, filterGroups=",".join(self.filter_groups))
