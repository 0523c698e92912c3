"""Recorder of the frames on watched links; frames on other links are neither kept nor reported.

The taps of the network and of the real ports are set only while a view is open: a view calls `watch` repeatedly, and
`KEEP_S` after the last call its link is removed.
"""

from collections import Counter, deque
from collections.abc import Callable
from typing import NamedTuple

from sandbox.cluster.environment import Network
from sandbox.cluster.listeners import Listeners
from sandbox.control.limits import SandboxLimits
from sandbox.journal.events import CommandExchanged
from sandbox.journal.journal import Journal
from sandbox.kernel.clock import Clock, TimerHandle
from sandbox.kernel.errors import ActionRefused, ProtocolViolation
from sandbox.remoting.command import RemotingCommand
from sandbox.remoting.frame import encode

KEEP_S = 10.0  # of the machine: a view calls every second
LOOK_S = 1.0
ROWS_PER_S = 20  # shown in a live view; the rest is counted
REMARK_CHARS = 200
ASKED_KEPT = 1_024  # requests without an answer yet, on one link


class Link(NamedTuple):
    """Pair of the connecting node `a` and the serving node `b`."""

    a: str
    b: str

    @property
    def name(self) -> str:
        return f"{self.a}~{self.b}"

    @classmethod
    def of(cls, name: str) -> "Link":
        """Parse `a~b`.  A label may contain a tilde, a server's name may not."""
        a, _, b = name.rpartition("~")
        return cls(a, b)


class Frame:
    """Command as it was sent.  An answer sets the outcome of its request."""

    __slots__ = (
        "answer",
        "answered_by",
        "asked_by",
        "at_ms",
        "bytes",
        "code",
        "data",
        "no",
        "oneway",
        "opaque",
        "remark",
        "request_code",
        "there",
        "took_ms",
    )

    def __init__(self, no: int, at_ms: int, command: RemotingCommand, data: bytes, size: int, *, there: bool) -> None:
        self.no = no
        self.at_ms = at_ms
        self.there = there
        self.opaque = command.opaque
        self.answer = command.is_response
        self.oneway = command.is_oneway
        self.bytes = size
        self.data = data  # the first bytes of it, up to the limit
        self.request_code: int | None = None if self.answer else int(command.code)
        self.code: int | None = int(command.code) if self.answer else None
        self.remark = (command.remark or "")[:REMARK_CHARS] or None
        self.took_ms: int | None = None
        self.asked_by: int | None = None
        self.answered_by: int | None = None

    def answers(self, request: "Frame") -> None:
        self.request_code, self.asked_by = request.request_code, request.no
        self.took_ms = request.took_ms = self.at_ms - request.at_ms
        request.code, request.answered_by = self.code, self.no


class Watched:
    """Frames recorded on one link while it is watched."""

    def __init__(self, link: Link, frames_kept: int) -> None:
        self.link = link
        self.last: deque[Frame] = deque(maxlen=frames_kept)
        self.shown: deque[Frame] = deque(maxlen=frames_kept)  # not all frames of a busy link
        self.seen = 0
        self.rest = 0  # seen but not shown
        self.looked_s = 0.0
        self._asked: dict[tuple[str, int], Frame] = {}  # by the requesting end and opaque
        self._second = -1
        self._used = 0

    def note(self, frame: Frame, sender: str, receiver: str, now_s: float) -> None:
        if frame.answer:
            request = self._asked.pop((receiver, frame.opaque), None)
            if request is not None:
                frame.answers(request)
        elif not frame.oneway:
            self._asked[sender, frame.opaque] = frame
            if len(self._asked) > ASKED_KEPT:
                del self._asked[next(iter(self._asked))]
        self.seen += 1
        self.last.append(frame)
        if self._may_show(now_s):
            self.shown.append(frame)
        else:
            self.rest += 1

    def find(self, no: int) -> Frame | None:
        return next((frame for frame in (*self.last, *self.shown) if frame.no == no), None)

    def _may_show(self, now_s: float) -> bool:
        if int(now_s) != self._second:
            self._second, self._used = int(now_s), 0
        self._used += 1
        return self._used <= ROWS_PER_S


class FrameRecorder:
    """Recorder of frames, by link.  `name_of` returns the node at an address; without a node, nothing is recorded.

    In a repeatable run no frame is written to the journal, which must not depend on its readers.

    A tap set by another part is still called.  At most `wire_links` links of `wire_frames` frames of
    `wire_frame_bytes` bytes are kept, twice that on a busy link.
    """

    def __init__(
        self,
        network: Network,
        listeners: Listeners,
        clock: Clock,
        wall: Clock,
        journal: Journal,
        limits: SandboxLimits,
        name_of: Callable[[str], str | None],
        *,
        repeatable: bool = False,
    ) -> None:
        self._network = network
        self._listeners = listeners
        self._clock = clock
        self._wall = wall
        self._journal = journal
        self._repeatable = repeatable
        self._limits = limits
        self._name_of = name_of
        self._watched: dict[Link, Watched] = {}
        self._names: dict[str, str | None] = {}
        self._before: Callable[[str, str, RemotingCommand], None] | None = None
        self._hearing = False
        self._timer: TimerHandle | None = None
        self._next_no = 1

    @property
    def is_recording(self) -> bool:
        return self._network.tap == self._hear

    def links(self) -> dict[str, dict[str, object]]:
        """Return the open connections between nodes, by link, with the number of frames recorded on watched links."""
        open_now: Counter[Link] = Counter()
        for client, server in self._network.connections():
            a, b = self._name_of(client), self._name_of(server)
            if a is not None and b is not None:
                open_now[Link(a, b)] += 1
        for connection in self._listeners.connections.open.values():
            serves = self._name_of(connection.port)
            if serves is not None:
                open_now[Link(connection.name, serves)] += 1
        rows = {}
        for link in sorted(open_now.keys() | self._watched.keys()):
            watched = self._watched.get(link)
            rows[link.name] = {
                "a": link.a,
                "b": link.b,
                "connections": open_now[link],
                "seen": None if watched is None else watched.seen,
            }
        return rows

    def watch(self, name: str) -> Watched:
        """Record this link for some more seconds.

        Raises ActionRefused: 404 if no such link is open, 429 if too many are recorded.
        """
        link = Link.of(name)
        self._forget_lapsed()
        watched = self._watched.get(link)
        if watched is None:
            if name not in self.links():
                raise ActionRefused(
                    404,
                    "Network link {link} does not exist now.",
                    "Choose one of the open connections.",
                    field="link",
                    link=name,
                )
            if len(self._watched) >= self._limits.wire_links:
                raise ActionRefused(
                    429,
                    "Frames of {count} network links are already recorded.",
                    "Close another view and wait 10 s.",
                    field="link",
                    count=self._limits.wire_links,
                )
            watched = self._watched[link] = Watched(link, self._limits.wire_frames)
        watched.looked_s = self._wall.monotonic()
        self._names.clear()  # a label may have another address by now
        self._listen()
        return watched

    def close(self) -> None:
        """Stop recording all links."""
        self._watched.clear()
        self._forget_lapsed()

    def _listen(self) -> None:
        if not self.is_recording:
            self._before, self._network.tap = self._network.tap, self._hear
            self._listeners.guard.tap = self._note
        if self._timer is None:
            self._timer = self._wall.call_later(LOOK_S, self._look)

    def _look(self) -> None:
        self._timer = None
        self._forget_lapsed()
        if self._watched:
            self._timer = self._wall.call_later(LOOK_S, self._look)

    def _forget_lapsed(self) -> None:
        now_s = self._wall.monotonic()
        for link in [link for link, watched in self._watched.items() if now_s - watched.looked_s > KEEP_S]:
            del self._watched[link]
        if self._watched:
            return
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self.is_recording:
            self._network.tap, self._before = self._before, None
            self._listeners.guard.tap = None
        self._names.clear()

    def _hear(self, sender: str, receiver: str, command: RemotingCommand) -> None:
        if self._hearing:
            return  # another tap was set after ours
        self._hearing = True
        try:
            if self._before is not None:
                self._before(sender, receiver, command)
            self._note(sender, receiver, command)
        finally:
            self._hearing = False

    def _note(self, sender: str, receiver: str, command: RemotingCommand, data: bytes | None = None) -> None:
        """Record a command on a watched link.

        `data`: the bytes from a real connection, where the header may be encoded differently.
        """
        a, b = self._name(sender), self._name(receiver)
        if a is None or b is None:
            return
        watched, forward = self._watched.get(Link(a, b)), True
        if watched is None:
            watched, forward = self._watched.get(Link(b, a)), False
        if watched is None:
            return
        try:
            data = data or encode(command)
        except ProtocolViolation:
            return  # no valid frame
        frame = Frame(
            self._next_no,
            self._clock.now_ms(),
            command,
            data[: self._limits.wire_frame_bytes],
            len(data),
            there=forward,
        )
        self._next_no += 1
        watched.note(frame, sender, receiver, self._wall.monotonic())
        if self._repeatable:
            return
        self._journal.write(
            CommandExchanged(
                link=watched.link.name,
                request_code=frame.request_code,
                opaque=frame.opaque,
                direction="there" if forward else "back",
                bytes=frame.bytes,
                code=frame.code if frame.answer else None,
                remark=frame.remark,
                took_ms=frame.took_ms if frame.answer else None,
            )
        )

    def _name(self, address: str) -> str | None:
        if address not in self._names:
            self._names[address] = self._name_of(address) or next(
                (
                    connection.name
                    for connection in self._listeners.connections.open.values()
                    if connection.address == address
                ),
                None,
            )
        return self._names[address]
