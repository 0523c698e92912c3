"""Bodies for routes and clusters."""

from typing import NamedTuple, Self

from sandbox.remoting.json_body import dumps, loads, number, reading, rows, table, text


class QueueData(NamedTuple):
    """A topic's queues on one broker.  `permission`: 4 read, 2 write, 1 inherit."""

    broker: str
    read_queues: int
    write_queues: int
    permission: int
    sys_flag: int = 0

    def to_json(self) -> dict[str, object]:
        return {
            "brokerName": self.broker,
            "perm": self.permission,
            "readQueueNums": self.read_queues,
            "topicSysFlag": self.sys_flag,
            "writeQueueNums": self.write_queues,
        }

    @classmethod
    def from_json(cls, value: dict[str, object]) -> Self:
        return cls(
            text(value["brokerName"]),
            number(value["readQueueNums"]),
            number(value["writeQueueNums"]),
            number(value["perm"]),
            number(value.get("topicSysFlag") or 0),
        )


class BrokerData(NamedTuple):
    """The nodes of one broker name; id 0 is the master."""

    name: str
    cluster: str
    addresses: dict[int, str]

    def to_json(self) -> dict[str, object]:
        return {"brokerAddrs": self.addresses, "brokerName": self.name, "cluster": self.cluster}

    @classmethod
    def from_json(cls, value: dict[str, object]) -> Self:
        return cls(
            text(value["brokerName"]),
            text(value.get("cluster") or ""),
            {int(broker_id): text(address) for broker_id, address in table(value.get("brokerAddrs")).items()},
        )


class TopicRouteData(NamedTuple):
    """The response to GET_ROUTEINFO_BY_TOPIC (105)."""

    queues: tuple[QueueData, ...]
    brokers: tuple[BrokerData, ...]
    order_topic_conf: str | None = None

    def encode(self) -> bytes:
        """Encode with quoted broker ids, which all clients read (spec remoting 3.2)."""
        value: dict[str, object] = {
            "brokerDatas": [broker.to_json() for broker in self.brokers],
            "filterServerTable": {},
        }
        if self.order_topic_conf is not None:
            value["orderTopicConf"] = self.order_topic_conf
        value["queueDatas"] = [queue.to_json() for queue in self.queues]
        return dumps(value)

    @classmethod
    def decode(cls, data: bytes | None) -> Self:
        with reading("route"):
            value = loads(data)
            conf = value.get("orderTopicConf")
            return cls(
                tuple(map(QueueData.from_json, rows(value.get("queueDatas")))),
                tuple(map(BrokerData.from_json, rows(value.get("brokerDatas")))),
                None if conf is None else text(conf),
            )


class ClusterInfo(NamedTuple):
    """The response to GET_BROKER_CLUSTER_INFO (106): brokers by name, and the broker names of each cluster."""

    brokers: dict[str, BrokerData]
    clusters: dict[str, tuple[str, ...]]

    def encode(self) -> bytes:
        return dumps(
            {
                "brokerAddrTable": {name: broker.to_json() for name, broker in self.brokers.items()},
                "clusterAddrTable": self.clusters,
            }
        )

    @classmethod
    def decode(cls, data: bytes | None) -> Self:
        with reading("cluster"):
            value = loads(data)
            return cls(
                {name: BrokerData.from_json(row) for name, row in table(value.get("brokerAddrTable")).items()},
                {name: tuple(map(text, rows(names))) for name, names in table(value.get("clusterAddrTable")).items()},
            )
