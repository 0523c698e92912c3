"""Compiled SQL92 filters of consumer groups, by topic."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from sandbox.broker.bloom_positions import BITS, HASHES, bloom_positions
from sandbox.kernel.clock import Clock
from sandbox.kernel.errors import BadExpression
from sandbox.message.filter import SQL92, TAG
from sandbox.message.sql_filter import SqlFilter, compile_sql
from sandbox.remoting.bodies import SubscriptionData

MAX_FILTERS = 1_024  # of one broker; heartbeats may name any groups and topics
KEEP_DEAD_MS = 24 * 3_600_000  # RocketMQ: filterDataCleanTimeSpan
DEAD_BEFORE_LOAD_MS = 30_000

compiled = lru_cache(maxsize=256)(compile_sql)
"""The same text is compiled once.  Raises BadExpression."""


@dataclass(slots=True)
class ConsumerFilterData:
    """SQL92 filter of a group for one topic.  It is dead, but kept, while no member subscribes to the topic."""

    group: str
    topic: str
    filter: SqlFilter
    born_ms: int
    version: int  # of the subscription; a pull that names a newer one is refused (28)
    dead_ms: int = 0

    @property
    def dead(self) -> bool:
        return self.dead_ms >= self.born_ms

    def to_json(self) -> dict[str, object]:
        return {
            "bloomFilterData": {"bitNum": BITS, "bitPos": list(bloom_positions(self.group, self.topic))},
            "bornTime": self.born_ms,
            "clientVersion": self.version,
            "consumerGroup": self.group,
            "dead": self.dead,
            "deadTime": self.dead_ms,
            "expression": self.filter.expression,
            "expressionType": SQL92,
            "topic": self.topic,
        }


class ConsumerFilterManager:
    """SQL92 filters, set by heartbeats whether or not the broker filters, and kept in `consumerFilter.json`.

    An expression that does not compile is not kept, and removes the older one of its group and topic: pulls are then
    refused (27).  RocketMQ: `ConsumerFilterManager` (spec broker-behaviour 5 and 14, store-format 10).
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.table: dict[tuple[str, str], ConsumerFilterData] = {}  # by topic and group
        self.changed = False  # since the file was written last

    def get(self, topic: str, group: str) -> ConsumerFilterData | None:
        return self.table.get((topic, group))

    def register(self, group: str, subscriptions: Iterable[SubscriptionData]) -> None:
        """Apply a heartbeat of a group.

        Filters of its subscriptions are alive; the group's other filters are dead from now on.
        """
        named = set()
        for sub in subscriptions:
            named.add(sub.topic)
            if (sub.expression_type or TAG) != TAG and sub.sub_string:
                self._register(group, sub)
        self._bury(group, but=named)

    def unregister(self, group: str) -> None:
        """Mark all filters of a group as dead, because its last member left."""
        self._bury(group, but=set())

    def clean(self) -> None:
        """Remove filters that have been dead for a day."""
        now_ms = self._clock.now_ms()
        for key in [key for key, data in self.table.items() if data.dead and now_ms - data.dead_ms >= KEEP_DEAD_MS]:
            del self.table[key]
            self.changed = True

    def to_json(self) -> dict[str, object]:
        topics: dict[str, dict[str, Any]] = {}
        for (topic, group), data in sorted(self.table.items()):
            rows = topics.setdefault(topic, {"groupFilterData": {}, "topic": topic})
            rows["groupFilterData"][group] = data.to_json()
        return {"filterDataByTopic": topics}

    def load(self, content: Any) -> None:
        """Load `consumerFilter.json`.  All its filters are dead until a heartbeat names them again.

        A file with another bloom filter size is ignored, as by RocketMQ.  An expression that does not compile is
        omitted; RocketMQ keeps it and lets every message pass.  Raises the errors that `JsonFile.load` expects.
        """
        table: dict[tuple[str, str], ConsumerFilterData] = {}
        for topic, rows in content.get("filterDataByTopic", {}).items():
            for group, row in rows.get("groupFilterData", {}).items():
                bloom = row.get("bloomFilterData") or {}
                if bloom.get("bitNum") != BITS or len(bloom.get("bitPos") or ()) != HASHES:
                    return
                data = self._loaded(str(topic), str(group), row)
                if data is not None and len(table) < MAX_FILTERS:
                    table[data.topic, data.group] = data
        self.table, self.changed = table, bool(table)  # they are dead now

    def _loaded(self, topic: str, group: str, row: dict[str, Any]) -> ConsumerFilterData | None:
        try:
            filtered = compiled(str(row["expression"]))
        except BadExpression:
            return None
        born_ms, dead_ms = int(row["bornTime"]), int(row.get("deadTime", 0))
        return ConsumerFilterData(
            group,
            topic,
            filtered,
            born_ms,
            int(row["clientVersion"]),
            dead_ms or max(born_ms, self._clock.now_ms() - DEAD_BEFORE_LOAD_MS),
        )

    def _register(self, group: str, sub: SubscriptionData) -> None:
        old = self.table.get((sub.topic, group))
        if old is not None and sub.sub_version <= old.version:
            if sub.sub_version == old.version and old.dead:
                old.dead_ms = 0
                self.changed = True
            return
        if old is not None and old.filter.expression == sub.sub_string and sub.expression_type == SQL92:
            old.version, old.dead_ms = sub.sub_version, 0
        else:
            self._put(group, sub)
        self.changed = True

    def _put(self, group: str, sub: SubscriptionData) -> None:
        self.table.pop((sub.topic, group), None)
        if len(self.table) >= MAX_FILTERS and not self._make_room():
            return
        try:
            if sub.expression_type == SQL92:
                self.table[sub.topic, group] = ConsumerFilterData(
                    group, sub.topic, compiled(sub.sub_string), self._clock.now_ms(), sub.sub_version
                )
        except BadExpression:
            pass  # not kept: the pull is refused (27)

    def _make_room(self) -> bool:
        """Remove the filter that has been dead longest; return False if all are alive."""
        dead = [key for key, data in self.table.items() if data.dead]
        if not dead:
            return False
        del self.table[min(dead, key=lambda key: self.table[key].dead_ms)]
        return True

    def _bury(self, group: str, *, but: set[str]) -> None:
        for data in self.table.values():
            if data.group == group and data.topic not in but and not data.dead:
                data.dead_ms = self._clock.now_ms()
                self.changed = True
