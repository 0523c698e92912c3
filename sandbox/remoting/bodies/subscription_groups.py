"""A broker's settings of a consumer group, which administrators write (200) and read (201, 352)."""

from dataclasses import dataclass
from typing import Any, NamedTuple, Self

from sandbox.remoting.bodies.topics import DataVersion
from sandbox.remoting.json_body import dumps, loads, reading, table


@dataclass(frozen=True, slots=True)
class SubscriptionGroupConfig:
    """The settings of a consumer group.  RocketMQ: `SubscriptionGroupConfig`; fields of 5.x are not read."""

    group: str
    consume_enable: bool = True
    consume_from_min_enable: bool = True
    consume_broadcast_enable: bool = True
    retry_queues: int = 1
    retry_max_times: int = 16
    broker_id: int = 0
    which_broker_when_slow: int = 1
    notify_ids_changed: bool = True

    def to_json(self) -> dict[str, object]:
        return {key: getattr(self, name) for name, key in _KEYS.items()}

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> "SubscriptionGroupConfig":
        """Decode the settings; unknown keys are ignored, missing ones keep their default.

        Raises ValueError without a group name, TypeError for a value of another type than RocketMQ's.
        """
        group = values.get("groupName")
        if not isinstance(group, str) or not group:
            raise ValueError("a subscription group has a name")
        known = {name: values[key] for name, key in _KEYS.items() if key in values}
        for name, value in known.items():
            if type(value) is not type(getattr(cls(group), name)):
                raise TypeError(f"{_KEYS[name]} is {value!r:.40}")
        return cls(**known)

    def encode(self) -> bytes:
        return dumps(self.to_json())

    @classmethod
    def decode(cls, data: bytes | None) -> "SubscriptionGroupConfig":
        """Decode the body of 200 and of the response to 352."""
        with reading("subscription group"):
            return cls.from_json(loads(data))


_KEYS = {
    "broker_id": "brokerId",
    "consume_broadcast_enable": "consumeBroadcastEnable",
    "consume_enable": "consumeEnable",
    "consume_from_min_enable": "consumeFromMinEnable",
    "group": "groupName",
    "notify_ids_changed": "notifyConsumerIdsChangedEnable",
    "retry_max_times": "retryMaxTimes",
    "retry_queues": "retryQueueNums",
    "which_broker_when_slow": "whichBrokerWhenConsumeSlowly",
}


class SubscriptionGroupTable(NamedTuple):
    """The response to GET_ALL_SUBSCRIPTIONGROUP_CONFIG (201), and the content of `subscriptionGroup.json`.

    RocketMQ: `SubscriptionGroupWrapper`.
    """

    version: DataVersion
    groups: dict[str, SubscriptionGroupConfig]

    def to_json(self) -> dict[str, object]:
        return {
            "dataVersion": self.version.to_json(),
            "subscriptionGroupTable": {name: self.groups[name].to_json() for name in sorted(self.groups)},
        }

    @classmethod
    def from_json(cls, value: Any) -> Self:
        rows = table(table(value).get("subscriptionGroupTable")).items()
        return cls(
            DataVersion.from_json(table(value).get("dataVersion")),
            {name: SubscriptionGroupConfig.from_json({"groupName": name, **table(row)}) for name, row in rows},
        )

    def encode(self) -> bytes:
        return dumps(self.to_json())

    @classmethod
    def decode(cls, data: bytes | None) -> Self:
        with reading("table of subscription groups"):
            return cls.from_json(loads(data))
