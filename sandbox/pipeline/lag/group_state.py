"""The state of a sandbox according to its journal: queues, their consumers, and each group's commits.

The lag is the Board's and mqadmin's (`queries.rows.lag`): max less committed, and a queue without a stored offset
counts from 0, once the group subscribes to the topic or has committed in it.  Broadcasting members have rows of
their own, `broker-a:0@client id`: their commits are in a local file, up to five seconds behind the Board, which
reads their memory.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from sandbox.pipeline.lag.queue_ends import QueueEnds
from sandbox.pipeline.lag.rows import WIDTHS_MS, Figures, Roll

UNKNOWN = -2
NO_RECORD = -1
READABLE = 4
BROADCASTING = "BROADCASTING"
BUILT_IN_GROUPS = "CID_RMQ_SYS_"

Key = tuple[str, str, int]  # topic, broker, queue id


class Slot:
    """One group on one queue: its committed offset, and its figures of the open second."""

    __slots__ = ("committed", "consumed", "group", "key", "member", "rolls", "start")

    def __init__(self, group: str, key: Key, member: str, committed: int) -> None:
        self.group, self.key, self.member = group, key, member
        self.committed = committed  # or UNKNOWN, NO_RECORD
        self.consumed: int | None = 0
        self.start: int | None = None  # where a member began without a record
        self.rolls = {name: Roll() for name in WIDTHS_MS}

    @property
    def queue(self) -> str:
        """The queue's name in the Board's rows, such as `broker-a:0`, with `@client id` for a broadcasting member."""
        _, broker, queue_id = self.key
        return f"{broker}:{queue_id}@{self.member}" if self.member else f"{broker}:{queue_id}"

    def begin(self) -> int | None:
        """Return the offset from which the lag counts, or None if it is unknown.

        A broadcasting member before its first commit is unknown: it begins at its file's offset or at its `from_where`.
        """
        if self.committed == NO_RECORD:
            return None if self.member else 0
        return None if self.committed == UNKNOWN else self.committed

    def commits(self, offset: int, previous: int | None, by: str) -> None:
        before = self.start if previous is None else previous
        if by not in ("reset", "admin") and self.consumed is not None:  # these move, and consume nothing
            self.consumed = None if before is None else self.consumed + max(0, offset - before)
        self.committed = offset

    def figures(self, queue: QueueEnds, end_ms: int) -> Figures:
        """Return the figures at the end of a second and start the next second."""
        consumed, self.consumed = self.consumed, 0
        return Figures(queue.produced, consumed, *self._lag(queue, end_ms))

    def _lag(self, queue: QueueEnds, end_ms: int) -> tuple[int | None, int | None]:
        if queue.max_offset == 0:  # no messages, so no lag
            return 0, 0
        begin = self.begin()
        if queue.max_offset is None or begin is None:
            return None, None
        lag = max(0, queue.max_offset - begin)
        if lag == 0:
            return 0, 0
        stored_ms = queue.stored_ms(max(begin, queue.min_offset or 0))
        return lag, None if stored_ms is None else max(0, end_ms - stored_ms)


class GroupState:
    """The queues, subscriptions and commits of a sandbox, as the journal's entries change them.

    `is_known`: a value without an entry does not exist, instead of being unknown.
    """

    def __init__(self) -> None:
        self.is_known = False
        self.commits_are_known = False
        self.misses_messages = False  # of the open second
        self.misses_commits = False  # of the open second
        self.queues: dict[Key, QueueEnds] = {}
        self.readable: dict[tuple[str, str], int] = {}  # topic, broker: read queues
        self.subscribed: set[tuple[str, str]] = set()  # group, topic
        self.models: dict[str, str] = {}
        self.unclean: set[str] = set()  # brokers that were killed, or will become another node
        self.slots: dict[tuple[str, Key, str], Slot] = {}
        self._shown: list[Slot] | None = None

    # Changes by events.

    def topic(self, topic: str, broker: str, read_queues: int, permission: int, how: str) -> None:
        self._shown = None
        if how == "deleted":
            self.readable.pop((topic, broker), None)
            for key in [key for key in self.queues if key[:2] == (topic, broker)]:
                del self.queues[key]
        else:
            self.readable[topic, broker] = read_queues if permission & READABLE else 0

    def subscribe(self, group: str, topic: str, *, on: bool) -> None:
        self._shown = None
        if on:
            self.subscribed.add((group, topic))
        else:
            self.subscribed.discard((group, topic))

    def leave(self, group: str, client_id: str) -> None:
        """Remove the rows of a member that left, if its group is broadcasting."""
        if self.models.get(group) == BROADCASTING:
            self._shown = None
            for name in [name for name in self.slots if name[0] == group and name[2] == client_id]:
                del self.slots[name]

    def delete_group(self, group: str, broker: str) -> None:
        """Remove the group's subscriptions, and mark its offsets at the broker unknown: they may be deleted."""
        self.subscribed = {pair for pair in self.subscribed if pair[0] != group}
        for slot in self.slots.values():
            if slot.group == group and slot.key[1] == broker:
                slot.committed = UNKNOWN
        self._shown = None

    def queue(self, key: Key) -> QueueEnds:
        if (queue := self.queues.get(key)) is None:
            queue = self.queues[key] = QueueEnds(0, 0) if self.is_known else QueueEnds()
        return queue

    def slot(self, group: str, key: Key, client_id: str | None) -> Slot:
        member = (client_id or "") if self.models.get(group) == BROADCASTING else ""
        name = (group, key, member)
        if (slot := self.slots.get(name)) is None:
            slot = self.slots[name] = Slot(group, key, member, NO_RECORD if self.commits_are_known else UNKNOWN)
            self._shown = None
        return slot

    def draw(self, snapshot: dict[str, Any]) -> None:
        """Take over the state of a keyframe, which contains everything except brokers that are down."""
        self._shown = None
        was_known, self.is_known, self.commits_are_known = self.is_known, True, True
        for row in snapshot["topics"]:
            topic = row["topic"]
            for record in row["queues"]:
                queue = self.queue((topic, record["broker"], record["queue_id"]))
                queue.min_offset = int(record["min"])
                queue.ends_at(int(record["max"]), counted=queue.max_offset is None)
                if not was_known:
                    self.readable[topic, record["broker"]] = row["read_queues"] if row["permission"] & READABLE else 0
        if all(row["state"] == "running" for row in snapshot["brokers"]):
            self._keep_groups({row["group"] for row in snapshot["groups"]})
        for row in snapshot["groups"]:
            self.models[row["group"]] = row["model"]
            self.subscribed |= {(row["group"], subscription["topic"]) for subscription in row["subscription"]}
            if row["model"] != BROADCASTING:
                for record in row["queues"]:
                    slot = self.slot(row["group"], (record["topic"], record["broker"], record["queue_id"]), None)
                    slot.committed = NO_RECORD if record["committed"] is None else int(record["committed"])

    def _keep_groups(self, names: set[str]) -> None:
        self.subscribed = {pair for pair in self.subscribed if pair[0] in names}
        self.slots = {name: slot for name, slot in self.slots.items() if name[0] in names}

    # Values that become unknown.

    def lose_broker(self, broker: str) -> None:
        """Mark ends and commits of a killed broker unknown.

        The broker starts again with its files' content, which no event contains.
        """
        for key, queue in self.queues.items():
            if key[1] == broker:
                queue.lose()
        for slot in self.slots.values():
            if slot.key[1] == broker and not slot.member:
                slot.committed = UNKNOWN

    def lose_commits(self) -> None:
        self.commits_are_known, self.misses_commits = False, True
        for slot in self.slots.values():
            slot.committed = UNKNOWN

    def lose_all(self) -> None:
        self.is_known, self.misses_messages = False, True
        self.lose_commits()
        for queue in self.queues.values():
            queue.lose()

    # Seconds.

    def second(self, end_ms: int) -> Iterator[tuple[Slot, Figures]]:
        """Yield every group's figures at the end of the open second, then open the next one."""
        for slot in self.shown():
            figures = slot.figures(self.queue(slot.key), end_ms)
            if self.misses_messages:
                figures = figures._replace(produced=None)
            if self.misses_commits:
                figures = figures._replace(consumed=None)
            yield slot, figures
        for queue in self.queues.values():
            queue.produced = 0
        self.misses_messages = self.misses_commits = False

    def shown(self) -> list[Slot]:
        """Return the slots of groups that subscribe or have committed, on readable queues, sorted."""
        if self._shown is None:
            self._shown = self._listed()
        return self._shown

    def trim(self) -> None:
        """Drop the store times of messages that every group has consumed."""
        lowest: dict[Key, int] = {}
        for slot in self.shown():
            queue = self.queue(slot.key)
            needed = max(slot.begin() or 0, queue.min_offset or 0)
            lowest[slot.key] = min(lowest.get(slot.key, needed), needed)
        for key, offset in lowest.items():
            self.queues[key].forget_below(offset)

    def _listed(self) -> list[Slot]:
        pairs = set(self.subscribed) | {
            (slot.group, slot.key[0]) for slot in self.slots.values() if slot.committed != NO_RECORD
        }
        for group, topic in pairs:
            if self.models.get(group) != BROADCASTING:
                for key in self._keys_of(topic):
                    self.slot(group, key, None)
        slots = [
            slot
            for slot in self.slots.values()
            if (slot.group, slot.key[0]) in pairs
            and not slot.group.startswith(BUILT_IN_GROUPS)
            and slot.key[2] < self.readable.get(slot.key[:2], 0)
            and bool(slot.member) == (self.models.get(slot.group) == BROADCASTING)
        ]
        return sorted(slots, key=lambda slot: (slot.group, slot.key, slot.member))

    def _keys_of(self, topic: str) -> Iterable[Key]:
        return [
            (topic, broker, queue_id)
            for (name, broker), count in sorted(self.readable.items())
            if name == topic
            for queue_id in range(count)
        ]
