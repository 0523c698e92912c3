"""A writer of messages into a store directory, without a broker."""

import asyncio
from pathlib import Path
from typing import Any

from sandbox.client.queue_selectors import by_key
from sandbox.cluster.actors.feeds import FeedRow
from sandbox.cluster.broker_node import store_host
from sandbox.journal.journal import Journal
from sandbox.kernel.clock import ScaledClock, wall_ms
from sandbox.kernel.errors import Locked, StoreError, TablesDamaged
from sandbox.kernel.ids import UniqueKeys
from sandbox.message import properties
from sandbox.message.message import InboundMessage, Message
from sandbox.message.queue import MessageQueue
from sandbox.message.string_hash import tags_code
from sandbox.remoting.bodies import TopicConfig
from sandbox.store.config import MessageStoreConfig
from sandbox.store.disk import FileDisk, InlineFlusher
from sandbox.store.message_store import MessageStore
from sandbox.store.results import PutMessageStatus
from sandbox.store.table_files import TOPICS

BROKER = "broker-a"
ADDRESS = "127.0.0.1:10911"  # RocketMQ's default; it becomes part of the stored records
LOG_DIRECTORY = "commitlog"


class StoreSink:
    """A writer for one topic of one store.

    Raises Locked if a broker uses the directory, StoreError if it cannot be used.  Equal keys go to one queue, as
    `SelectMessageQueueByHash` sends them.  A new directory gets RocketMQ's default file sizes (sparse) and an entry
    in `topics.json`, so that a broker started on it serves the topic.
    """

    def __init__(self, directory: Path, topic: str, *, queues: int) -> None:
        self._topic = topic
        self._queues = [MessageQueue(topic, BROKER, queue_id) for queue_id in range(queues)]
        self._host = store_host(ADDRESS)
        self._unique_keys = UniqueKeys(self._host[:4], 1, 1)
        self._loop = asyncio.new_event_loop()
        self._clock = ScaledClock(self._loop, start_ms=wall_ms())
        try:
            self._store = self._opened(directory)
            self._add_topic()
        except Locked as error:
            self._loop.close()
            raise Locked(
                f"A running broker uses {directory}. Stop it first, or feed a running sandbox with --sandbox."
            ) from error
        except OSError as error:
            self._loop.close()
            raise StoreError(
                f"{directory} cannot be used as a store: {(error.strerror or str(error)).lower()}"
            ) from error
        except BaseException:
            self._loop.close()
            raise

    def send(self, batch: list[FeedRow]) -> None:
        """Append and dispatch a batch of rows, which are readable afterwards."""
        now_ms = self._clock.now_ms()
        for row in batch:
            result = self._store.put_message(self._message(row, now_ms))
            if result.status is not PutMessageStatus.PUT_OK:
                raise StoreError(f"the store refuses the message with key {row.key!r}: {result.status.name}")
        self._store.dispatch()
        self._loop.run_until_complete(asyncio.sleep(0))  # the store's timers: flush, cleaning

    def close(self) -> None:
        """Flush everything, release the lock, and remove the abort file."""
        try:
            self._store.close()
        finally:
            self._loop.close()

    def _opened(self, directory: Path) -> MessageStore:
        store = MessageStore(
            _config_of(directory),
            disk=FileDisk(directory),
            clock=self._clock,
            journal=Journal(self._clock),
            broker=BROKER,
            broker_id=0,
            store_host=self._host,
            flusher=InlineFlusher(),
        )
        store.load()
        store.start()
        return store

    def _message(self, row: FeedRow, now_ms: int) -> InboundMessage:
        message = Message.make(self._topic, row.body, keys=row.key, tags=row.tag)
        message.properties[properties.UNIQ_KEY] = self._unique_keys.next(now_ms)
        queue = by_key(self._queues, message)
        return InboundMessage(
            self._topic,
            queue.queue_id,
            row.body,
            properties.encode(message.properties).encode(),
            tags_code(row.tag),
            0,
            0,
            now_ms,
            self._host,
        )

    def _add_topic(self) -> None:
        """Add the topic to `topics.json`.

        Raises TablesDamaged if the file exists and cannot be read: it would be overwritten.
        """
        file = self._store.config_file(TOPICS)
        try:
            content = file.read()
        except TablesDamaged:
            self._store.crash()
            raise
        table: dict[str, Any] = content if isinstance(content, dict) else {}
        table.setdefault("dataVersion", {"counter": 0, "timestamp": wall_ms()})
        topics = table.setdefault("topicConfigTable", {})
        if self._topic not in topics:
            count = len(self._queues)
            topics[self._topic] = TopicConfig(self._topic, read_queues=count, write_queues=count).to_json()
            file.write(table)


def _config_of(directory: Path) -> MessageStoreConfig:
    """Return a store configuration with RocketMQ's default sizes, but the size of existing log files."""
    logs = sorted((directory / LOG_DIRECTORY).glob("0*"))
    return MessageStoreConfig(commit_log_file_bytes=logs[0].stat().st_size) if logs else MessageStoreConfig()
