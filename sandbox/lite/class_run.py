"""The run of a course's lab in a student's browser, and its side of `queueviz.lite.1`.

Each outside event is kept in the browser until the server's receipt for it is there, and sent again after a cut.  The
run begins, and goes on after a reload or on another device, by execution of the list: the same run to the last byte.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, Protocol

import msgspec

from sandbox.control.actions import StartLab
from sandbox.control.branch_orders import Came, RunOrder
from sandbox.control.questions import LabState
from sandbox.control.readings import Refusal
from sandbox.journal.events import ActionTaken, Entry
from sandbox.journal.events.labs import LabFinished, LabStarted, PredictionGiven, StepMet
from sandbox.journal.events.life import LimitReached
from sandbox.kernel import json_bytes
from sandbox.kernel.errors import ActionRefused, SandboxError
from sandbox.lite.class_calls import Args, ClassCalls
from sandbox.lite.class_messages import Begin, CameRow, run_name
from sandbox.lite.class_port import STUDENT, ClassPort
from sandbox.lite.entry import Lite, reads_flights

log = logging.getLogger(__name__)

TILE_S = 1.0
MOST_AT_ONCE = 200  # entries that are sent without a receipt in between
CLASS_VIEWER = 1_000_000_000  # numbers of viewers behind the server begin here
OF_LAB = (LabStarted, StepMet, LabFinished, PredictionGiven)


class Page(Protocol):
    """The worker of a run, as the run calls it."""

    def send(self, text: str) -> None:
        """Write a text to the socket."""

    def keep(self, record: bytes, anew: bool) -> None:
        """Add the record to what the browser keeps, or with `anew` replace it."""

    def changed(self, length: int, known: int) -> None:
        """Show the number of entries, and how many of them have a receipt."""

    def course(self, poll: str, open_until: int | None) -> None:
        """Show the newest poll of the course, and the last open step."""

    def held(self, hold: str) -> None:
        """Show the teacher's control: a `HoldRow` as JSON."""

    def ended(self, reason: str) -> None:
        """Show that the server has ended the run here."""


class ClassRun:
    """One lab's run.

    `instance`: a random name of this worker.  `feed`: loads the whole feed, which some runs need.  `kept`: what the
    browser has kept before.
    """

    def __init__(
        self,
        lite: Lite,
        slug: str,
        *,
        engine: str,
        instance: str,
        page: Page,
        feed: Callable[[], Awaitable[object]],
        kept: bytes = b"",
    ) -> None:
        self._lite = lite
        self._slug = slug
        self._hello = {"k": "hello", "instance": instance, "engine": engine}
        self._page = page
        self._feed = feed
        self._kept = kept
        self.port = ClassPort(lite.port, lambda: lite.now_ms() - self.calls.late_ms)
        self.calls = ClassCalls(lite.port, slug)
        self._is_connected = self._runs = False
        self._sent = self._known = 0  # entries sent on this socket, and those with a receipt
        self._receipt = ""
        self._entries: list[CameRow] = []  # those without a receipt, in order
        self._row_is_new = True
        self._row: object = None
        self._was_held = False
        self._hello_ms = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self.begun: asyncio.Future[Begin] = asyncio.get_running_loop().create_future()

    @property
    def length(self) -> int:
        """Number of the run's entries."""
        return self._known + len(self._entries)

    # The socket.

    def connected(self) -> None:
        self._hello_ms = self._lite.now_ms()
        self._say(**self._hello, runs=self._runs, length=self.length, known=self._known, receipt=self._receipt)

    def disconnected(self) -> None:
        self._is_connected = False
        for number in [number for number in self._lite.numbers if number >= CLASS_VIEWER]:
            self._lite.close(number)

    async def hear(self, text: str) -> None:
        """Process a message of the server."""
        message = json_bytes.loads(text)
        match message.pop("k"):
            case "begin":
                self._set_clock(message["now_ms"])
                if not self.begun.done():
                    self.begun.set_result(message)
            case "go":
                self._set_clock(message["now_ms"])
                self.port.due_ms = message["due_ms"]
                self._go_on(message["length"], message["receipt"])
            case "receipt":
                self._take_receipt(message["n"], message["receipt"])
            case "course":
                self.port.open_until = message["open_until"]
                self._page.course(message["poll"], message["open_until"])
            case "do":
                self._begin_task(self._answer(**message))
            case "open":
                self._lite.open(CLASS_VIEWER + message["v"])
            case "hear":
                await self._lite.hear(CLASS_VIEWER + message["v"], message["text"])
            case "close":
                self._lite.close(CLASS_VIEWER + message["v"])
            case "end" if message["reason"] != "again":
                self._page.ended(message["reason"])

    def say_to_viewer(self, number: int, text: str) -> None:
        """Send a text of the engine's sockets to a viewer behind the server."""
        if self._is_connected:
            self._say(k="say", v=number - CLASS_VIEWER, text=text)

    # The run.

    async def begin(self, progress: Callable[[float], None] | None = None) -> None:
        """Execute the run that the server has, with the entries that only this browser has, and go on.

        Raises ActionRefused as `EnginePort.branch`.
        """
        begin = await self.begun
        self._known, self._receipt = len(begin["came"]), begin["receipt"]
        self._entries = self._only_here(begin)
        order = _order(begin, self._entries)
        if reads_flights("lab", begin["lab"]) or any((came.fields or {}).get("feed") for came in order.came):
            await self._feed()
        self._keep_all()
        await self._lite.execute(self._slug, order, progress)
        sandbox = self._lite.awake(self._slug)
        sandbox.cluster.journal_files.on_fact(self._take_fact)
        self._lite.stay_awake(self._slug)
        self.port.open_until, self.port.due_ms = begin["open_until"], begin["due_ms"]
        if begin["hold"]:
            self._lite.hold_again(self._slug, begin["hold"])
        self._runs = True
        if not self.length:
            await asyncio.wrap_future(self.port.act(self._slug, StartLab(lab=begin["lab"]), STUDENT))
        self._go_on(self._known, self._receipt)
        self._begin_task(self._tick())

    def _only_here(self, begin: Begin) -> list[CameRow]:
        """Return the kept entries of this run that follow those of the server."""
        kept = list(_parsed(self._kept))
        if not kept or kept[0] != run_name(begin):
            return []
        entries: dict[int, CameRow] = {entry["n"]: entry for entry in kept[1:]}
        following: list[CameRow] = []
        while (number := self._known + len(following) + 1) in entries:
            following.append(entries[number])
        return following

    def _keep_all(self) -> None:
        rows = (run_name(self.begun.result()), *self._entries)
        self._page.keep(b"".join(json_bytes.dumps(row) + b"\n" for row in rows), True)

    def _take_fact(self, entry: Entry) -> None:
        if isinstance(entry.event, OF_LAB) or (isinstance(entry.event, ActionTaken) and entry.came is not None):
            self._row_is_new = True
        if entry.came is None:
            return
        event = entry.event
        if isinstance(event, ActionTaken):
            name, fields, by = event.action, event.fields, event.by
        elif isinstance(event, LimitReached):
            name, fields, by = "", event._asdict(), str(STUDENT)
        else:
            log.error("%s cannot be in a course's run", type(event).__name__)
            return
        came: CameRow = {
            "n": self.length + 1,
            "turn": entry.came.turn,
            "ms": entry.came.ms,
            "at_ms": entry.at_ms,
            "name": name or None,
            "fields": fields,
            "by": by,
        }
        self._entries.append(came)
        self._page.keep(json_bytes.dumps(came) + b"\n", False)
        self._page.changed(self.length, self._known)
        self._send_entries()

    def _go_on(self, known: int, receipt: str) -> None:
        """Send what the server does not have; it has `known` entries."""
        self._forget(known, receipt)
        self._is_connected, self._sent = True, self._known
        self._row_is_new = True
        self._send_entries()
        self._page.changed(self.length, self._known)

    def _send_entries(self) -> None:
        if not self._is_connected:
            return
        for entry in self._entries[self._sent - self._known :]:
            if self._sent - self._known >= MOST_AT_ONCE:
                break
            self._say(k="came", **entry)
            self._sent += 1

    def _take_receipt(self, n: int, receipt: str) -> None:
        self._forget(n, receipt)
        if not self._entries:
            self._keep_all()
        self._send_entries()
        self._page.changed(self.length, self._known)

    def _forget(self, known: int, receipt: str) -> None:
        if self._known < known <= self.length:
            del self._entries[: known - self._known]
            self._known, self._receipt = known, receipt

    # What the server shows.

    async def _tick(self) -> None:
        """Send the tile once a second, and the lab if it has changed."""
        while True:
            await asyncio.sleep(TILE_S)
            if self._is_connected:
                try:
                    await self._show()
                except SandboxError as error:
                    log.warning("the tile was not sent: %s", error)

    async def _show(self) -> None:
        [reading] = await asyncio.wrap_future(self._lite.port.read([f"tile/{self._slug}"]))
        if isinstance(reading, Refusal):
            return
        tile = {"tile": reading.data["tile"], "seq": reading.seq, "rate": reading.rate, "epoch": reading.epoch}
        sandbox = self._lite.awake(self._slug)
        self._say(k="tile", **tile, **({"hold": sandbox.record.hold} if sandbox.record.hold else {}))
        held = sandbox.held
        is_held = bool(held.coming or held.effect or not held.is_empty)
        if not self._row_is_new and not is_held and not self._was_held:
            return
        self._row_is_new, self._was_held = False, is_held
        view = await asyncio.wrap_future(self._lite.port.ask(self._slug, LabState()))
        if view["lab"] is not None and view["lab"] != self._row:
            self._row = view["lab"]
            self._say(k="lab", row=self._row)
        self._page.held(json_bytes.dumps(view["hold"]).decode())

    async def _answer(self, id: int, verb: str, args: Args) -> None:
        if not self._runs:
            return self._say(k="refused", id=id, status=503, reason="The run begins.", hint="Try again in a moment.")
        try:
            value = await self.calls.answer(verb, args)
        except ActionRefused as refused:
            values = {name: value for name, value in refused.values.items() if isinstance(value, str | int | float)}
            return self._say(
                k="refused", id=id, status=refused.status, reason=refused.message, hint=refused.hint, values=values
            )
        except Exception as error:
            log.exception("%s failed", verb)
            return self._say(k="refused", id=id, status=503, reason=type(error).__name__, hint="Try again.")
        return self._say(k="did", id=id, value=value)

    def _set_clock(self, server_ms: int) -> None:
        """Learn the difference of the clocks: the server's answer came in the middle of the way."""
        now_ms = self._lite.now_ms()
        self.calls.late_ms = round((now_ms + self._hello_ms) / 2) - server_ms

    def _say(self, **message: Any) -> None:
        self._page.send(msgspec.json.encode(message).decode())

    def _begin_task(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _order(begin: Begin, more: list[CameRow]) -> RunOrder:
    came = [Came(turn, ms, name, fields, by=by) for turn, ms, name, fields, by in begin["came"]]
    came += [Came(row["turn"], row["ms"], row["name"], row["fields"], by=row["by"]) for row in more]
    return RunOrder(
        template=begin["template"],
        preset=begin["preset"],
        seed=begin["seed"],
        wall_ms=begin["wall_ms"],
        memory_bytes=begin["memory_bytes"],
        first_port=begin["first_port"],
        conditions=begin["conditions"],
        changes=begin["changes"],
        came=tuple(came),
        until=0,
        until_ms=max([begin["until_ms"], *(row["at_ms"] for row in more)]),
    )


def _parsed(kept: bytes) -> Iterator[Any]:
    """Yield the rows of a kept log, up to one that was cut short."""
    for line in kept.splitlines():
        try:
            yield json_bytes.loads(line)
        except json_bytes.JSONDecodeError:
            return
