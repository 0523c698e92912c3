"""Topics of the broker, with their queues and permissions."""

from collections.abc import Callable, Collection
from typing import Any

from sandbox.broker.config import PERM_INHERIT, PERM_READ, PERM_WRITE, BrokerConfig
from sandbox.journal.events import LimitReached, TopicChanged
from sandbox.journal.journal import Journal
from sandbox.kernel.clock import Clock
from sandbox.message import topic_names as names
from sandbox.remoting.bodies import DataVersion, TopicConfig, TopicConfigTable

READ_WRITE = PERM_READ | PERM_WRITE
BENCHMARK_QUEUES = 1024
DEAD_LETTER_QUEUES = 1
GROUP_TOPICS_SPARE = 64  # retry and dead-letter topics beside two of each group
MAX_QUEUES = 4_096  # of a topic or of a group's retry topic: statistics iterate over all of them


class TopicConfigManager:
    """Table of topics.  RocketMQ: `TopicConfigManager`, `topics.json` (spec broker-behaviour 1, 2).

    `changed` is called after each change with the topic's new configuration (None if the topic was deleted).  The
    broker then writes the file and registers the change.
    """

    def __init__(
        self,
        config: BrokerConfig,
        clock: Clock,
        journal: Journal,
        changed: Callable[[TopicConfig | None], None],
        *,
        delay_levels: int,
    ) -> None:
        self._config = config
        self._clock = clock
        self._journal = journal
        self._changed = changed
        self._limit_said_ms = -1_000
        self._counted: tuple[DataVersion, int, int] | None = None
        self.version = DataVersion(0, clock.now_ms())
        self.lost: dict[str, tuple[int, int]] = {}  # read and write queues of topics that were lost at this start
        self.system = set(names.SYSTEM_TOPICS) | {config.cluster, config.name, config.cluster + names.REPLY_SUFFIX}
        self.table: dict[str, TopicConfig] = {topic.topic: topic for topic in self._built_in(delay_levels)}

    def get(self, topic: str) -> TopicConfig | None:
        return self.table.get(topic)

    def create_for_send(self, topic: str, template_name: str, queues: int) -> TopicConfig | None:
        """Create an unknown topic from the template that the sender names (usually TBW102).

        Return None if the template does not exist or is not inheritable, or a limit is reached.  RocketMQ:
        `createTopicInSendMessageMethod`.
        """
        template = self.table.get(template_name)
        if template_name == names.AUTO_CREATE_TOPIC and not self._config.auto_create_topic:
            return None
        if template is None or not template.permission & PERM_INHERIT:
            return None
        queues = max(0, min(queues, template.write_queues))
        made = TopicConfig(topic, queues, queues, template.permission & ~PERM_INHERIT)
        if self.refusal(made) is not None:
            return None
        self._put(made, "automatic")
        return made

    def create_for_group(self, topic: str, queues: int, how: str) -> TopicConfig:
        """Return a group's retry or dead-letter topic, created if missing; `how` is retry or dead_letter.

        RocketMQ: `createTopicInSendMessageBackMethod`.
        """
        known = self.table.get(topic)
        if known is None:
            known = TopicConfig(topic, read_queues=queues, write_queues=queues, permission=READ_WRITE)
            self._put(known, how)
        return known

    def update(self, config: TopicConfig, how: str = "broker") -> None:
        """Create or change a topic; call `refusal` first."""
        self._put(config, how)

    def next_version(self) -> None:
        """Increase the version, because the registration at name servers changes while the table does not."""
        self.version = self.version.next(self._clock.now_ms())

    def mark_orders(self, names_in_order: Collection[str]) -> None:
        """Mark exactly these topics as orderly: name servers keep the list of orderly topics.

        RocketMQ 4.9: `TopicConfigManager.updateOrderTopicConfig`.  The next registration sends the change to the
        name servers.
        """
        changed = {
            name: topic._replace(order=not topic.order)
            for name, topic in self.table.items()
            if topic.order != (name in names_in_order)
        }
        if changed:
            self.table.update(changed)
            self.next_version()
            self._changed(None)

    def delete(self, topic: str) -> bool:
        """Remove a topic; return False if it does not exist.

        Its messages stay in the log until their files are deleted.
        """
        gone = self.table.pop(topic, None)
        if gone is None:
            return False
        self._written(gone, "deleted", None)
        return True

    def refusal(self, config: TopicConfig) -> str | None:
        """Return the reason why a limit forbids this topic, as a sentence; None if it is allowed."""
        limits = self._config.limits
        known = self.table.get(config.topic)
        if not self.counts(config.topic):
            return self._group_topic_refusal(config.topic) if known is None else None
        topics, all_queues = self._totals()
        if known is not None:
            topics, all_queues = topics - 1, all_queues - _queues(known)
        queues = _queues(config)
        checks = (
            ("topics", topics + 1, limits.topics),
            ("queues_per_topic", queues, limits.queues_per_topic),
            ("queues", all_queues + queues, limits.queues),
        )
        for limit, value, allowed in checks:
            if allowed is not None and value > allowed:
                self._limit_reached(limit, value, allowed, config.topic)
                return f"the limit {limit} is {allowed}, topic {config.topic} would make it {value}"
        return None

    def counts(self, topic: str) -> bool:
        """Return True if this is an application's topic, whose number is limited.  Any client may use system topics."""
        return not (topic in self.system or topic.startswith(names.OF_GROUPS))

    def _totals(self) -> tuple[int, int]:
        """Return the number of limited topics and of their queues.  Cached until the table changes."""
        if self._counted is None or self._counted[0] is not self.version:
            rows = [topic for topic in self.table.values() if self.counts(topic.topic)]
            self._counted = (self.version, len(rows), sum(map(_queues, rows)))
        return self._counted[1:]

    def _group_topic_refusal(self, topic: str) -> str | None:
        """Return the reason why a retry or dead-letter topic cannot be created, or None.

        Each group needs one of each, and only a few more are allowed.
        """
        groups = self._config.limits.groups
        if groups is None or not topic.startswith(names.OF_GROUPS):
            return None
        allowed = 2 * groups + GROUP_TOPICS_SPARE
        made = sum(name.startswith(names.OF_GROUPS) for name in self.table)
        if made < allowed:
            return None
        self._limit_reached("group_topics", made + 1, allowed, topic)
        return f"the limit of retry and dead-letter topics is {allowed}"

    def is_system(self, topic: str) -> bool:
        return topic in self.system or topic.startswith(names.SYSTEM_PREFIX)

    def to_json(self) -> dict[str, object]:
        return {
            "dataVersion": self.version.to_json(),
            "topicConfigTable": {name: self.table[name].to_json() for name in sorted(self.table)},
        }

    def load(self, content: Any) -> None:
        """Load `topics.json`; built-in topics stay if the file lacks them.

        Raises the errors that `JsonFile.load` expects.
        """
        version = DataVersion.from_json(content.get("dataVersion", {}))
        topics = {
            name: TopicConfig.from_json({"topicName": name, **values})
            for name, values in content.get("topicConfigTable", {}).items()
        }
        self.version = version
        self.table.update(topics)

    def take_over(self, master: TopicConfigTable) -> None:
        """Replace a slave's table by its master's."""
        self.version = master.version
        self.table.clear()  # in place: other parts reference it
        self.table.update(master.topics)
        self._changed(None)

    def _built_in(self, delay_levels: int) -> list[TopicConfig]:
        config = self._config
        traces = [(names.TRACE_TOPIC, 1, READ_WRITE)] if config.trace_topic else []
        rows = [
            (names.SELF_TEST_TOPIC, 1, READ_WRITE),
            (names.BENCHMARK_TOPIC, BENCHMARK_QUEUES, READ_WRITE),
            (config.cluster, 16, READ_WRITE | PERM_INHERIT),
            (config.name, 1, READ_WRITE | PERM_INHERIT),
            (names.OFFSET_MOVED_TOPIC, 1, READ_WRITE),
            (names.SCHEDULE_TOPIC, delay_levels, READ_WRITE),
            *traces,
            (config.cluster + names.REPLY_SUFFIX, 1, READ_WRITE),
        ]
        if config.auto_create_topic:
            rows.append((names.AUTO_CREATE_TOPIC, config.default_topic_queues, READ_WRITE | PERM_INHERIT))
        return [
            TopicConfig(name, read_queues=queues, write_queues=queues, permission=permission)
            for name, queues, permission in rows
        ]

    def _put(self, topic: TopicConfig, how: str) -> None:
        topics, queues = self._totals()
        if self.counts(topic.topic):
            known = self.table.get(topic.topic)
            topics, queues = topics + (known is None), queues + _queues(topic) - (_queues(known) if known else 0)
        self.table[topic.topic] = topic
        self._written(topic, how, topic)
        self._counted = (self.version, topics, queues)

    def _written(self, topic: TopicConfig, how: str, now: TopicConfig | None) -> None:
        self.version = self.version.next(self._clock.now_ms())
        self._changed(now)
        read, write = self.lost.pop(topic.topic, (None, None))
        self._journal.write(
            TopicChanged(
                topic=topic.topic,
                broker=self._config.node,
                read_queues=topic.read_queues,
                write_queues=topic.write_queues,
                permission=topic.permission,
                how=how,
                lost_read_queues=read,
                lost_write_queues=write,
            )
        )

    def _limit_reached(self, limit: str, value: int, allowed: int, topic: str) -> None:
        now_ms = self._clock.now_ms()
        if now_ms - self._limit_said_ms >= 1_000:
            self._limit_said_ms = now_ms
            self._journal.write(LimitReached(limit=limit, value=value, allowed=allowed, who=topic))


def _queues(topic: TopicConfig) -> int:
    return max(topic.read_queues, topic.write_queues)
