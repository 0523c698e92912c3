"""Bodies for broker statistics: time spans of queues, counters, queue entries."""

from typing import Any, NamedTuple, Self

from sandbox.kernel.calendar_text import stamp
from sandbox.remoting.bodies.groups import SubscriptionData
from sandbox.remoting.bodies.offsets import ConsumeStats
from sandbox.remoting.json_body import Queue, dumps, loads, number, queue_json, queue_of, reading, rows, table


class QueueTimeSpan(NamedTuple):
    """The time span of one queue in the response to 303, in ms; -1 for a time without a message."""

    queue: Queue
    min_ms: int
    max_ms: int
    consumed_ms: int
    delay_ms: int

    def to_json(self, utc_offset_minutes: int) -> dict[str, object]:
        """Return the JSON value, with RocketMQ's own text forms of the times."""
        named = {"minTimeStamp": self.min_ms, "maxTimeStamp": self.max_ms, "consumeTimeStamp": self.consumed_ms}
        texts = {f"{name}Str": _human(at_ms, utc_offset_minutes) for name, at_ms in named.items()}
        return {"messageQueue": queue_json(self.queue), "delayTime": self.delay_ms, **named, **texts}

    @classmethod
    def from_json(cls, value: dict[str, object]) -> Self:
        return cls(
            queue_of(value["messageQueue"]),
            number(value["minTimeStamp"]),
            number(value["maxTimeStamp"]),
            number(value["consumeTimeStamp"]),
            number(value["delayTime"]),
        )


class ConsumeTimeSpans(NamedTuple):
    """The response to QUERY_CONSUME_TIME_SPAN (303).  RocketMQ: `QueryConsumeTimeSpanBody`."""

    spans: tuple[QueueTimeSpan, ...]

    def encode(self, utc_offset_minutes: int = 0) -> bytes:
        return dumps({"consumeTimeSpanSet": [span.to_json(utc_offset_minutes) for span in self.spans]})

    @classmethod
    def decode(cls, data: bytes | None) -> Self:
        with reading("set of spans"):
            return cls(tuple(map(QueueTimeSpan.from_json, rows(loads(data).get("consumeTimeSpanSet")))))


class StatsSpan(NamedTuple):
    """One time span of one counter: its `sum`, mean per second, mean per call.  RocketMQ: `BrokerStatsItem`."""

    sum: int = 0
    tps: float = 0.0
    per_call: float = 0.0

    def to_json(self) -> dict[str, object]:
        return {"avgpt": self.per_call, "sum": self.sum, "tps": self.tps}

    @classmethod
    def from_json(cls, value: Any) -> Self:
        value = table(value)
        return cls(number(value.get("sum", 0)), float(value.get("tps", 0.0)), float(value.get("avgpt", 0.0)))


class StatsData(NamedTuple):
    """The response to VIEW_BROKER_STATS_DATA (315).  RocketMQ: `BrokerStatsData`."""

    minute: StatsSpan
    hour: StatsSpan
    day: StatsSpan

    def encode(self) -> bytes:
        return dumps(
            {"statsDay": self.day.to_json(), "statsHour": self.hour.to_json(), "statsMinute": self.minute.to_json()}
        )

    @classmethod
    def decode(cls, data: bytes | None) -> Self:
        with reading("counter"):
            value = loads(data)
            return cls(*(StatsSpan.from_json(value.get(key)) for key in ("statsMinute", "statsHour", "statsDay")))


class ConsumeStatsList(NamedTuple):
    """The response to GET_BROKER_CONSUME_STATS (317): every group with its statistics, one per topic.

    `lag`: messages that are not consumed yet, of all groups and topics together.
    """

    broker_address: str
    groups: tuple[tuple[str, tuple[ConsumeStats, ...]], ...]
    lag: int

    def encode(self) -> bytes:
        return dumps(
            {
                "brokerAddr": self.broker_address,
                "totalDiff": self.lag,
                "consumeStatsList": [
                    {group: [stats.to_json() for stats in stats_list]} for group, stats_list in self.groups
                ],
            }
        )

    @classmethod
    def decode(cls, data: bytes | None) -> Self:
        with reading("list of consume statistics"):
            value = loads(data)
            groups = tuple(
                (group, tuple(map(ConsumeStats.from_json, rows(stats_list))))
                for row in rows(value.get("consumeStatsList"))
                for group, stats_list in table(row).items()
            )
            return cls(str(value.get("brokerAddr", "")), groups, number(value.get("totalDiff", 0)))


class QueueEntry(NamedTuple):
    """One entry of a consume queue (20 bytes)."""

    physical_offset: int
    store_bytes: int
    tags_code: int


class QueueEntries(NamedTuple):
    """The response to QUERY_CONSUME_QUEUE (321).

    `filter_data` is a text: the broker's data of the group's SQL filter.
    """

    min_offset: int
    max_offset: int
    entries: tuple[QueueEntry, ...]
    subscription: SubscriptionData | None = None
    filter_data: str | None = None

    def encode(self) -> bytes:
        value: dict[str, object] = {
            "maxQueueIndex": self.max_offset,
            "minQueueIndex": self.min_offset,
            "queueData": [
                {
                    "eval": False,
                    "physicOffset": entry.physical_offset,
                    "physicSize": entry.store_bytes,
                    "tagsCode": entry.tags_code,
                }
                for entry in self.entries
            ],
        }
        if self.subscription is not None:
            value["subscriptionData"] = self.subscription.to_json()
        if self.filter_data is not None:
            value["filterData"] = self.filter_data
        return dumps(value)

    @classmethod
    def decode(cls, data: bytes | None) -> Self:
        with reading("part of a queue"):
            value = loads(data)
            sub = value.get("subscriptionData")
            return cls(
                number(value["minQueueIndex"]),
                number(value["maxQueueIndex"]),
                tuple(
                    QueueEntry(number(row["physicOffset"]), number(row["physicSize"]), number(row["tagsCode"]))
                    for row in rows(value.get("queueData"))
                ),
                None if sub is None else SubscriptionData.from_json(sub),
                value.get("filterData"),
            )


class CorrectionOffsets(NamedTuple):
    """The response to QUERY_CORRECTION_OFFSET (308): offset by queue id.

    Queue ids are written with quotes; RocketMQ writes none.
    """

    offsets: dict[int, int]

    def encode(self) -> bytes:
        return dumps({"correctionOffsets": self.offsets})

    @classmethod
    def decode(cls, data: bytes | None) -> Self:
        with reading("set of offsets"):
            return cls(
                {
                    int(queue_id): number(offset)
                    for queue_id, offset in table(loads(data).get("correctionOffsets")).items()
                }
            )


def _human(at_ms: int, utc_offset_minutes: int) -> str:
    """Return a time in the broker's own time zone as text.  RocketMQ: `UtilAll.YYYY_MM_DD_HH_MM_SS_SSS`."""
    text = stamp(at_ms, utc_offset_minutes)
    return f"{text[:4]}-{text[4:6]}-{text[6:8]}#{text[8:10]}:{text[10:12]}:{text[12:14]}:{text[14:]}"
