"""The basis of broker tests: a clock in virtual time, a journal, and a recording channel."""

from sandbox.journal.events import Event
from sandbox.journal.journal import Journal
from sandbox.kernel.clock import ScaledClock
from sandbox.remoting.command import RemotingCommand
from sandbox.sim.loop import SimLoop

START_MS = 1_700_000_000_000


class Time:
    """A virtual clock with its loop and journal."""

    def __init__(self) -> None:
        self.loop = SimLoop()
        self.clock = ScaledClock(self.loop, start_ms=START_MS)
        self.journal = Journal(self.clock)

    def pass_s(self, seconds: float) -> None:
        self.loop.run_for(seconds)

    def events(self, *kinds: type) -> list[Event]:
        """Return the journal's events of these kinds."""
        return [entry.event for entry in self.journal.since(0) if not kinds or type(entry.event) in kinds]


class FakeChannel:
    """A connection whose other end is a list."""

    transport_kind = "loopback"

    def __init__(self, remote: str = "127.0.0.1:50001") -> None:
        self.remote = remote
        self.is_open = True
        self.sent: list[RemotingCommand] = []

    def send(self, command: RemotingCommand) -> None:
        if self.is_open:
            self.sent.append(command)

    def close(self, why: str = "closed") -> None:
        self.is_open = False

    def take(self) -> list[RemotingCommand]:
        sent, self.sent = self.sent, []
        return sent
