"""The invariant that a committed offset never passes an unfinished message, and is inside its queue at the end."""

from sandbox.journal.events import OffsetCommitted
from sandbox.message.queue import MessageQueue
from sandbox.simulation.checkers.progress import Book
from sandbox.simulation.observed import Observed
from sandbox.simulation.setup import TOPIC
from sandbox.simulation.violation import Violation

BY_HAND = ("reset", "admin")


def check_offsets(observed: Observed) -> list[Violation]:
    """Return violations by commits during the run, and by committed offsets at the end.

    Source: spec client-behaviour 6 and 8.1.
    """
    return [*_passed(observed), *_outside(observed)]


def _passed(observed: Observed) -> list[Violation]:
    book = Book(observed)
    violations: list[Violation] = []
    for entry in observed.entries:
        book.take(entry)
        event = entry.event
        if not isinstance(event, OffsetCommitted) or event.by in BY_HAND:
            continue
        page = book.page(event.group, MessageQueue(event.topic, event.broker, event.queue_id))
        if page is not None and event.offset > (first := page.first_open()):
            violations.append(
                Violation(
                    "committed",
                    (
                        f"{event.group} committed {event.offset} of {event.topic}/{event.broker}/{event.queue_id} "
                        f"({event.by}, {event.client_id}, entry {entry.seq}) while {first} was unfinished"
                    ),
                )
            )
    return violations


def _outside(observed: Observed) -> list[Violation]:
    """Return a violation for each committed offset that is not in its queue at the end.

    min ≤ committed corrected ≤ max, for every queue the group reads.
    """
    violations: list[Violation] = []
    final = observed.final
    for inventory in final.masters.values():
        for queue, ends in inventory.ends.items():
            for group in observed.setup.counting:
                if queue.topic not in (TOPIC, f"%RETRY%{group.name}") or ends.high == 0:
                    continue
                if queue.queue_id >= final.read_queues.get((queue.topic, queue.broker), 0):
                    continue
                committed = final.committed.get((group.name, queue))
                if committed is None or max(committed, ends.low) > ends.high:
                    violations.append(
                        Violation(
                            "committed",
                            (f"{group.name} ends at {committed} of {queue.key}, which has {ends.low} to {ends.high}"),
                        )
                    )
    return violations
