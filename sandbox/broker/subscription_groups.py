"""What the broker allows each consumer group."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from sandbox.broker.config import BrokerConfig
from sandbox.journal.events import GroupChanged, LimitReached
from sandbox.journal.journal import Journal
from sandbox.kernel.clock import Clock
from sandbox.remoting.bodies import DataVersion

BUILT_IN = ("TOOLS_CONSUMER", "FILTERSRV_CONSUMER", "SELF_TEST_C_GROUP", "CID_ONS-HTTP-PROXY", "CID_ONSAPI_PULL",
            "CID_ONSAPI_PERMISSION", "CID_ONSAPI_OWNER")  # fmt: skip
SYSTEM_PREFIX = "CID_RMQ_SYS_"  # created even where groups are not


@dataclass(frozen=True, slots=True)
class SubscriptionGroupConfig:
    """RocketMQ: `SubscriptionGroupConfig`."""

    group: str
    consume_enable: bool = True
    consume_from_min_enable: bool = True
    consume_broadcast_enable: bool = True
    retry_queues: int = 1
    retry_max_times: int = 16
    broker_id: int = 0
    which_broker_when_slow: int = 1
    notify_ids_changed: bool = True

    def to_json(self) -> dict[str, Any]:
        return {key: getattr(self, name) for name, key in _KEYS.items()}

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> "SubscriptionGroupConfig":
        """Unknown keys are left alone, missing ones keep their default.

        Raises ValueError without a group name, TypeError for a value of another kind than RocketMQ's.
        """
        group = values.get("groupName")
        if not isinstance(group, str) or not group:
            raise ValueError("a subscription group has a name")
        known = {name: values[key] for name, key in _KEYS.items() if key in values}
        for name, value in known.items():
            if type(value) is not type(getattr(cls(group), name)):
                raise TypeError(f"{_KEYS[name]} is {value!r:.40}")
        return cls(**known)


_KEYS = {
    "broker_id": "brokerId", "consume_broadcast_enable": "consumeBroadcastEnable", "consume_enable": "consumeEnable",
    "consume_from_min_enable": "consumeFromMinEnable", "group": "groupName",
    "notify_ids_changed": "notifyConsumerIdsChangedEnable", "retry_max_times": "retryMaxTimes",
    "retry_queues": "retryQueueNums", "which_broker_when_slow": "whichBrokerWhenConsumeSlowly",
}  # fmt: skip


class SubscriptionGroupManager:
    """RocketMQ: `SubscriptionGroupManager`, `subscriptionGroup.json`.  `save` is called after each change."""

    def __init__(self, config: BrokerConfig, clock: Clock, journal: Journal, save: Callable[[], None]) -> None:
        self._config = config
        self._clock = clock
        self._journal = journal
        self._save = save
        self.version = DataVersion(0, clock.now_ms())
        self.table: dict[str, SubscriptionGroupConfig] = {name: SubscriptionGroupConfig(name) for name in BUILT_IN}
        self._limit_said_ms = -1_000

    def find(self, group: str) -> SubscriptionGroupConfig | None:
        """The group's rules, made now if groups may make themselves.  RocketMQ: `findSubscriptionGroupConfig`."""
        known = self.table.get(group)
        if known is not None:
            return known
        system = group.startswith(SYSTEM_PREFIX)
        if not group or not (system or self._config.auto_create_subscription_group):
            return None
        if not system and self._full(group):
            return None
        return self._put(SubscriptionGroupConfig(group), {"created": "automatic"})

    def update(self, wanted: SubscriptionGroupConfig) -> None:
        before = self.table.get(wanted.group)
        old = before.to_json() if before else {}
        self._put(wanted, {key: value for key, value in wanted.to_json().items() if old.get(key) != value})

    def change(self, group: str, **changes: Any) -> None:
        """Change single fields of a known group."""
        self.update(replace(self.table[group], **changes))

    def delete(self, group: str) -> bool:
        if self.table.pop(group, None) is None:
            return False
        self._changed(group, {"deleted": True})
        return True

    def to_json(self) -> dict[str, Any]:
        return {"dataVersion": self.version.to_json(),
                "subscriptionGroupTable": {name: self.table[name].to_json() for name in sorted(self.table)}}

    def load(self, content: Any) -> None:
        """Take over `subscriptionGroup.json`; built-in groups stay if it lacks them."""
        if not isinstance(content, dict):
            return
        self.version = DataVersion.from_json(content.get("dataVersion"))
        for name, values in content.get("subscriptionGroupTable", {}).items():
            self.table[name] = SubscriptionGroupConfig.from_json({"groupName": name, **values})

    def take_over(self, content: Any) -> None:
        """What a slave has is what its master has; the same version: nothing to do."""
        version = DataVersion.from_json(content.get("dataVersion"))
        if version == self.version:
            return
        rows = content.get("subscriptionGroupTable", {}).items()
        table = {name: SubscriptionGroupConfig.from_json({"groupName": name, **values}) for name, values in rows}
        self.version = version
        self.table.clear()
        self.table.update(table)
        self._save()

    def _full(self, group: str) -> bool:
        allowed = self._config.limits.groups
        made = sum(1 for name in self.table if name not in BUILT_IN and not name.startswith(SYSTEM_PREFIX))
        if allowed is None or made < allowed:
            return False
        now_ms = self._clock.now_ms()
        if now_ms - self._limit_said_ms >= 1_000:
            self._limit_said_ms = now_ms
            self._journal.write(LimitReached(limit="groups", value=made + 1, allowed=allowed, who=group))
        return True

    def _put(self, config: SubscriptionGroupConfig, changes: dict[str, Any]) -> SubscriptionGroupConfig:
        self.table[config.group] = config
        self._changed(config.group, changes)
        return config

    def _changed(self, group: str, changes: dict[str, Any]) -> None:
        self.version = self.version.next(self._clock.now_ms())
        self._save()
        if changes:
            self._journal.write(GroupChanged(group=group, broker=self._config.node, changes=changes))


