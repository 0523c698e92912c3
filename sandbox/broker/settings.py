"""Settings that administrators can read, those that they can change while a broker runs, and the allowed values."""

import re
from dataclasses import replace
from typing import Any, NamedTuple

from sandbox.broker.config import PROPERTIES, BrokerConfig
from sandbox.broker.fixed_settings import FIXED
from sandbox.kernel.errors import BrokerRefused
from sandbox.remoting.codes import ResponseCode
from sandbox.store.config import CONSUME_QUEUE_UNIT_BYTES, SLAVE, MessageStoreConfig, delay_levels_text
from sandbox.store.config import PROPERTIES as STORE_PROPERTIES
from sandbox.store.message_store import MessageStore

FORBIDDEN = frozenset({"brokerConfigPath", "configBlackList", "rocketmqHome"})  # configBlackList of 4.9.8


class Bounds(NamedTuple):
    low: int
    high: int


# Settings read at each use; the rest takes effect at the broker's start.
LIVE_NUMBERS = {
    "brokerPermission": Bounds(0, 7),
    "transactionTimeOut": Bounds(0, 86_400_000),
    "transactionCheckMax": Bounds(0, 1_000),
    "transactionCheckInterval": Bounds(1_000, 86_400_000),
    "registerNameServerPeriod": Bounds(10_000, 60_000),
    "flushConsumerOffsetInterval": Bounds(1_000, 86_400_000),
    "shortPollingTimeMills": Bounds(1_000, 60_000),
    "defaultQueryMaxNum": Bounds(1, 10_000),
    "startAcceptSendRequestTimeStamp": Bounds(0, 2**62),
    "fileReservedTime": Bounds(0, 87_600),
    "diskMaxUsedSpaceRatio": Bounds(10, 95),
}
LIVE_FLAGS = frozenset(
    {
        "autoCreateTopicEnable",
        "autoCreateSubscriptionGroup",
        "notifyConsumerIdsChangedEnable",
        "slaveReadEnable",
        "enablePropertyFilter",
        "rejectTransactionMessage",
        "storeReplyMessageEnable",
        "traceOn",
        "cleanFileForciblyEnable",
    }
)
HOURS = re.compile(r"([01]?\d|2[0-3])(;([01]?\d|2[0-3])){0,23}")  # deleteWhen


def as_settings(config: BrokerConfig, store: MessageStoreConfig) -> dict[str, str]:
    """Return every setting that applies to this broker, by RocketMQ's names, sorted."""
    ip, _, port = config.address.rpartition(":")
    values = {key: _text(getattr(store, name)) for key, name in STORE_PROPERTIES.items()}
    values |= {key: _text(getattr(config, name)) for key, name in PROPERTIES.items()}
    values |= FIXED
    values |= {
        "aclEnable": _text(config.acl is not None),
        "brokerName": config.name,
        "brokerIP1": ip,
        "brokerIP2": ip,
        "listenPort": port,
        "haListenPort": config.ha_address.rpartition(":")[2],
        "brokerRole": store.replication if config.is_master else SLAVE,
        "messageDelayLevel": delay_levels_text(store.delay_levels_ms),
        "serverChannelMaxIdleTimeSeconds": str(config.channel_idle_ms // 1000),
        "mappedFileSizeConsumeQueue": str(store.consume_queue_file_entries * CONSUME_QUEUE_UNIT_BYTES),
    }
    return dict(sorted(values.items()))


def changes(config: BrokerConfig, store: MessageStoreConfig, requested: dict[str, str]) -> dict[str, object]:
    """Return the changed values by RocketMQ's names; unknown names and invalid numbers are ignored.

    Raises BrokerRefused: 16 if a setting cannot be changed while the broker runs, 1 if a value is out of bounds.
    """
    if FORBIDDEN & requested.keys():
        raise BrokerRefused(ResponseCode.NO_PERMISSION, "Can not update config in black list.")
    now = as_settings(config, store)
    changed: dict[str, object] = {}
    for key, text in requested.items():
        value = _wanted(key, text.strip(), now)
        if value is not None:
            changed[key] = value
    return changed


def settle(config: BrokerConfig, store: MessageStore, changes: dict[str, Any]) -> None:
    """Apply changed values, by RocketMQ's names."""
    for key in changes.keys() & PROPERTIES.keys():
        setattr(config, PROPERTIES[key], changes[key])
    of_store = {STORE_PROPERTIES[key]: value for key, value in changes.items() if key in STORE_PROPERTIES}
    store.config = store.cleaning.config = replace(store.config, **of_store)


def _wanted(key: str, text: str, now: dict[str, str]) -> int | bool | str | None:
    """Return the new value of a setting, or None if it does not change."""
    if key in LIVE_FLAGS:
        flag = text.lower() == "true"
        return None if _text(flag) == now[key] else flag
    if key not in now or text == now[key]:
        return None
    if key == "deleteWhen":
        return text if HOURS.fullmatch(text) else None
    bounds = LIVE_NUMBERS.get(key)
    if bounds is None:
        raise BrokerRefused(ResponseCode.NO_PERMISSION, f"{key} cannot be changed while the broker runs.")
    if not text.removeprefix("-").isdecimal() or len(text) > 20:
        return None
    if not bounds.low <= int(text) <= bounds.high:
        raise BrokerRefused(ResponseCode.SYSTEM_ERROR, f"{key} is {bounds.low} to {bounds.high} here, not {text}")
    return int(text)


def _text(value: Any) -> str:
    return ("true" if value else "false") if isinstance(value, bool) else str(value)
