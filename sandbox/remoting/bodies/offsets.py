"""Bodies for offsets: statistics of topics and groups, resets, whole tables."""

from typing import Any, NamedTuple, Self

from sandbox.remoting.json_body import Queue, dumps, loads, number, queue_json, queue_key, queue_of, reading, table


class TopicOffset(NamedTuple):
    """The offsets of one queue of a topic in the response to 202."""

    min_offset: int
    max_offset: int
    last_update_ms: int


class TopicStats(NamedTuple):
    """The response to GET_TOPIC_STATS_INFO (202).  RocketMQ: `TopicStatsTable`."""

    queues: dict[Queue, TopicOffset]

    def encode(self) -> bytes:
        return dumps(
            {
                "offsetTable": {
                    queue_key(queue): {
                        "lastUpdateTimestamp": row.last_update_ms,
                        "maxOffset": row.max_offset,
                        "minOffset": row.min_offset,
                    }
                    for queue, row in self.queues.items()
                }
            }
        )

    @classmethod
    def decode(cls, data: bytes | None) -> Self:
        with reading("topic statistics"):
            return cls(
                {
                    queue_of(key): TopicOffset(
                        number(row["minOffset"]), number(row["maxOffset"]), number(row["lastUpdateTimestamp"])
                    )
                    for key, row in table(loads(data).get("offsetTable")).items()
                }
            )


class GroupOffset(NamedTuple):
    """The offsets of a group in one queue, in the response to 208.

    `last_ms` is the store time of the last consumed message.  `pull_offset`, the next offset to deliver, is reported
    by 5.x only.
    """

    broker_offset: int
    consumer_offset: int
    last_ms: int
    pull_offset: int | None = None

    def to_json(self) -> dict[str, Any]:
        value = {
            "brokerOffset": self.broker_offset,
            "consumerOffset": self.consumer_offset,
            "lastTimestamp": self.last_ms,
        }
        return value if self.pull_offset is None else {**value, "pullOffset": self.pull_offset}

    @classmethod
    def from_json(cls, value: dict[str, object]) -> Self:
        pull_offset = value.get("pullOffset")
        return cls(
            number(value["brokerOffset"]),
            number(value["consumerOffset"]),
            number(value["lastTimestamp"]),
            None if pull_offset is None else number(pull_offset),
        )


class ConsumeStats(NamedTuple):
    """The response to GET_CONSUME_STATS (208)."""

    queues: dict[Queue, GroupOffset]
    consume_tps: float = 0.0

    def to_json(self) -> dict[str, object]:
        return {
            "consumeTps": self.consume_tps,
            "offsetTable": {queue_key(queue): row.to_json() for queue, row in self.queues.items()},
        }

    @classmethod
    def from_json(cls, value: Any) -> Self:
        value = table(value)
        return cls(
            {queue_of(key): GroupOffset.from_json(row) for key, row in table(value.get("offsetTable")).items()},
            float(value.get("consumeTps", 0.0)),
        )

    def encode(self) -> bytes:
        return dumps(self.to_json())

    @classmethod
    def decode(cls, data: bytes | None) -> Self:
        with reading("consume statistics"):
            return cls.from_json(loads(data))


class ResetOffsetBody(NamedTuple):
    """The body of RESET_CONSUMER_CLIENT_OFFSET (220), and of the response to 222: the new offsets."""

    offsets: dict[Queue, int]

    def encode(self) -> bytes:
        """Encode in RocketMQ's own form, keys without quotes.

        Go's client 2.1 reads strict JSON as gson's form and crashes.
        """
        rows = ",".join(f"{queue_key(queue)}:{offset}" for queue, offset in self.offsets.items())
        return b'{"offsetTable":{%s}}' % rows.encode()

    def encode_for_c(self) -> bytes:
        """Encode in the list form, which C++ clients read and Java cannot."""
        return dumps(
            {"offsetTable": [{**queue_json(queue), "offset": offset} for queue, offset in self.offsets.items()]}
        )

    @classmethod
    def decode(cls, data: bytes | None) -> Self:
        """Decode either form."""
        with reading("set of offsets"):
            offsets = loads(data).get("offsetTable")
            if isinstance(offsets, list):
                return cls({queue_of(row): number(row["offset"]) for row in offsets})
            return cls({queue_of(key): number(offset) for key, offset in table(offsets).items()})


class ConsumerStatusBody(NamedTuple):
    """The responses to 221, with the offsets of one client (`queues`), and to 223, with those of all (`clients`)."""

    queues: dict[Queue, int]
    clients: dict[str, dict[Queue, int]]

    def encode(self) -> bytes:
        return dumps(
            {
                "consumerTable": {
                    client: {queue_key(queue): offset for queue, offset in offsets.items()}
                    for client, offsets in self.clients.items()
                },
                "messageQueueTable": {queue_key(queue): offset for queue, offset in self.queues.items()},
            }
        )

    @classmethod
    def decode(cls, data: bytes | None) -> Self:
        with reading("consumer status"):
            value = loads(data)
            return cls(
                {queue_of(key): number(offset) for key, offset in table(value.get("messageQueueTable")).items()},
                {
                    client: {queue_of(key): number(offset) for key, offset in table(offsets).items()}
                    for client, offsets in table(value.get("consumerTable")).items()
                },
            )


class OffsetWrapper(NamedTuple):
    """The response to GET_ALL_CONSUMER_OFFSET (43): offset by `topic@group` and queue id.

    RocketMQ: `ConsumerOffsetSerializeWrapper`.  Queue ids are written with quotes; RocketMQ itself writes none.
    """

    offsets: dict[str, dict[int, int]]

    def encode(self) -> bytes:
        return dumps({"offsetTable": self.offsets})

    @classmethod
    def decode(cls, data: bytes | None) -> Self:
        with reading("table of offsets"):
            return cls(
                {
                    name: {int(queue_id): number(offset) for queue_id, offset in table(queues).items()}
                    for name, queues in table(loads(data).get("offsetTable")).items()
                }
            )
