"""Step of a paused sandbox: run until an event, then pause again."""

from sandbox.journal.events import FLOW, Entry
from sandbox.journal.journal import Journal
from sandbox.kernel.clock import Loop, ScaledClock

NOT_STEPS = frozenset({"ActionTaken", "ClockChanged", "Keyframe", "JournalTrimmed", "FlowSkipped"})
"""Facts of the sandbox itself: a step does not stop at them."""


class Steps:
    """Watch of the journal during a step, which ends the step at the expected event."""

    def __init__(self, clock: ScaledClock, journal: Journal, loop: Loop) -> None:
        self._clock = clock
        self._journal = journal
        self._loop = loop
        self._until = "ms"
        self._seq = 0

    def begin(self, until: str, ms: int) -> None:
        self.end()
        self._until, self._seq = until, self._journal.next_seq
        if until != "ms":
            self._journal.subscribe(self._look)
        self._clock.step(ms / 1000)

    def end(self) -> None:
        self._clock.stop_step()
        self._until = "ms"
        self._loop.call_soon(self._leave)  # not now: the journal may be calling its subscribers

    def _look(self) -> None:
        if self._until == "ms":
            return
        journal = self._journal
        entries = journal.since(max(self._seq, journal.first_in_memory))
        self._seq = journal.next_seq
        if not self._clock.stepping or any(self._is_end(entry) for entry in entries):
            self.end()

    def _is_end(self, entry: Entry) -> bool:
        name = type(entry.event).__name__
        if self._until == "fact":
            return type(entry.event) not in FLOW and name not in NOT_STEPS
        return name == self._until

    def _leave(self) -> None:
        if self._until == "ms":
            self._journal.unsubscribe(self._look)
