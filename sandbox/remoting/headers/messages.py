"""Headers for messages: send, pull, query, view, send back."""

from operator import itemgetter
from typing import NamedTuple, Self

from sandbox.remoting.fields import (
    INT32_END,
    INT64_END,
    Ext,
    int32,
    int32_or_none,
    int64,
    is_true,
    text,
    text_or_none,
    written,
)

# Names of the same fields in SEND_MESSAGE (10) and in SEND_MESSAGE_V2, SEND_BATCH_MESSAGE
# (310, 320; spec remoting 2.4).
_V1 = (
    "producerGroup",
    "topic",
    "defaultTopic",
    "defaultTopicQueueNums",
    "queueId",
    "sysFlag",
    "bornTimestamp",
    "flag",
    "properties",
    "reconsumeTimes",
    "unitMode",
    "maxReconsumeTimes",
    "batch",
    "bname",
)
_V2 = ("a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n")
V2_NAMES = dict(zip(_V2, _V1, strict=True))
_usual = itemgetter("a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "m", "n")
_header = tuple.__new__  # half the cost of the NamedTuple's own constructor, for every message sent


class SendHeader(NamedTuple):
    """The header of sends: 10, 310, 320, 324 and 325.  RocketMQ: `SendMessageRequestHeader`, `…V2`.

    A `queue_id` below 0 lets the broker choose.  Only `batch` indicates that the body has several messages.
    """

    group: str
    topic: str
    default_topic: str | None
    default_topic_queues: int | None
    queue_id: int
    sys_flag: int
    born_ms: int
    flag: int
    properties: str = ""
    reconsume_times: int = 0
    unit_mode: bool = False
    max_reconsume_times: int | None = None
    batch: bool = False
    broker: str | None = None

    @classmethod
    def from_ext(cls, ext: Ext) -> Self:
        """Read either form: a V2 header has `b` where the old one has `topic`."""
        if ext and "b" in ext:
            return cls.from_v2(ext)
        return cls._tolerant(ext, _V1)

    @classmethod
    def from_v2(cls, ext: dict[str, str]) -> Self:
        """Read the V2 form: the common case at once, others field by field."""
        try:
            a, b, c, d, e, f, g, h, i, j, k, m, n = _usual(ext)
            if (d + e + f + g + h + j).isdecimal() and "l" not in ext:
                queue_id, sys_flag, born_ms, flag, times = int(e), int(f), int(g), int(h), int(j)
                if max(queue_id, sys_flag, flag, times) < INT32_END and born_ms < INT64_END:
                    return _header(
                        cls,
                        (
                            a,
                            b,
                            c,
                            int(d),
                            queue_id,
                            sys_flag,
                            born_ms,
                            flag,
                            i,
                            times,
                            k == "true",
                            None,
                            m == "true",
                            n,
                        ),
                    )
        except (KeyError, ValueError):
            pass
        return cls._tolerant(ext, _V2)

    @classmethod
    def _tolerant(cls, ext: Ext, names: tuple[str, ...]) -> Self:
        a, b, c, d, e, f, g, h, i, j, k, l, m, n = names  # noqa: E741  the letters of the wire
        return cls(
            text(ext, a),
            text(ext, b),
            text_or_none(ext, c),
            int32_or_none(ext, d),
            int32(ext, e),
            int32(ext, f),
            int64(ext, g),
            int32(ext, h),
            text_or_none(ext, i) or "",
            int32_or_none(ext, j) or 0,
            is_true(ext, k),
            int32_or_none(ext, l),
            is_true(ext, m),
            text_or_none(ext, n),
        )

    def to_ext(self) -> dict[str, str]:
        """Return the V2 form, which clients of 4.9 send."""
        ext = {
            "a": self.group,
            "b": self.topic,
            "d": str(self.default_topic_queues or 0),
            "e": str(self.queue_id),
            "f": str(self.sys_flag),
            "g": str(self.born_ms),
            "h": str(self.flag),
            "i": self.properties,
            "j": str(self.reconsume_times),
            "k": "true" if self.unit_mode else "false",
            "m": "true" if self.batch else "false",
        }
        if self.default_topic is not None:
            ext["c"] = self.default_topic
        if self.max_reconsume_times is not None:
            ext["l"] = str(self.max_reconsume_times)
        if self.broker is not None:
            ext["n"] = self.broker
        return ext

    def to_v1_ext(self) -> dict[str, str]:
        """Return the form with the long names of SEND_MESSAGE (10)."""
        return {_V1[_V2.index(letter)]: value for letter, value in self.to_ext().items()}


class SendResponseHeader(NamedTuple):
    """The response to a send.  `msg_id`: offset message id; comma-joined for a batch, with the first offset."""

    msg_id: str
    queue_id: int
    queue_offset: int
    transaction_id: str | None = None

    @classmethod
    def from_ext(cls, ext: Ext) -> Self:
        return cls(
            text(ext, "msgId"), int32(ext, "queueId"), int64(ext, "queueOffset"), text_or_none(ext, "transactionId")
        )

    def to_ext(self) -> dict[str, str]:
        ext = {"msgId": self.msg_id, "queueId": str(self.queue_id), "queueOffset": str(self.queue_offset)}
        if self.transaction_id is not None:
            ext["transactionId"] = self.transaction_id
        return ext


class PullHeader(NamedTuple):
    """The header of 11 and 361.  RocketMQ: `PullMessageRequestHeader`.  `sys_flag` bits: spec client-behaviour 6."""

    group: str
    topic: str
    queue_id: int
    queue_offset: int
    max_messages: int
    sys_flag: int
    commit_offset: int
    suspend_timeout_ms: int
    subscription: str | None
    sub_version: int
    expression_type: str | None = None
    broker: str | None = None

    @classmethod
    def from_ext(cls, ext: Ext) -> Self:
        return cls(
            text(ext, "consumerGroup"),
            text(ext, "topic"),
            int32(ext, "queueId"),
            int64(ext, "queueOffset"),
            int32(ext, "maxMsgNums"),
            int32(ext, "sysFlag"),
            int64(ext, "commitOffset"),
            int64(ext, "suspendTimeoutMillis"),
            text_or_none(ext, "subscription"),
            int64(ext, "subVersion"),
            text_or_none(ext, "expressionType"),
            text_or_none(ext, "bname"),
        )

    def to_ext(self) -> dict[str, str]:
        ext = {
            "consumerGroup": self.group,
            "topic": self.topic,
            "queueId": str(self.queue_id),
            "queueOffset": str(self.queue_offset),
            "maxMsgNums": str(self.max_messages),
            "sysFlag": str(self.sys_flag),
            "commitOffset": str(self.commit_offset),
            "suspendTimeoutMillis": str(self.suspend_timeout_ms),
            "subVersion": str(self.sub_version),
        }
        if self.subscription is not None:
            ext["subscription"] = self.subscription
        if self.expression_type is not None:
            ext["expressionType"] = self.expression_type
        if self.broker is not None:
            ext["bname"] = self.broker
        return ext


class PullResponseHeader(NamedTuple):
    """The header of the response to a pull with code 0, 19, 20 or 21: a client needs all four fields."""

    suggest_broker_id: int
    next_offset: int
    min_offset: int
    max_offset: int

    @classmethod
    def from_ext(cls, ext: Ext) -> Self:
        return cls(
            int64(ext, "suggestWhichBrokerId"),
            int64(ext, "nextBeginOffset"),
            int64(ext, "minOffset"),
            int64(ext, "maxOffset"),
        )

    def to_ext(self) -> dict[str, str]:
        return {
            "suggestWhichBrokerId": str(self.suggest_broker_id),
            "nextBeginOffset": str(self.next_offset),
            "minOffset": str(self.min_offset),
            "maxOffset": str(self.max_offset),
        }


class QueryMessageHeader(NamedTuple):
    """The header of QUERY_MESSAGE (12).  `unique` is `_UNIQUE_KEY_QUERY`: the key is a UNIQ_KEY."""

    topic: str
    key: str
    max_count: int
    begin_ms: int
    end_ms: int
    unique: bool = False

    @classmethod
    def from_ext(cls, ext: Ext) -> Self:
        return cls(
            text(ext, "topic"),
            text(ext, "key"),
            int32(ext, "maxNum"),
            int64(ext, "beginTimestamp"),
            int64(ext, "endTimestamp"),
            is_true(ext, "_UNIQUE_KEY_QUERY"),
        )

    def to_ext(self) -> dict[str, str]:
        return written(
            topic=self.topic,
            key=self.key,
            maxNum=self.max_count,
            beginTimestamp=self.begin_ms,
            endTimestamp=self.end_ms,
            _UNIQUE_KEY_QUERY=self.unique,
        )


class QueryMessageResponseHeader(NamedTuple):
    last_update_ms: int
    last_update_physical: int

    @classmethod
    def from_ext(cls, ext: Ext) -> Self:
        return cls(int64(ext, "indexLastUpdateTimestamp"), int64(ext, "indexLastUpdatePhyoffset"))

    def to_ext(self) -> dict[str, str]:
        return written(indexLastUpdateTimestamp=self.last_update_ms, indexLastUpdatePhyoffset=self.last_update_physical)


class ViewMessageHeader(NamedTuple):
    """The header of VIEW_MESSAGE_BY_ID (33): one record by its log offset.  Only 5.x also sends the topic."""

    physical_offset: int
    topic: str | None = None

    @classmethod
    def from_ext(cls, ext: Ext) -> Self:
        return cls(int64(ext, "offset"), text_or_none(ext, "topic"))

    def to_ext(self) -> dict[str, str]:
        return written(offset=self.physical_offset, topic=self.topic)


class SendBackHeader(NamedTuple):
    """The header of 36: consume this message again later.  RocketMQ: `ConsumerSendMsgBackRequestHeader`."""

    physical_offset: int
    group: str
    delay_level: int
    origin_msg_id: str | None = None
    origin_topic: str | None = None
    unit_mode: bool = False
    max_reconsume_times: int | None = None
    broker: str | None = None

    @classmethod
    def from_ext(cls, ext: Ext) -> Self:
        return cls(
            int64(ext, "offset"),
            text(ext, "group"),
            int32(ext, "delayLevel"),
            text_or_none(ext, "originMsgId"),
            text_or_none(ext, "originTopic"),
            is_true(ext, "unitMode"),
            int32_or_none(ext, "maxReconsumeTimes"),
            text_or_none(ext, "bname"),
        )

    def to_ext(self) -> dict[str, str]:
        return written(
            offset=self.physical_offset,
            group=self.group,
            delayLevel=self.delay_level,
            originMsgId=self.origin_msg_id,
            originTopic=self.origin_topic,
            unitMode=self.unit_mode,
            maxReconsumeTimes=self.max_reconsume_times,
            bname=self.broker,
        )
