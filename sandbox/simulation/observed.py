"""Observations of a run as plain values, the input of the checkers."""

from typing import Any, NamedTuple

from sandbox.journal.events import Entry
from sandbox.message.filter import parse_tags
from sandbox.message.queue import MessageQueue
from sandbox.simulation.setup import GroupShape, Setup

Place = tuple[MessageQueue, int]
"""A queue and an offset in it."""


class Ack(NamedTuple):
    """A broker's answer to a send.  `code` 0 is SEND_OK; 10, 11, 12: stored, but less durably than requested."""

    at_ms: int
    node: str
    queue: MessageQueue
    offset: int
    physical_offset: int
    unique_key: str
    code: int


class Stored(NamedTuple):
    """One message as a queue of a store has it."""

    queue: MessageQueue
    offset: int
    physical_offset: int
    store_bytes: int
    unique_key: str
    key: str
    tags: str
    real_topic: str  # target topic of a delayed or half message; empty for others
    due_ms: int  # when a delayed message is due


class QueueEnds(NamedTuple):
    low: int
    high: int


class Inventory(NamedTuple):
    """All messages of one node's store at one time, read from its queues."""

    node: str
    at_ms: int
    ends: dict[MessageQueue, QueueEnds]
    messages: dict[Place, Stored]
    by_position: dict[int, Stored]  # by position in the log
    log_begins: int
    flushed_to: int
    log_ends: int


class PowerLoss(NamedTuple):
    """A power cut: the store's content just before, and after the broker's next start."""

    node: str
    at_ms: int
    before: Inventory
    after: Inventory
    slaves: tuple[Inventory, ...]  # running at that time

    def lost(self) -> list[Stored]:
        """Return the messages present before the cut and missing after it."""
        return [
            stored
            for position, stored in self.before.messages.items()
            if (now := self.after.messages.get(position)) is None or now.physical_offset != stored.physical_offset
        ]

    def torn(self) -> list[Stored]:
        """Return the messages present after the cut with other properties.

        A record's CRC covers its body only (spec store-format 2.1).
        """
        return [
            stored
            for position, stored in self.before.messages.items()
            if (now := self.after.messages.get(position)) is not None
            and now.physical_offset == stored.physical_offset
            and now.unique_key != stored.unique_key
        ]


class Shared(NamedTuple):
    """Two members that used a lock of one queue at the same time."""

    at_ms: int
    group: str
    queue: MessageQueue
    members: tuple[str, ...]


class Played(NamedTuple):
    """An executed step; `calm`: no fault was active, and no step for a while before and after."""

    at_ms: int
    kind: str
    action: str
    fields: dict[str, Any]
    seq: int


class SlaveStart(NamedTuple):
    """The end of a slave's log when it started."""

    node: str
    at_ms: int
    log_ends: int


class Final(NamedTuple):
    """The state at the end of the run.  `committed` and `read_queues` are those of the masters."""

    at_ms: int
    masters: dict[str, Inventory]
    slaves: dict[str, Inventory]
    committed: dict[tuple[str, MessageQueue], int]
    read_queues: dict[tuple[str, str], int]  # topic, broker
    unfinished: tuple[str, ...]  # what was still open when waiting ended, as sentences


class Observed(NamedTuple):
    setup: Setup
    entries: list[Entry]
    acks: list[Ack]
    losses: list[PowerLoss]
    shared: list[Shared]
    played: list[Played]
    slave_starts: list[SlaveStart]
    final: Final

    def group(self, name: str) -> GroupShape | None:
        return next((group for group in self.setup.groups if group.name == name), None)

    def diverged(self) -> frozenset[str]:
        """Return the slaves that had more than their master had after its power cut.

        RocketMQ 4.9 does not detect it: the first offset a slave asks for is not checked, and what it copies from
        then on follows bytes its master never had (spec broker-behaviour 12).
        """
        return frozenset(
            start.node
            for loss in self.losses
            for start in (
                *(SlaveStart(slave.node, loss.at_ms, slave.log_ends) for slave in loss.slaves),
                *self.slave_starts,
            )
            if start.node == f"{loss.node}.1" and start.at_ms >= loss.at_ms and start.log_ends > loss.after.log_ends
        )

    def places(self) -> dict[Place, list[Stored]]:
        """Return the messages by queue and offset, from all inventories of masters.

        Several messages have the same offset if a power cut freed it.
        """
        copies: dict[Place, list[Stored]] = {}
        inventories = [*(loss.before for loss in self.losses), *self.final.masters.values()]
        for inventory in inventories:
            for position, stored in inventory.messages.items():
                known = copies.setdefault(position, [])
                if all(other.unique_key != stored.unique_key for other in known):
                    known.append(stored)
        return copies


def wants(group: GroupShape, topic: str, tags: str) -> bool:
    """Return True if the group's expression matches these tags.  A retry topic always matches."""
    if topic.startswith("%RETRY%"):
        return True
    chosen = parse_tags(group.expression).tags
    return not chosen or tags in chosen
