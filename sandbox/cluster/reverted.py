"""Comparison of a broker's tables after a start with those of its last process, to report changes lost on disk.

RocketMQ writes `topics.json` at every change and offsets every few seconds, and syncs neither (decision 9).
"""

from collections.abc import Iterator, Mapping
from typing import Any

from sandbox.broker.broker import Broker
from sandbox.cluster.last_known import LastKnown
from sandbox.journal.events import DelayOffsetsReverted, Event, GroupReverted, OffsetsReverted, TopicReverted
from sandbox.journal.journal import Journal
from sandbox.message.queue import MessageQueue
from sandbox.remoting.bodies import SubscriptionGroupConfig

MAX_FACTS = 1_000  # of one start; clients may name any number of groups
NONE = -1
UNCLEAN = ("killed", "power_cut")

Shape = tuple[int | None, int | None, int | None]  # read queues, write queues, permission
_NOWHERE: Shape = (None, None, None)


def say_reverted(known: LastKnown, broker: Broker, journal: Journal, *, was_damaged: bool) -> None:
    """Write an event for each topic and group whose row differs from that of the last process.

    `was_damaged`: tables were damaged, so changes may be lost after a clean end, too.
    """
    how = known.state if known.state in UNCLEAN else "damaged" if was_damaged else None
    if how is None:
        return
    for number, event in enumerate(_reverted(known, broker, how)):
        if number == MAX_FACTS:
            break
        journal.write(event)
    broker.topics.lost = {
        name: (row["read_queues"], row["write_queues"])
        for name, row in known.topics.items()
        if name not in broker.topics.table
    }


def _reverted(known: LastKnown, broker: Broker, how: str) -> Iterator[Event]:
    yield from _topics(known, broker, how)
    if known.settings is not None:
        yield from _settings(known.settings, broker, how)
    yield from _offsets(known, broker, how)
    if known.delays is not None:
        levels = _changed({int(level): offset for level, offset in known.delays.items()}, broker.delay.table)
        if levels:
            yield DelayOffsetsReverted(broker.config.node, how, levels)


def _topics(known: LastKnown, broker: Broker, how: str) -> Iterator[TopicReverted]:
    table = {name: topic for name, topic in broker.topics.table.items() if not broker.topics.is_system(name)}
    for name in sorted({*table, *known.topics}):
        now, was = table.get(name), known.topics.get(name)
        after = before = _NOWHERE
        if now is not None:
            after = now.read_queues, now.write_queues, now.permission
        if was is not None:
            before = was["read_queues"], was["write_queues"], was["permission"]
        if after != before:
            ends = () if was is None else tuple((number, low, high) for number, (low, high) in enumerate(was["ends"]))
            yield TopicReverted(name, broker.config.node, how, *after, *before, ends)


def _settings(known: dict[str, dict[str, object]], broker: Broker, how: str) -> Iterator[GroupReverted]:
    """Yield the groups whose settings differ.  A group without a row has the defaults again once it is used."""
    table = broker.subscription_groups.table
    for name in sorted({*table, *known}):
        default = SubscriptionGroupConfig(name)
        was, now = known.get(name, default.to_json()), table.get(name, default).to_json()
        changes = tuple((key, str(was.get(key)), str(value)) for key, value in now.items() if was.get(key) != value)
        if changes:
            yield GroupReverted(name, broker.config.node, how, changes)


def _offsets(known: LastKnown, broker: Broker, how: str) -> Iterator[OffsetsReverted]:
    before: dict[str, dict[str, int]] = {
        group: {
            MessageQueue(topic, broker.config.name, int(number)).key: offset
            for topic, queues in topics.items()
            for number, (offset, _) in queues.items()
            if offset is not None
        }
        for group, topics in known.groups.items()
    }
    after: dict[str, dict[str, int]] = {}
    for key, queues in broker.consumer_offsets.table.items():
        after.setdefault(key.group, {}).update(
            {MessageQueue(key.topic, broker.config.name, number).key: offset for number, offset in queues.items()}
        )
    for group in sorted({*before, *after}):
        queues_of = _changed(before.get(group, {}), after.get(group, {}))
        if queues_of:
            yield OffsetsReverted(group, broker.config.node, how, queues_of)


def _changed(before: Mapping[Any, int], after: Mapping[Any, int]) -> tuple[tuple[Any, int, int], ...]:
    return tuple(
        (key, before.get(key, NONE), after.get(key, NONE))
        for key in sorted({*before, *after})
        if before.get(key, NONE) != after.get(key, NONE)
    )
