"""A queue's history is kept as long as the journal's memory, and not longer."""

from sandbox.journal.events import FlowSkipped, LocksLost, MessagesStored
from sandbox.journal.journal import Journal
from sandbox.kernel.clock import ScaledClock
from sandbox.queries.queue_history import QueueHistory
from sandbox.sim.loop import SimLoop

KEEP = 10


def journal() -> Journal:
    return Journal(ScaledClock(SimLoop(), start_ms=1_000), keep=KEEP)


def stored(queue_id: int, offset: int) -> MessagesStored:
    return MessagesStored("orders", "broker-a", queue_id, offset, 1, 0, 100)


def offsets(reported: QueueHistory, queue_id: int) -> list[int]:
    return [
        entry.event.first_offset
        for entry in reported.of(("orders", "broker-a", queue_id))
        if isinstance(entry.event, MessagesStored)
    ]


def test_events_are_found_by_their_queue_and_only_new_ones_are_read() -> None:
    reported, written = QueueHistory(), journal()
    for offset in range(3):
        written.write(stored(offset % 2, offset))
    written.write(LocksLost("broker-a", 1))
    reported.read(written)
    reported.read(written)
    assert (offsets(reported, 0), offsets(reported, 1)) == ([0, 2], [1])
    written.write(stored(1, 7))
    reported.read(written)
    assert offsets(reported, 1) == [1, 7]


def test_what_the_journal_forgets_is_forgotten() -> None:
    reported, written = QueueHistory(), journal()
    written.write(stored(0, 0))
    written.write(FlowSkipped(0, 1, (), (), (), 1))
    reported.read(written)
    assert len(reported.skips) == 1
    for offset in range(3 * KEEP):
        written.write(stored(1, offset))
    reported.read(written)
    assert (offsets(reported, 0), len(reported.skips)) == ([], 0)
    assert offsets(reported, 1) == list(range(2 * KEEP, 3 * KEEP))
    assert len(reported._by_queue) == 1
