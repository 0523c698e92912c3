"""Configuration of a broker."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sandbox.broker.acl_config import AclConfig

PERM_INHERIT = 1
PERM_WRITE = 2
PERM_READ = 4


@dataclass(frozen=True, kw_only=True)
class BrokerLimits:
    """Limits of a sandbox's broker; None means no limit (catalogue 6).

    Retry, dead-letter and built-in topics, and built-in groups, do not count.
    """

    topics: int | None = None
    queues_per_topic: int | None = None
    queues: int | None = None
    groups: int | None = None
    messages_per_s: int | None = None


@dataclass(kw_only=True)
class BrokerConfig:
    """Settings of a broker: `BrokerConfig` and the listening part of `NettyServerConfig`, defaults of 4.9.8.

    Each broker has one object.  Only UPDATE_BROKER_CONFIG (25) changes it, and only the fields that `settings`
    names.  `address` is `ip:port` or `name:port` as clients reach it.
    """

    name: str
    address: str
    cluster: str = "DefaultCluster"
    broker_id: int = 0
    permission: int = PERM_READ | PERM_WRITE
    default_topic_queues: int = 8
    auto_create_topic: bool = True
    auto_create_subscription_group: bool = True
    long_polling: bool = True
    short_polling_ms: int = 1_000
    hold_scan_ms: int = 5_000
    notify_consumer_ids_changed: bool = True
    slave_read: bool = False
    offset_check_in_slave: bool = False
    slave_sync_first_ms: int = 3_000
    slave_sync_ms: int = 10_000
    flush_consumer_offset_ms: int = 5_000
    flush_consumer_offset_first_ms: int = 10_000
    register_period_ms: int = 30_000
    register_first_ms: int = 10_000
    channel_expired_ms: int = 120_000
    channel_scan_ms: int = 10_000
    channel_idle_ms: int = 120_000
    flush_delay_offset_ms: int = 10_000
    flush_consumer_filter_ms: int = 10_000
    property_filter: bool = False
    reject_transaction: bool = False
    transaction_timeout_ms: int = 6_000
    transaction_check_max: int = 15
    transaction_check_ms: int = 60_000
    region: str = "DefaultRegion"
    trace_on: bool = True
    store_reply: bool = True
    query_max_messages: int = 32
    start_accept_send_ms: int = 0
    limits: BrokerLimits = BrokerLimits()
    acl: AclConfig | None = None  # None: unauthenticated clients may do everything
    trace_topic: bool = False
    host: str | None = None  # the IP of `address` where that is a name

    @property
    def is_master(self) -> bool:
        return self.broker_id == 0

    @property
    def node(self) -> str:
        """Name of this node in events: `broker-a`, or `broker-a.1` for a slave."""
        return self.name if self.is_master else f"{self.name}.{self.broker_id}"

    @property
    def readable(self) -> bool:
        return bool(self.permission & PERM_READ)

    @property
    def writable(self) -> bool:
        return bool(self.permission & PERM_WRITE)

    @property
    def ip(self) -> str:
        """Host part of the address that clients receive; it may be a name."""
        return self.address.rpartition(":")[0]

    @property
    def stored_address(self) -> str:
        """Address `ip:port` as records and message ids contain it."""
        ip, _, port = self.address.rpartition(":")
        return f"{self.host or ip}:{port}"

    @property
    def ha_address(self) -> str:
        ip, _, port = self.address.rpartition(":")
        return f"{ip}:{int(port) + 1}"

    @classmethod
    def from_properties(cls, properties: Mapping[str, str], *, address: str) -> "BrokerConfig":
        """Create the configuration from the keys of Apache's `broker.conf`; unknown keys are ignored.

        Raises ValueError if RocketMQ would not start: a slave needs an id above 0.
        """
        values: dict[str, Any] = {"name": properties.get("brokerName", "broker-a"), "address": address}
        for key, name in PROPERTIES.items():
            text = properties.get(key)
            if text is not None:
                values[name] = _CASTS[name](text.strip())
        if _flag(properties.get("aclEnable", "")):
            values["acl"] = AclConfig()  # no accounts yet; the broker's process adds them
        config = cls(**values)
        if properties.get("brokerRole") == "SLAVE" and config.is_master:
            raise ValueError("the brokerId of a slave is above 0")
        return config


def _flag(text: str) -> bool:
    return text.lower() == "true"


PROPERTIES = {
    "brokerClusterName": "cluster",
    "brokerId": "broker_id",
    "brokerPermission": "permission",
    "defaultTopicQueueNums": "default_topic_queues",
    "autoCreateTopicEnable": "auto_create_topic",
    "autoCreateSubscriptionGroup": "auto_create_subscription_group",
    "longPollingEnable": "long_polling",
    "shortPollingTimeMills": "short_polling_ms",
    "notifyConsumerIdsChangedEnable": "notify_consumer_ids_changed",
    "slaveReadEnable": "slave_read",
    "offsetCheckInSlave": "offset_check_in_slave",
    "flushConsumerOffsetInterval": "flush_consumer_offset_ms",
    "flushDelayOffsetInterval": "flush_delay_offset_ms",
    "registerNameServerPeriod": "register_period_ms",
    "enablePropertyFilter": "property_filter",
    "rejectTransactionMessage": "reject_transaction",
    "transactionTimeOut": "transaction_timeout_ms",
    "transactionCheckMax": "transaction_check_max",
    "transactionCheckInterval": "transaction_check_ms",
    "storeReplyMessageEnable": "store_reply",
    "traceTopicEnable": "trace_topic",
    "regionId": "region",
    "traceOn": "trace_on",
    "defaultQueryMaxNum": "query_max_messages",
    "startAcceptSendRequestTimeStamp": "start_accept_send_ms",
}

_FLAGS = {
    "auto_create_topic",
    "auto_create_subscription_group",
    "long_polling",
    "notify_consumer_ids_changed",
    "slave_read",
    "offset_check_in_slave",
    "property_filter",
    "reject_transaction",
    "trace_on",
    "store_reply",
    "trace_topic",
}
_TEXTS = {"cluster", "region"}
_CASTS: dict[str, Any] = {
    name: _flag if name in _FLAGS else str if name in _TEXTS else int for name in PROPERTIES.values()
}
