"""Bodies for groups: heartbeats, members, connections, locks."""

from typing import Any, NamedTuple, Self

from sandbox.remoting.json_body import Queue, dumps, loads, number, queue_json, queue_of, reading, rows, table, text

# C++ clients write these enums as numbers (spec remoting 3.1).
_CONSUME_TYPES = ("CONSUME_ACTIVELY", "CONSUME_PASSIVELY")
_MESSAGE_MODELS = ("BROADCASTING", "CLUSTERING")
_FROM_WHERE = (
    "CONSUME_FROM_LAST_OFFSET",
    "CONSUME_FROM_LAST_OFFSET_AND_FROM_MIN_WHEN_BOOT_FIRST",
    "CONSUME_FROM_MIN_OFFSET",
    "CONSUME_FROM_MAX_OFFSET",
    "CONSUME_FROM_FIRST_OFFSET",
    "CONSUME_FROM_TIMESTAMP",
)


class SubscriptionData(NamedTuple):
    """A group's subscription to a topic.  `codes` are the Java hashes of `tags`; both empty for `*`."""

    topic: str
    sub_string: str
    tags: tuple[str, ...] = ()
    codes: tuple[int, ...] = ()
    sub_version: int = 0
    expression_type: str = "TAG"
    class_filter_mode: bool = False

    def to_json(self) -> dict[str, object]:
        return {
            "classFilterMode": self.class_filter_mode,
            "codeSet": self.codes,
            "expressionType": self.expression_type,
            "subString": self.sub_string,
            "subVersion": self.sub_version,
            "tagsSet": self.tags,
            "topic": self.topic,
        }

    @classmethod
    def from_json(cls, value: dict[str, object]) -> Self:
        return cls(
            text(value["topic"]),
            text(value.get("subString") or "*"),
            tuple(map(text, rows(value.get("tagsSet")))),
            tuple(map(number, rows(value.get("codeSet")))),
            number(value.get("subVersion", 0)),
            text(value.get("expressionType") or "TAG"),
            value.get("classFilterMode") is True,
        )


class ConsumerData(NamedTuple):
    """One group of one client in a heartbeat."""

    group_name: str
    consume_type: str = "CONSUME_PASSIVELY"
    message_model: str = "CLUSTERING"
    consume_from_where: str = "CONSUME_FROM_LAST_OFFSET"
    subscriptions: tuple[SubscriptionData, ...] = ()
    unit_mode: bool = False

    def to_json(self) -> dict[str, object]:
        return {
            "consumeFromWhere": self.consume_from_where,
            "consumeType": self.consume_type,
            "groupName": self.group_name,
            "messageModel": self.message_model,
            "subscriptionDataSet": [sub.to_json() for sub in self.subscriptions],
            "unitMode": self.unit_mode,
        }

    @classmethod
    def from_json(cls, value: dict[str, object]) -> Self:
        return cls(
            text(value["groupName"]),
            _named(value.get("consumeType", 1), _CONSUME_TYPES),
            _named(value.get("messageModel", 1), _MESSAGE_MODELS),
            _named(value.get("consumeFromWhere", 0), _FROM_WHERE),
            tuple(map(SubscriptionData.from_json, rows(value.get("subscriptionDataSet")))),
            value.get("unitMode") is True,
        )


class HeartbeatData(NamedTuple):
    """The body of HEART_BEAT (34).  `producers` are group names."""

    client_id: str
    producers: tuple[str, ...] = ()
    consumers: tuple[ConsumerData, ...] = ()

    def encode(self) -> bytes:
        return dumps(
            {
                "clientID": self.client_id,
                "consumerDataSet": [data.to_json() for data in self.consumers],
                "producerDataSet": [{"groupName": name} for name in self.producers],
            }
        )

    @classmethod
    def decode(cls, data: bytes | None) -> Self:
        with reading("heartbeat"):
            value = loads(data)
            return cls(
                text(value["clientID"]),
                tuple(text(row["groupName"]) for row in rows(value.get("producerDataSet"))),
                tuple(map(ConsumerData.from_json, rows(value.get("consumerDataSet")))),
            )


class CheckClientBody(NamedTuple):
    """The body of CHECK_CLIENT_CONFIG (46): a check if this group may use this subscription."""

    client_id: str
    group: str
    subscription: SubscriptionData

    def encode(self) -> bytes:
        return dumps({"clientId": self.client_id, "group": self.group, "subscriptionData": self.subscription.to_json()})

    @classmethod
    def decode(cls, data: bytes | None) -> Self:
        with reading("client configuration"):
            value = loads(data)
            return cls(
                text(value["clientId"]), text(value["group"]), SubscriptionData.from_json(value["subscriptionData"])
            )


class ConsumerList(NamedTuple):
    """The response to GET_CONSUMER_LIST_BY_GROUP (38): the members of a group."""

    client_ids: tuple[str, ...]

    def encode(self) -> bytes:
        return dumps({"consumerIdList": self.client_ids})

    @classmethod
    def decode(cls, data: bytes | None) -> Self:
        with reading("list of consumers"):
            return cls(tuple(map(text, rows(loads(data).get("consumerIdList")))))


class Connection(NamedTuple):
    """One connection in the responses to 203 and 204.  `language` is a name."""

    client_id: str
    client_address: str
    language: str
    version: int

    def to_json(self) -> dict[str, object]:
        return {
            "clientAddr": self.client_address,
            "clientId": self.client_id,
            "language": self.language,
            "version": self.version,
        }

    @classmethod
    def from_json(cls, value: dict[str, object]) -> Self:
        return cls(
            text(value["clientId"]),
            text(value["clientAddr"]),
            text(value.get("language", "OTHER")),
            number(value.get("version", 0)),
        )


class ConsumerConnection(NamedTuple):
    """The response to GET_CONSUMER_CONNECTION_LIST (203): a group as its broker has it."""

    connections: tuple[Connection, ...]
    consume_type: str
    message_model: str
    consume_from_where: str
    subscriptions: tuple[SubscriptionData, ...]

    def encode(self) -> bytes:
        return dumps(
            {
                "connectionSet": [connection.to_json() for connection in self.connections],
                "consumeFromWhere": self.consume_from_where,
                "consumeType": self.consume_type,
                "messageModel": self.message_model,
                "subscriptionTable": {sub.topic: sub.to_json() for sub in self.subscriptions},
            }
        )

    @classmethod
    def decode(cls, data: bytes | None) -> Self:
        with reading("consumer connection"):
            value = loads(data)
            return cls(
                tuple(map(Connection.from_json, rows(value.get("connectionSet")))),
                _named(value.get("consumeType", 1), _CONSUME_TYPES),
                _named(value.get("messageModel", 1), _MESSAGE_MODELS),
                _named(value.get("consumeFromWhere", 0), _FROM_WHERE),
                tuple(map(SubscriptionData.from_json, table(value.get("subscriptionTable")).values())),
            )


class ProducerConnection(NamedTuple):
    """The response to GET_PRODUCER_CONNECTION_LIST (204)."""

    connections: tuple[Connection, ...]

    def encode(self) -> bytes:
        return dumps({"connectionSet": [connection.to_json() for connection in self.connections]})

    @classmethod
    def decode(cls, data: bytes | None) -> Self:
        with reading("producer connection"):
            return cls(tuple(map(Connection.from_json, rows(loads(data).get("connectionSet")))))


class LockBatchBody(NamedTuple):
    """The body of LOCK_BATCH_MQ (41) and UNLOCK_BATCH_MQ (42): queues that a client requests to lock or unlock."""

    group: str
    client_id: str
    queues: tuple[Queue, ...]

    def encode(self) -> bytes:
        return dumps(
            {
                "clientId": self.client_id,
                "consumerGroup": self.group,
                "mqSet": [queue_json(queue) for queue in self.queues],
            }
        )

    @classmethod
    def decode(cls, data: bytes | None) -> Self:
        with reading("set of queues to lock"):
            value = loads(data)
            return cls(
                text(value["consumerGroup"]), text(value["clientId"]), tuple(map(queue_of, rows(value.get("mqSet"))))
            )


class LockedQueues(NamedTuple):
    """The response to LOCK_BATCH_MQ (41): exactly the requested queues that the client has locked now."""

    queues: tuple[Queue, ...]

    def encode(self) -> bytes:
        return dumps({"lockOKMQSet": [queue_json(queue) for queue in self.queues]})

    @classmethod
    def decode(cls, data: bytes | None) -> Self:
        with reading("set of locked queues"):
            return cls(tuple(map(queue_of, rows(loads(data).get("lockOKMQSet")))))


def _named(value: Any, names: tuple[str, ...]) -> str:
    return names[value] if isinstance(value, int) and 0 <= value < len(names) else text(value)
