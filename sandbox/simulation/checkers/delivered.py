"""The invariant of at-least-once delivery.

A stored message that a group subscribes to has succeeded, is a dead letter, or was skipped by a reset.
"""

from sandbox.journal.events import MessagesConsumed
from sandbox.message.queue import MessageQueue
from sandbox.message.topic_names import SCHEDULE_TOPIC
from sandbox.simulation.checkers.progress import SENT_BACK, Book
from sandbox.simulation.observed import Observed, Place, Stored, wants
from sandbox.simulation.setup import TOPIC, GroupShape
from sandbox.simulation.violation import Violation

JUST_DUE_MS = 5_000


def check_delivered(observed: Observed) -> list[Violation]:
    """Return the messages that a clustering group has not received at the end of the run, as violations.

    Source: spec client-behaviour 8.1; fidelity 0.7, 2.1 to 2.13.
    """
    book = Book(observed)
    for entry in observed.entries:
        book.take(entry)
    diverged = {slave.partition(".")[0] for slave in observed.diverged()}
    violations = _not_due(observed)
    violations += [
        Violation("at least once", f"without any trouble there was no end of {what}")
        for what in observed.final.unfinished
        if not any(f"/{broker}/" in what for broker in diverged)
    ]
    for group in observed.setup.counting:
        succeeded, elsewhere = _succeeded(observed, group), _buried_or_lost(observed, group)
        for position, stored in _readable(observed, group).items():
            queue, offset = position
            page = book.page(group.name, queue)
            how = page.how(offset) if page is not None else None
            if how is None:
                violations.append(Violation("at least once", f"{group.name} never got {_name(stored)}"))
            elif how == SENT_BACK and stored.unique_key not in succeeded and stored.unique_key not in elsewhere:
                violations.append(
                    Violation("at least once", (f"{group.name} sent {_name(stored)} back and never got it again"))
                )
    return violations


def _readable(observed: Observed, group: GroupShape) -> dict[Place, Stored]:
    """Return the messages that the group should have received, as stored at the end."""
    final = observed.final
    return {
        position: stored
        for inventory in final.masters.values()
        for position, stored in inventory.messages.items()
        if position[0].topic in (TOPIC, f"%RETRY%{group.name}")
        and position[0].queue_id < final.read_queues.get((position[0].topic, position[0].broker), 0)
        and wants(group, position[0].topic, stored.tags)
    }


def _succeeded(observed: Observed, group: GroupShape) -> set[str]:
    """Return the unique keys of all messages that the group consumed successfully, in any topic."""
    places = observed.places()
    keys: set[str] = set()
    for entry in observed.entries:
        event = entry.event
        if isinstance(event, MessagesConsumed) and event.group == group.name and event.outcome == "SUCCESS":
            queue = MessageQueue(event.topic, event.broker, event.queue_id)
            for offset, key in zip(event.offsets, event.keys, strict=True):
                keys |= {stored.unique_key for stored in places.get((queue, offset), ()) if stored.key == key}
    return keys


def _buried_or_lost(observed: Observed, group: GroupShape) -> set[str]:
    """Return the unique keys of the group's dead letters, and of retry copies that a power cut removed or damaged.

    A message sent back is stored without waiting for the disk (WAIT=false; spec broker-behaviour 2.2 and 11).
    """
    dead = f"%DLQ%{group.name}"
    buried = {
        stored.unique_key
        for inventory in observed.final.masters.values()
        for (queue, _), stored in inventory.messages.items()
        if queue.topic == dead
    }
    return buried | {
        stored.unique_key
        for loss in observed.losses
        for stored in (*loss.lost(), *loss.torn())
        if stored.queue.topic in (f"%RETRY%{group.name}", dead) or stored.real_topic == f"%RETRY%{group.name}"
    }


def _not_due(observed: Observed) -> list[Violation]:
    """Return a violation for each delayed message that is due but did not reach its topic."""
    arrived = {(queue.topic, stored.unique_key) for (queue, _), known in observed.places().items() for stored in known}
    return [
        Violation("at least once", f"{_name(stored)} was due at {stored.due_ms} and never came to {stored.real_topic}")
        for inventory in observed.final.masters.values()
        for (queue, _), stored in inventory.messages.items()
        if queue.topic == SCHEDULE_TOPIC
        and stored.real_topic
        and stored.due_ms + JUST_DUE_MS < observed.final.at_ms
        and (stored.real_topic, stored.unique_key) not in arrived
    ]


def _name(stored: Stored) -> str:
    return f"{stored.key} ({stored.queue.key}@{stored.offset}, {stored.unique_key})"
