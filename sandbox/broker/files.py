"""The broker's tables on disk, beside its messages."""

import logging
from typing import Any

from sandbox.broker.consumer_filters import ConsumerFilterManager
from sandbox.broker.consumer_offsets import ConsumerOffsetManager
from sandbox.broker.delay import ScheduleMessageService
from sandbox.broker.subscription_groups import SubscriptionGroupManager
from sandbox.broker.topics import TopicConfigManager
from sandbox.journal.events import OffsetsPersisted
from sandbox.journal.journal import Journal
from sandbox.kernel.errors import StoreError, StoreFull
from sandbox.store.message_store import MessageStore

log = logging.getLogger(__name__)

TOPICS = "topics"
GROUPS = "subscriptionGroup"
CONSUMER_OFFSETS = "consumerOffset"
DELAY_OFFSETS = "delayOffset"
FILTERS = "consumerFilter"


class ConfigFiles:
    """Reads the five tables at start; topics and groups are written with every change, the others every few seconds.

    A full disk loses the file, not the table: the next change writes it again.
    RocketMQ: the `ConfigManager` of each (spec store-format 10).
    """

    def __init__(self, store: MessageStore, journal: Journal, broker: str) -> None:
        self._store = store
        self._journal = journal
        self._broker = broker

    def load(self, topics: TopicConfigManager, groups: SubscriptionGroupManager, offsets: ConsumerOffsetManager,
             delay: ScheduleMessageService, filters: ConsumerFilterManager) -> None:
        """Raises StoreError when a file is JSON but not the table it should be."""
        for name, take_over in ((TOPICS, topics.load), (GROUPS, groups.load), (CONSUMER_OFFSETS, offsets.load),
                                (DELAY_OFFSETS, delay.load), (FILTERS, filters.load)):
            content = self._store.config_file(name).read()
            try:
                take_over(content)
            except (ValueError, TypeError, KeyError, AttributeError) as why:
                raise StoreError(f"config/{name}.json is no {name} table: {why}") from why

    def save_topics(self, topics: TopicConfigManager) -> None:
        self._write(TOPICS, topics.to_json())

    def save_groups(self, groups: SubscriptionGroupManager) -> None:
        self._write(GROUPS, groups.to_json())

    def save_offsets(self, offsets: ConsumerOffsetManager) -> None:
        if offsets.changed and self._write(CONSUMER_OFFSETS, offsets.to_json()):
            offsets.changed = False
            self._journal.write(OffsetsPersisted(owner=self._broker, file=f"{CONSUMER_OFFSETS}.json",
                                                 entries=offsets.entries()))

    def save_delay(self, delay: ScheduleMessageService) -> None:
        if delay.changed and self._write(DELAY_OFFSETS, delay.to_json()):
            delay.changed = False

    def save_filters(self, filters: ConsumerFilterManager) -> None:
        """A broker that never met a SQL92 subscription has no such file."""
        filters.clean()
        if filters.changed and self._write(FILTERS, filters.to_json()):
            filters.changed = False

    def write_delay(self, content: dict[str, Any]) -> None:
        """A slave keeps its master's delay offsets for the day it is started as a master."""
        self._write(DELAY_OFFSETS, content)

    def _write(self, name: str, table: dict[str, Any]) -> bool:
        try:
            self._store.config_file(name).write(table)
        except StoreFull as why:
            log.warning("cannot write %s.json: %s", name, why)
            return False
        return True
