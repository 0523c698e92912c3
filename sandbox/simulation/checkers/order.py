"""The invariant of orderly consumption: a message begins when all before it have succeeded."""

from sandbox.journal.events import Entry, MessagesConsumed, SandboxWoken
from sandbox.message.queue import MessageQueue
from sandbox.simulation.checkers.progress import SUCCESS, Book
from sandbox.simulation.observed import Observed
from sandbox.simulation.violation import Violation

ENDED, BEGUN = 0, 1  # at equal times, ends count before begins


def check_order(observed: Observed) -> list[Violation]:
    """Return a violation for each message of an orderly group that began too early.

    Begins and ends of batches are compared in time order (spec client-behaviour 8.2).
    """
    orderly = {group.name for group in observed.setup.groups if group.kind == "orderly"}
    if not orderly:
        return []
    moments: list[tuple[int, int, int, int, Entry]] = []
    life = 0  # process number of the sandbox: its time may go back after a kill
    for entry in observed.entries:
        life += isinstance(entry.event, SandboxWoken)
        moments.append((life, entry.at_ms, ENDED, entry.seq, entry))
        if isinstance(entry.event, MessagesConsumed) and entry.event.group in orderly:
            moments.append((life, entry.event.started_ms, BEGUN, entry.seq, entry))
    moments.sort(key=lambda moment: moment[:4])
    book, violations = Book(observed), []
    for _, _, what, _, entry in moments:
        if what == ENDED:
            book.take(entry)
        else:
            assert isinstance(entry.event, MessagesConsumed)
            violations += _begun(book, entry, entry.event)
    return violations


def _begun(book: Book, entry: Entry, event: MessagesConsumed) -> list[Violation]:
    queue = MessageQueue(event.topic, event.broker, event.queue_id)
    page = book.page(event.group, queue)
    if page is None:
        return []
    before: set[int] = set()
    for offset in event.offsets:
        first = page.first_open(frozenset(before))
        if offset > first and page.done.get(offset) != SUCCESS:
            return [
                Violation(
                    "order",
                    (
                        f"{event.client_id} of {event.group} began {queue.key}@{offset} at {event.started_ms} (entry "
                        f"{entry.seq}) before {first} had succeeded"
                    ),
                )
            ]
        before.add(offset)
    return []
