"""Committed offsets of consumer groups, queue by queue."""

from typing import Any, NamedTuple

from sandbox.journal.events import OffsetCommitted
from sandbox.journal.journal import Journal
from sandbox.remoting.bodies import OffsetWrapper

SEPARATOR = "@"
MAX_ROWS = 65_536  # topics times groups; any client may commit for any
MAX_OFFSETS = 1_000_000  # of all rows: any client may name any queue id
MAX_KEY_LENGTH = 512  # of a row's topic and group together


class OffsetKey(NamedTuple):
    """One row of the table."""

    topic: str
    group: str

    @property
    def text(self) -> str:
        return f"{self.topic}{SEPARATOR}{self.group}"


class ConsumerOffsetManager:
    """`topic@group` to queue id to the next offset to consume; the last commit counts, also when it is smaller.

    Values are not limited to the queue's offsets: a pull corrects its reader, never this table.  RocketMQ:
    `ConsumerOffsetManager`, `consumerOffset.json` (spec broker-behaviour 4, store-format 10).
    """

    def __init__(self, broker: str, journal: Journal) -> None:
        self._broker = broker
        self._journal = journal
        self.table: dict[OffsetKey, dict[int, int]] = {}
        self.changed = False  # since the file was written last
        self._counted = 0  # offsets at the last count plus those added since

    def commit(self, group: str, topic: str, queue_id: int, offset: int, by: str, client_id: str | None = None) -> None:
        """Set `offset`; `by` is timer, pull, release, shutdown, reset or admin.

        A full table takes no new row and no new queue, and a name that is too long gets no row.
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
        """The stored offset; None: none committed yet."""
        return self.table.get(OffsetKey(topic, group), {}).get(queue_id)

    def queues_of(self, group: str, topic: str) -> list[tuple[int, int]]:
        """Queue ids and offsets of one row."""
        return sorted(self.table.get(OffsetKey(topic, group), {}).items())

    def topics_of(self, group: str) -> list[str]:
        return sorted(key.topic for key in self.table if key.group == group)

    def topics_by_group(self) -> dict[str, list[str]]:
        """`topics_of` of every group with a row, in one pass over the table."""
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
        """A slave's rows are replaced by its master's, each as a whole; rows the master does not have stay."""
        for text, queues in master.offsets.items():
            topic, mark, group = text.partition(SEPARATOR)
            if mark and topic and group and self.table.get(OffsetKey(topic, group)) != queues:
                self.table[OffsetKey(topic, group)] = dict(queues)
                self.changed = True

    def _full(self) -> bool:
        """Called before an offset is added."""
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
        """Read the content of `consumerOffset.json`; rows that name no topic and group are left out.

        Raises as `JsonFile.load` expects.
        """
        table: dict[OffsetKey, dict[int, int]] = {}
        for text, queues in content.get("offsetTable", {}).items():
            topic, mark, group = text.partition(SEPARATOR)
            offsets = {int(queue): int(offset) for queue, offset in queues.items()}
            if mark and topic and group:
                table[OffsetKey(topic, group)] = offsets
        self.table.update(table)
