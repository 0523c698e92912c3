"""Headers for one offset of one queue: query, response, change."""

from typing import NamedTuple, Self

from sandbox.remoting.fields import Ext, int32, int64, is_true, text, text_or_none, written


class QueueHeader(NamedTuple):
    """The header of 30, 31 and 32: largest offset, smallest offset, earliest store time of a queue."""

    topic: str
    queue_id: int
    broker: str | None = None

    @classmethod
    def from_ext(cls, ext: Ext) -> Self:
        return cls(text(ext, "topic"), int32(ext, "queueId"), text_or_none(ext, "bname"))

    def to_ext(self) -> dict[str, str]:
        return written(topic=self.topic, queueId=self.queue_id, bname=self.broker)


class SearchOffsetHeader(NamedTuple):
    """The header of SEARCH_OFFSET_BY_TIMESTAMP (29): the offset near a store time."""

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
    """The header of QUERY_CONSUMER_OFFSET (14): the committed offset of a group.

    Only 5.x sends `set_zero_if_not_found`; a 4.9 broker ignores it.
    """

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
    """The header of UPDATE_CONSUMER_OFFSET (15): commit an offset."""

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
    """The header of the responses to 14, 29, 30 and 31."""

    offset: int

    @classmethod
    def from_ext(cls, ext: Ext) -> Self:
        return cls(int64(ext, "offset"))

    def to_ext(self) -> dict[str, str]:
        return {"offset": str(self.offset)}


class TimestampResponseHeader(NamedTuple):
    """The header of the response to 32; -1 if the queue is empty."""

    timestamp_ms: int

    @classmethod
    def from_ext(cls, ext: Ext) -> Self:
        return cls(int64(ext, "timestamp"))

    def to_ext(self) -> dict[str, str]:
        return {"timestamp": str(self.timestamp_ms)}
