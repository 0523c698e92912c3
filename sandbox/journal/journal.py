"""Journal of a sandbox in memory."""

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice

from sandbox.journal.event_filter import is_step_event
from sandbox.journal.events import FLOW, Entry, Event, Position
from sandbox.journal.valve import Valve
from sandbox.kernel.clock import Clock
from sandbox.kernel.errors import SandboxError

KEEP_ENTRIES = 10_000
KEEP_FACTS = 64  # that are no steps, also when they are older than the entries


class Overrun(SandboxError):
    """Error: the reader is too far behind; entries before `first` are no longer in memory.  Take a fresh snapshot."""

    def __init__(self, first: int) -> None:
        super().__init__(f"the journal's memory begins at event {first}")
        self.first = first


class Journal:
    """Newest entries in memory, with bells for readers and one sink for the files.

    The engine writes here without reference to readers.  A reader keeps its position and continues from there.  If
    it is too far behind, it gets Overrun and takes a fresh snapshot.  `pace` returns the seconds in which the valve
    counts: the machine's, not the sandbox's, because the valve protects the machine.
    """

    def __init__(
        self,
        clock: Clock,
        *,
        keep: int = KEEP_ENTRIES,
        first_seq: int = 0,
        flow_per_s: int | None = None,
        pace: Callable[[], float] | None = None,
    ) -> None:
        self._clock = clock
        self._tail: deque[Entry] = deque(maxlen=keep)
        self.newest: deque[Entry] = deque(maxlen=KEEP_FACTS)  # facts that are no steps
        self._bells: list[Callable[[], None]] = []
        self._sink: Callable[[Entry], None] | None = None
        self._valve = Valve(flow_per_s)
        self._pace = pace or clock.monotonic
        self.next_seq = first_seq
        self.cause: int | None = None  # set by `caused_by` for the turn of an action
        self.tracing = True  # off: facts only (a broker process without viewers)

    def write(self, event: Event, *, came: Position | None = None) -> int:
        """Append an event; return its seq, or that of the newest entry if the valve skipped a flow event."""
        now_ms = self._clock.now_ms()
        if type(event) in FLOW:
            if not self.tracing:
                return self.next_seq - 1
            if not self._valve.admits(event, self._pace(), now_ms):
                self.ring()  # snapshots also change by events that are not written
                return self.next_seq - 1
            skipped = self._valve.take_skipped(now_ms)
            if skipped is not None:
                self._append(skipped, now_ms)
        return self._append(event, now_ms, came)

    def settle(self) -> None:
        """Write the skipped ranges that the valve holds (before a keyframe, before sleep)."""
        now_ms = self._clock.now_ms()
        skipped = self._valve.drain(now_ms)
        if skipped is not None:
            self._append(skipped, now_ms)

    @contextmanager
    def caused_by(self, seq: int) -> Iterator[None]:
        """Set the action `seq` as the cause of entries written inside the `with` block."""
        before, self.cause = self.cause, seq
        try:
            yield
        finally:
            self.cause = before

    def since(self, seq: int) -> list[Entry]:
        """Return the entries from `seq` on.  Raises Overrun if the oldest one in memory is newer."""
        first = self.first_in_memory
        if seq < first:
            raise Overrun(first)
        return list(islice(self._tail, seq - first, None))

    @property
    def held_from_ms(self) -> int | None:
        """Time from which the valve holds skipped events that no entry contains yet; None if it holds none."""
        return self._valve.held_from_ms

    def tail(self) -> list[Entry]:
        """Return all entries in memory, oldest first."""
        return list(self._tail)

    @property
    def first_in_memory(self) -> int:
        return self.next_seq - len(self._tail)

    @property
    def memory_from_ms(self) -> int | None:
        """Time of the oldest entry in memory; None before the first."""
        return self._tail[0].at_ms if self._tail else None

    def subscribe(self, bell: Callable[[], None]) -> None:
        self._bells.append(bell)

    def unsubscribe(self, bell: Callable[[], None]) -> None:
        if bell in self._bells:
            self._bells.remove(bell)

    def keep_in(self, sink: Callable[[Entry], None] | None) -> None:
        """Set the `sink` that receives every entry too (the segment writer), or None."""
        self._sink = sink

    def ring(self) -> None:
        """Signal a change without an entry, because a channel changed by no event."""
        for bell in self._bells:
            bell()

    def _append(self, event: Event, now_ms: int, came: Position | None = None) -> int:
        seq = self.next_seq
        entry = Entry(seq, now_ms, self.cause, event, came)
        self._tail.append(entry)
        if type(event) not in FLOW and not is_step_event(event):
            self.newest.append(entry)
        self.next_seq = seq + 1
        if self._sink is not None:
            self._sink(entry)
        for bell in self._bells:
            bell()
        return seq
