"""Headers for topics, routes and the brokers that register them."""

from typing import NamedTuple, Self

from sandbox.remoting.fields import Ext, int32, int32_or_none, int64, is_true, text, text_or_none, written


class TopicHeader(NamedTuple):
    """The header of 202, 215 and 300: a topic only."""

    topic: str

    @classmethod
    def from_ext(cls, ext: Ext) -> Self:
        return cls(text(ext, "topic"))

    def to_ext(self) -> dict[str, str]:
        return {"topic": self.topic}


class RouteHeader(NamedTuple):
    """The header of GET_ROUTEINFO_BY_TOPIC (105).

    `standard_json` requests quoted keys, which our responses always have.
    """

    topic: str
    standard_json: bool = False

    @classmethod
    def from_ext(cls, ext: Ext) -> Self:
        return cls(text(ext, "topic"), is_true(ext, "acceptStandardJsonOnly"))

    def to_ext(self) -> dict[str, str]:
        return written(topic=self.topic, acceptStandardJsonOnly=self.standard_json or None)


class CreateTopicHeader(NamedTuple):
    """The header of UPDATE_AND_CREATE_TOPIC (17).  RocketMQ: `CreateTopicRequestHeader`.

    A 4.9 broker reads neither `order` nor `default_topic`.
    """

    topic: str
    read_queues: int
    write_queues: int
    permission: int
    filter_type: str = "SINGLE_TAG"
    sys_flag: int = 0
    order: bool = False
    default_topic: str = "TBW102"

    @classmethod
    def from_ext(cls, ext: Ext) -> Self:
        return cls(
            text(ext, "topic"),
            int32(ext, "readQueueNums"),
            int32(ext, "writeQueueNums"),
            int32(ext, "perm"),
            text_or_none(ext, "topicFilterType") or "SINGLE_TAG",
            int32_or_none(ext, "topicSysFlag") or 0,
            is_true(ext, "order"),
            text_or_none(ext, "defaultTopic") or "TBW102",
        )

    def to_ext(self) -> dict[str, str]:
        return written(
            topic=self.topic,
            defaultTopic=self.default_topic,
            readQueueNums=self.read_queues,
            writeQueueNums=self.write_queues,
            perm=self.permission,
            topicFilterType=self.filter_type,
            topicSysFlag=self.sys_flag,
            order=self.order,
        )


class DeleteTopicInNamesrvHeader(NamedTuple):
    """The header of DELETE_TOPIC_IN_NAMESRV (216); with a cluster: only from its brokers."""

    topic: str
    cluster: str | None = None

    @classmethod
    def from_ext(cls, ext: Ext) -> Self:
        return cls(text(ext, "topic"), text_or_none(ext, "clusterName") or None)

    def to_ext(self) -> dict[str, str]:
        return written(topic=self.topic, clusterName=self.cluster)


class RegisterBrokerHeader(NamedTuple):
    """The header of REGISTER_BROKER (103).

    `body_crc32` is the CRC-32 of the body without its top bit; 0: not checked.
    """

    broker: str
    address: str
    cluster: str
    ha_address: str
    broker_id: int
    compressed: bool = False
    body_crc32: int = 0

    @classmethod
    def from_ext(cls, ext: Ext) -> Self:
        return cls(
            text(ext, "brokerName"),
            text(ext, "brokerAddr"),
            text(ext, "clusterName"),
            text_or_none(ext, "haServerAddr") or "",
            int64(ext, "brokerId"),
            is_true(ext, "compressed"),
            int32_or_none(ext, "bodyCrc32") or 0,
        )

    def to_ext(self) -> dict[str, str]:
        return written(
            brokerName=self.broker,
            brokerAddr=self.address,
            clusterName=self.cluster,
            haServerAddr=self.ha_address,
            brokerId=self.broker_id,
            compressed=self.compressed,
            bodyCrc32=self.body_crc32,
        )


class RegisterBrokerResponseHeader(NamedTuple):
    """The header of the response to REGISTER_BROKER: the master's addresses for a slave, empty for masters."""

    ha_address: str | None = None
    master_address: str | None = None

    @classmethod
    def from_ext(cls, ext: Ext) -> Self:
        return cls(text_or_none(ext, "haServerAddr"), text_or_none(ext, "masterAddr"))

    def to_ext(self) -> dict[str, str]:
        return written(haServerAddr=self.ha_address, masterAddr=self.master_address)


class UnregisterBrokerHeader(NamedTuple):
    """The header of UNREGISTER_BROKER (104), and of 322, which queries the version of a table."""

    broker: str
    address: str
    cluster: str
    broker_id: int

    @classmethod
    def from_ext(cls, ext: Ext) -> Self:
        return cls(text(ext, "brokerName"), text(ext, "brokerAddr"), text(ext, "clusterName"), int64(ext, "brokerId"))

    def to_ext(self) -> dict[str, str]:
        return written(
            brokerName=self.broker, brokerAddr=self.address, clusterName=self.cluster, brokerId=self.broker_id
        )


class BrokerNameHeader(NamedTuple):
    """The header of 205 and 327: remove or restore the write permission of a broker's topics."""

    broker: str

    @classmethod
    def from_ext(cls, ext: Ext) -> Self:
        return cls(text(ext, "brokerName"))

    def to_ext(self) -> dict[str, str]:
        return {"brokerName": self.broker}
