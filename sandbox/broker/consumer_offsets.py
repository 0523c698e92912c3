"""Committed offsets of consumer groups, by queue."""

from typing import Any, NamedTuple

from sandbox.journal.events import OffsetCommitted
from sandbox.journal.journal import Journal
from sandbox.remoting.bodies import OffsetWrapper

SEPARATOR = "@"
MAX_ROWS = 65_536  # topics times groups; any client may commit for any
MAX_OFFSETS = 1_000_000  # of all rows: any client may name any queue id
MAX_KEY_LENGTH = 512  # of a row's topic and group together


class OffsetKey(NamedTuple):
    """Key of one row of the table: topic and group."""

    topic: str
    group: str

    @property
    def text(self) -> str:
        return f"{self.topic}{SEPARATOR}{self.group}"


class ConsumerOffsetManager:
    """Table of committed offsets: `topic@group` to queue id to the next offset to consume.

    The last commit counts, even if it is smaller.  Values are not limited to the queue's offsets: a pull corrects
    its consumer, never this table.  RocketMQ: `ConsumerOffsetManager`, `consumerOffset.json` (spec broker-behaviour
    4, store-format 10).
    """

    def __init__(self, broker: str, journal: Journal) -> None:
        self._broker = broker
        self._journal = journal
        self.table: dict[OffsetKey, dict[int, int]] = {}
        self.changed = False  # since the file was written last
        self._counted = 0  # offsets at the last count plus those added since

    def commit(self, group: str, topic: str, queue_id: int, offset: int, by: str, client_id: str | None = None) -> None:
        """Set the committed offset of a queue; `by` is timer, pull, release, shutdown, reset or admin.

        A full table accepts no new row and no new queue.  A name that is too long gets no row.
        """
        key = OffsetKey(topic, group)
        queues = self.table.get(key)
        previous = None if queues is None else queues.get(queue_id)
        if previous == offset:
            return
        if previous is None and (self._full() or len(topic) + len(group) > MAX_KEY_LENGTH):
            return
        if queues is None:
            if len(self.table) >= MAX_ROWS:
                return
            queues = self.table[key] = {}
        queues[queue_id] = offset
        self.changed = True
        if self._journal.tracing:
            self._journal.write(
                OffsetCommitted(
                    group=group,
                    topic=topic,
                    broker=self._broker,
                    queue_id=queue_id,
                    offset=offset,
                    previous=previous,
                    by=by,
                    client_id=client_id,
                )
            )

    def get(self, group: str, topic: str, queue_id: int) -> int | None:
        """Return the committed offset of a queue; None if there is none."""
        return self.table.get(OffsetKey(topic, group), {}).get(queue_id)

    def queues_of(self, group: str, topic: str) -> list[tuple[int, int]]:
        """Return the queue ids and offsets of one group and topic, sorted."""
        return sorted(self.table.get(OffsetKey(topic, group), {}).items())

    def topics_of(self, group: str) -> list[str]:
        return sorted(key.topic for key in self.table if key.group == group)

    def topics_by_group(self) -> dict[str, list[str]]:
        """Return the topics of every group with a row (`topics_of`), in one pass over the table."""
        topics: dict[str, list[str]] = {}
        for key in sorted(self.table):
            topics.setdefault(key.group, []).append(key.topic)
        return topics

    def groups_of(self, topic: str) -> list[str]:
        return sorted(key.group for key in self.table if key.topic == topic)

    def clone(self, source: str, target: str, topic: str) -> None:
        """Copy the offsets of `source` in `topic` to `target`."""
        queues = self.table.get(OffsetKey(topic, source), {})
        for queue_id, offset in sorted(queues.items()):
            self.commit(target, topic, queue_id, offset, "admin")

    def remove_group(self, group: str) -> None:
        for key in [key for key in self.table if key.group == group]:
            del self.table[key]
            self.changed = True

    def take_over(self, master: OffsetWrapper) -> None:
        """Replace a slave's rows by its master's, each row as a whole; rows that the master does not have stay."""
        for text, queues in master.offsets.items():
            topic, mark, group = text.partition(SEPARATOR)
            if mark and topic and group and self.table.get(OffsetKey(topic, group)) != queues:
                self.table[OffsetKey(topic, group)] = dict(queues)
                self.changed = True

    def _full(self) -> bool:
        """Return True if the table has no space for another offset.  Called before an offset is added."""
        if self._counted >= MAX_OFFSETS:
            self._counted = self.entries()
        self._counted += 1
        return self._counted > MAX_OFFSETS

    def entries(self) -> int:
        return sum(len(queues) for queues in self.table.values())

    def to_json(self) -> dict[str, Any]:
        return {
            "offsetTable": {
                key.text: {str(queue): offset for queue, offset in sorted(queues.items())}
                for key, queues in sorted(self.table.items())
            }
        }

    def load(self, content: Any) -> None:
        """Load the content of `consumerOffset.json`; rows without topic and group are omitted.

        Raises the errors that `JsonFile.load` expects.
        """
        table: dict[OffsetKey, dict[int, int]] = {}
        for text, queues in content.get("offsetTable", {}).items():
            topic, mark, group = text.partition(SEPARATOR)
            offsets = {int(queue): int(offset) for queue, offset in queues.items()}
            if mark and topic and group:
                table[OffsetKey(topic, group)] = offsets
        self.table.update(table)
