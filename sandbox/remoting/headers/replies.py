"""The header of a reply that the broker sends to the requester (spec remoting 2.3, 6)."""

from typing import NamedTuple, Self

from sandbox.remoting.fields import (
    Ext,
    int32,
    int32_or_none,
    int64,
    int64_or_none,
    is_true,
    text,
    text_or_none,
    written,
)
from sandbox.remoting.headers.messages import SendHeader


class PushReplyHeader(NamedTuple):
    """The header of PUSH_REPLY_MESSAGE_TO_CLIENT (326).  RocketMQ: `ReplyMessageRequestHeader`.

    Addresses are `ip:port`.
    """

    group: str
    topic: str
    default_topic: str | None
    default_topic_queues: int | None
    queue_id: int
    sys_flag: int
    born_ms: int
    flag: int
    properties: str
    reconsume_times: int
    unit_mode: bool
    born_host: str | None
    store_host: str | None
    store_ms: int

    @classmethod
    def of(cls, sent: SendHeader, properties: str, *, born_host: str, store_host: str, store_ms: int) -> Self:
        """Return the header of the replier's send with the broker's fields added."""
        return cls(
            sent.group,
            sent.topic,
            sent.default_topic,
            sent.default_topic_queues,
            sent.queue_id,
            sent.sys_flag,
            sent.born_ms,
            sent.flag,
            properties,
            sent.reconsume_times,
            sent.unit_mode,
            born_host,
            store_host,
            store_ms,
        )

    @classmethod
    def from_ext(cls, ext: Ext) -> Self:
        return cls(
            text(ext, "producerGroup"),
            text(ext, "topic"),
            text_or_none(ext, "defaultTopic"),
            int32_or_none(ext, "defaultTopicQueueNums"),
            int32(ext, "queueId"),
            int32(ext, "sysFlag"),
            int64(ext, "bornTimestamp"),
            int32(ext, "flag"),
            text_or_none(ext, "properties") or "",
            int32_or_none(ext, "reconsumeTimes") or 0,
            is_true(ext, "unitMode"),
            text_or_none(ext, "bornHost"),
            text_or_none(ext, "storeHost"),
            int64_or_none(ext, "storeTimestamp") or 0,
        )

    def to_ext(self) -> dict[str, str]:
        return written(
            producerGroup=self.group,
            topic=self.topic,
            defaultTopic=self.default_topic,
            defaultTopicQueueNums=self.default_topic_queues,
            queueId=self.queue_id,
            sysFlag=self.sys_flag,
            bornTimestamp=self.born_ms,
            flag=self.flag,
            properties=self.properties,
            reconsumeTimes=self.reconsume_times,
            unitMode=self.unit_mode,
            bornHost=self.born_host,
            storeHost=self.store_host,
            storeTimestamp=self.store_ms,
        )
