"""Bodies for topics, and a broker's registration."""

from typing import Any, NamedTuple, Self

from sandbox.remoting.json_body import dumps, loads, number, reading, rows, table, text


class DataVersion(NamedTuple):
    """The version of a table: compared for equality, never for order."""

    counter: int = 0
    timestamp: int = 0

    def next(self, now_ms: int) -> "DataVersion":
        return DataVersion(self.counter + 1, now_ms)

    def to_json(self) -> dict[str, object]:
        return {"counter": self.counter, "timestamp": self.timestamp}

    @classmethod
    def from_json(cls, value: Any) -> Self:
        value = table(value)
        return cls(number(value.get("counter", 0)), number(value.get("timestamp", 0)))

    def encode(self) -> bytes:
        return dumps(self.to_json())

    @classmethod
    def decode(cls, data: bytes | None) -> Self:
        with reading("data version"):
            return cls.from_json(loads(data))


class TopicConfig(NamedTuple):
    """A topic on one broker.  `permission`: 4 read, 2 write, 1 inherit."""

    topic: str
    read_queues: int = 16
    write_queues: int = 16
    permission: int = 6
    filter_type: str = "SINGLE_TAG"
    sys_flag: int = 0
    order: bool = False

    def to_json(self) -> dict[str, object]:
        return {
            "order": self.order,
            "perm": self.permission,
            "readQueueNums": self.read_queues,
            "topicFilterType": self.filter_type,
            "topicName": self.topic,
            "topicSysFlag": self.sys_flag,
            "writeQueueNums": self.write_queues,
        }

    @classmethod
    def from_json(cls, value: dict[str, object]) -> Self:
        return cls(
            text(value["topicName"]),
            number(value.get("readQueueNums", 16)),
            number(value.get("writeQueueNums", 16)),
            number(value.get("perm", 6)),
            text(value.get("topicFilterType") or "SINGLE_TAG"),
            number(value.get("topicSysFlag") or 0),
            value.get("order") is True,
        )


class TopicConfigTable(NamedTuple):
    """The response to GET_ALL_TOPIC_CONFIG (21), and the main part of a registration.

    RocketMQ: `TopicConfigSerializeWrapper`.
    """

    version: DataVersion
    topics: dict[str, TopicConfig]

    def to_json(self) -> dict[str, object]:
        return {
            "dataVersion": self.version.to_json(),
            "topicConfigTable": {name: topic.to_json() for name, topic in self.topics.items()},
        }

    @classmethod
    def from_json(cls, value: Any) -> Self:
        value = table(value)
        return cls(
            DataVersion.from_json(value.get("dataVersion")),
            {
                name: TopicConfig.from_json({"topicName": name, **table(row)})
                for name, row in table(value.get("topicConfigTable")).items()
            },
        )

    def encode(self) -> bytes:
        return dumps(self.to_json())

    @classmethod
    def decode(cls, data: bytes | None) -> Self:
        with reading("table of topics"):
            return cls.from_json(loads(data))


class RegisterBrokerBody(NamedTuple):
    """The body of REGISTER_BROKER (103).  A request without a body counts as no topics and version 0."""

    table: TopicConfigTable
    filter_servers: tuple[str, ...] = ()

    def encode(self) -> bytes:
        return dumps({"filterServerList": self.filter_servers, "topicConfigSerializeWrapper": self.table.to_json()})

    @classmethod
    def decode(cls, data: bytes | None) -> Self:
        with reading("registration"):
            value = loads(data)
            return cls(
                TopicConfigTable.from_json(value.get("topicConfigSerializeWrapper")),
                tuple(map(text, rows(value.get("filterServerList")))),
            )


class TopicList(NamedTuple):
    """The response to 206, 224, 304 and 305: topics.  Only that to 304 has `broker_address`."""

    topics: tuple[str, ...]
    broker_address: str | None = None

    def encode(self) -> bytes:
        address = {} if self.broker_address is None else {"brokerAddr": self.broker_address}
        return dumps({**address, "topicList": self.topics})

    @classmethod
    def decode(cls, data: bytes | None) -> Self:
        with reading("list of topics"):
            value = loads(data)
            address = value.get("brokerAddr")
            return cls(tuple(map(text, rows(value.get("topicList")))), None if address is None else text(address))


class GroupList(NamedTuple):
    """The response to QUERY_TOPIC_CONSUME_BY_WHO (300): the groups that consume a topic."""

    groups: tuple[str, ...]

    def encode(self) -> bytes:
        return dumps({"groupList": self.groups})

    @classmethod
    def decode(cls, data: bytes | None) -> Self:
        with reading("list of groups"):
            return cls(tuple(map(text, rows(loads(data).get("groupList")))))


class KVTable(NamedTuple):
    """The response to 28, 103 and 219: texts by name."""

    table: dict[str, str]

    def encode(self) -> bytes:
        return dumps({"table": self.table})

    @classmethod
    def decode(cls, data: bytes | None) -> Self:
        with reading("table of texts"):
            return cls({name: text(value) for name, value in table(loads(data).get("table")).items()})
