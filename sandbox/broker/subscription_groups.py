"""Configuration of each consumer group on the broker."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from sandbox.broker.config import BrokerConfig
from sandbox.journal.events import GroupChanged, LimitReached
from sandbox.journal.journal import Journal
from sandbox.kernel.clock import Clock
from sandbox.message.topic_names import group_complaint
from sandbox.remoting.bodies import DataVersion, SubscriptionGroupConfig, SubscriptionGroupTable

BUILT_IN = (
    "TOOLS_CONSUMER",
    "FILTERSRV_CONSUMER",
    "SELF_TEST_C_GROUP",
    "CID_ONS-HTTP-PROXY",
    "CID_ONSAPI_PULL",
    "CID_ONSAPI_PERMISSION",
    "CID_ONSAPI_OWNER",
)
SYSTEM_PREFIX = "CID_RMQ_SYS_"  # created even where groups are not created automatically
MAX_SYSTEM_GROUPS = 64  # any client may name such a group


class SubscriptionGroupManager:
    """Table of group configurations.  RocketMQ: `SubscriptionGroupManager`, `subscriptionGroup.json`.

    `save` is called after each change.
    """

    def __init__(self, config: BrokerConfig, clock: Clock, journal: Journal, save: Callable[[], None]) -> None:
        self._config = config
        self._clock = clock
        self._journal = journal
        self._save = save
        self.version = DataVersion(0, clock.now_ms())
        self.table: dict[str, SubscriptionGroupConfig] = {name: SubscriptionGroupConfig(name) for name in BUILT_IN}
        self._limit_said_ms = -1_000
        self._counted: tuple[DataVersion, int, int] | None = None  # by version: system groups and the others

    def find(self, group: str) -> SubscriptionGroupConfig | None:
        """Return the group's configuration, created if that is automatic; else None.

        RocketMQ: `findSubscriptionGroupConfig`.
        """
        known = self.table.get(group)
        if known is not None:
            return known
        system = group.startswith(SYSTEM_PREFIX)
        if not group or not (system or self._config.auto_create_subscription_group):
            return None
        if self.refusal(group) is not None:
            return None
        return self._put(SubscriptionGroupConfig(group), {"created": "automatic"})

    def refusal(self, group: str) -> str | None:
        """Return the reason why the group cannot be created, as a sentence; None if it can or if it exists."""
        if group in self.table:
            return None
        if (complaint := group_complaint(group)) is not None:
            return complaint
        if self._full(group):
            return "this broker has no room for another group"
        return None

    def update(self, config: SubscriptionGroupConfig) -> None:
        before = self.table.get(config.group)
        old = before.to_json() if before else {}
        self._put(config, {key: value for key, value in config.to_json().items() if old.get(key) != value})

    def change(self, group: str, **changes: Any) -> None:
        """Change single fields of an existing group's configuration."""
        self.update(replace(self.table[group], **changes))

    def delete(self, group: str) -> bool:
        if self.table.pop(group, None) is None:
            return False
        self._changed(group, {"deleted": True})
        return True

    def to_json(self) -> dict[str, object]:
        return SubscriptionGroupTable(self.version, self.table).to_json()

    def load(self, content: Any) -> None:
        """Load `subscriptionGroup.json`; built-in groups stay if the file lacks them.

        Raises the errors that `JsonFile.load` expects.
        """
        table = SubscriptionGroupTable.from_json(content)
        self.version = table.version
        self.table.update(table.groups)

    def take_over(self, content: Any) -> None:
        """Replace a slave's table by its master's; do nothing if the versions are equal."""
        version = DataVersion.from_json(content.get("dataVersion"))
        if version == self.version:
            return
        table = SubscriptionGroupTable.from_json(content)
        self.version = version
        self.table.clear()
        self.table.update(table.groups)
        self._save()

    def _full(self, group: str) -> bool:
        made, others = self._totals()
        allowed: int | None = MAX_SYSTEM_GROUPS
        if not group.startswith(SYSTEM_PREFIX):
            made, allowed = others, self._config.limits.groups
        if allowed is None or made < allowed:
            return False
        now_ms = self._clock.now_ms()
        if now_ms - self._limit_said_ms >= 1_000:
            self._limit_said_ms = now_ms
            self._journal.write(LimitReached(limit="groups", value=made + 1, allowed=allowed, who=group))
        return True

    def _totals(self) -> tuple[int, int]:
        """Return the number of system groups, and of groups neither system nor built in.

        Cached until the next change.
        """
        if self._counted is None or self._counted[0] is not self.version:
            system = sum(name.startswith(SYSTEM_PREFIX) for name in self.table)
            self._counted = (self.version, system, sum(name not in BUILT_IN for name in self.table) - system)
        return self._counted[1:]

    def _put(self, config: SubscriptionGroupConfig, changes: dict[str, object]) -> SubscriptionGroupConfig:
        system, others = self._totals()
        if config.group not in self.table and config.group not in BUILT_IN:
            is_system = config.group.startswith(SYSTEM_PREFIX)
            system, others = system + is_system, others + (not is_system)
        self.table[config.group] = config
        self._changed(config.group, changes)
        self._counted = (self.version, system, others)
        return config

    def _changed(self, group: str, changes: dict[str, object]) -> None:
        self.version = self.version.next(self._clock.now_ms())
        self._save()
        if changes:
            self._journal.write(GroupChanged(group=group, broker=self._config.node, changes=changes))
