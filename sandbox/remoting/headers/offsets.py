"""Headers about one offset of one queue: query, answer, change."""

from typing import NamedTuple, Self

from sandbox.remoting.fields import Ext, int32, int64, is_true, text, text_or_none, written


class QueueHeader(NamedTuple):
    """30, 31, 32: largest offset, smallest offset, earliest store time of a queue."""

    topic: str
    queue_id: int
    broker: str | None = None

    @classmethod
    def from_ext(cls, ext: Ext) -> Self:
        return cls(text(ext, "topic"), int32(ext, "queueId"), text_or_none(ext, "bname"))

    def to_ext(self) -> dict[str, str]:
        return written(topic=self.topic, queueId=self.queue_id, bname=self.broker)


class SearchOffsetHeader(NamedTuple):
    """29: the offset near a store time."""

    topic: str
    queue_id: int
    timestamp_ms: int
    broker: str | None = None

    @classmethod
    def from_ext(cls, ext: Ext) -> Self:
        return cls(text(ext, "topic"), int32(ext, "queueId"), int64(ext, "timestamp"), text_or_none(ext, "bname"))

    def to_ext(self) -> dict[str, str]:
        return written(topic=self.topic, queueId=self.queue_id, timestamp=self.timestamp_ms, bname=self.broker)


class QueryOffsetHeader(NamedTuple):
    """14: the committed offset of a group.  `set_zero_if_not_found` is sent by 5.x only; a 4.9 broker ignores it."""

    group: str
    topic: str
    queue_id: int
    broker: str | None = None
    set_zero_if_not_found: bool = False

    @classmethod
    def from_ext(cls, ext: Ext) -> Self:
        return cls(
            text(ext, "consumerGroup"),
            text(ext, "topic"),
            int32(ext, "queueId"),
            text_or_none(ext, "bname"),
            is_true(ext, "setZeroIfNotFound"),
        )

    def to_ext(self) -> dict[str, str]:
        return written(
            consumerGroup=self.group,
            topic=self.topic,
            queueId=self.queue_id,
            bname=self.broker,
            setZeroIfNotFound=self.set_zero_if_not_found or None,
        )


class UpdateOffsetHeader(NamedTuple):
    """15: commit."""

    group: str
    topic: str
    queue_id: int
    commit_offset: int
    broker: str | None = None

    @classmethod
    def from_ext(cls, ext: Ext) -> Self:
        return cls(
            text(ext, "consumerGroup"),
            text(ext, "topic"),
            int32(ext, "queueId"),
            int64(ext, "commitOffset"),
            text_or_none(ext, "bname"),
        )

    def to_ext(self) -> dict[str, str]:
        return written(
            consumerGroup=self.group,
            topic=self.topic,
            queueId=self.queue_id,
            commitOffset=self.commit_offset,
            bname=self.broker,
        )


class OffsetResponseHeader(NamedTuple):
    """The answer to 14, 29, 30 and 31."""

    offset: int

    @classmethod
    def from_ext(cls, ext: Ext) -> Self:
        return cls(int64(ext, "offset"))

    def to_ext(self) -> dict[str, str]:
        return {"offset": str(self.offset)}


class TimestampResponseHeader(NamedTuple):
    """The answer to 32; -1 when the queue is empty."""

    timestamp_ms: int

    @classmethod
    def from_ext(cls, ext: Ext) -> Self:
        return cls(int64(ext, "timestamp"))

    def to_ext(self) -> dict[str, str]:
        return {"timestamp": str(self.timestamp_ms)}
