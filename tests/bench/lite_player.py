"""A made-up browser of a course's lab: the socket and the list of a real one, without an engine.

`ClassRun` itself numbers, keeps and sends again; tiles and entries are those of a recording.
"""

import asyncio
import contextlib
import random
import time
from types import SimpleNamespace
from typing import Any

import orjson
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, WebSocketException
from websockets.typing import Origin, Subprotocol

from sandbox.journal.events import ActionTaken, Entry, Position
from sandbox.lite.class_run import TILE_S, ClassRun
from tests.bench.lesson_line import NEVER, Cut
from tests.bench.lite_recording import Recording
from tests.bench.lite_seats import Seat

PROTOCOL = "queueviz.lite.1"
SOONEST_S, LATEST_S, SILENT_S = 0.4, 4.0, 15.0  # as class_socket.js
NOT_YOURS = 4403
ENTRY_EVERY_S = 10.0
OF_LAB = ("StartLab", "AnswerStep")  # the lab's row changes with these only


class Player:
    """`came`: every entry that it ever made.  `receipts`: those that it got, by number of entries.

    `on_s`: when the server's `begin` or `go` came.  `shown_at`: when each unique tile was sent, until the grid
    has it.
    """

    def __init__(self, url: str, seat: Seat, address: str, recording: Recording) -> None:
        self.seat = seat
        self.chance = random.Random(seat.slug)
        self.cut = NEVER
        self.came: list[dict[str, Any]] = []
        self.receipts: dict[int, str] = {}
        self.on_s: list[float] = []
        self.shown_at: dict[int, float] = {}
        self.ended: list[str] = []
        self.tiles_sent = 0
        self._url = f"{url.replace('http', 'ws')}/ws/lite/{seat.slug}/"
        self._origin, self._address = url, address
        self._recording = recording
        self._socket: ClientConnection | None = None
        self._tasks: set[asyncio.Task[Any]] = set()
        self._is_over = False
        self._tries = 0
        self.run = PlayedRun(self, recording)

    @property
    def waits(self) -> int:
        """Number of entries without a receipt."""
        return len(self.came) - self.run.received

    def on_since(self, at_s: float) -> float | None:
        """Return when the server's first `begin` or `go` after this moment came."""
        return next((on_s for on_s in self.on_s if on_s > at_s), None)

    async def play(self) -> None:
        """Play until `stop`."""
        line, play = asyncio.create_task(self._stay_connected()), asyncio.create_task(self._act())
        try:
            await asyncio.gather(line, play)
        finally:
            line.cancel()
            play.cancel()
            for task in (*self._tasks, *self.run.tasks):
                task.cancel()

    def stop(self) -> None:
        """Make no more entries; the socket stays, so that the last ones are received."""
        self._is_over = True

    async def be_cut(self, cut: Cut) -> None:
        """Lose the line without a word, and have none for a while."""
        self.cut = cut
        await asyncio.sleep(max(0.0, cut.from_s - time.monotonic()))
        if self._socket is not None:
            self._socket.transport.abort()

    async def _act(self) -> None:
        """Begin, and then make an entry every ten seconds, at random moments."""
        await self.run.begun
        await asyncio.sleep(self.chance.uniform(0, TILE_S))  # not all tiles of a class in the same moment
        await self.run.begin()
        number = 0
        while not self._is_over:
            recorded = self._recording.entries[number % len(self._recording.entries)]
            self.run.act(recorded["name"], recorded["fields"])
            number += 1
            await asyncio.sleep(self.chance.expovariate(1 / ENTRY_EVERY_S) if number > 1 else 0.1)

    # The page's side of `ClassRun`.

    def send(self, text: str) -> None:
        socket = self._socket
        if socket is not None:
            self._do(_write(socket, text))

    def keep(self, record: bytes, anew: bool) -> None:
        """Keep nothing: no page is loaded again."""

    def changed(self, length: int, known: int) -> None:
        """Show nothing."""

    def course(self, poll: str, open_until: int | None) -> None:
        """Show nothing."""

    def held(self, hold: str) -> None:
        """Show nothing."""

    def ended_by(self, reason: str) -> None:
        self.ended.append(reason)

    # The line, as class_socket.js.

    async def _stay_connected(self) -> None:
        while True:
            code = 0
            if not self.cut.holds(time.monotonic()):
                with contextlib.suppress(OSError, WebSocketException, TimeoutError):
                    code = await self._follow()
            if self._socket is not None:
                self._socket = None
                self.shown_at.clear()
                self.run.disconnected()
            if code == NOT_YOURS or self.ended:
                self.ended.append(f"closed {code}")
                return
            most_s = min(LATEST_S, SOONEST_S * 2**self._tries)
            self._tries += 1
            await asyncio.sleep(most_s * self.chance.uniform(0.5, 1))

    async def _follow(self) -> int:
        """Stay until the socket ends or is cut; return the code with which it was closed."""
        async with connect(
            self._url,
            subprotocols=[Subprotocol(PROTOCOL)],
            origin=Origin(self._origin),
            additional_headers={"Cookie": f"sessionid={self.seat.session}"},
            local_addr=(self._address, 0),
            proxy=None,
            open_timeout=SILENT_S,
            ping_interval=None,
            close_timeout=1,
        ) as socket:
            self._socket = socket
            self.run.connected()
            try:
                while not self.cut.holds(time.monotonic()):
                    text = await asyncio.wait_for(socket.recv(), SILENT_S)
                    self._tries = 0
                    await self._hear(str(text))
            except ConnectionClosed as closed:
                return closed.rcvd.code if closed.rcvd is not None else 0
            socket.transport.abort()
            return 0

    async def _hear(self, text: str) -> None:
        message = orjson.loads(text)
        if message["k"] in ("begin", "go"):
            self.on_s.append(time.monotonic())
        if message["k"] == "receipt":
            self.receipts[message["n"]] = message["receipt"]
        if message["k"] == "end" and message["reason"] != "again":
            self.ended.append(message["reason"])
        await self.run.hear(text)

    def _do(self, work: Any) -> "asyncio.Task[Any]":
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


class PlayedRun(ClassRun):
    """A run without an engine: its facts are made up."""

    def __init__(self, player: Player, recording: Recording) -> None:
        began_s = time.monotonic()
        lite: Any = SimpleNamespace(port=None, numbers=(), now_ms=lambda: int((time.monotonic() - began_s) * 1000))
        page: Any = SimpleNamespace(
            send=player.send,
            keep=player.keep,
            changed=player.changed,
            course=player.course,
            held=player.held,
            ended=player.ended_by,
        )
        super().__init__(
            lite, player.seat.slug, engine="engine", instance=player.seat.slug, page=page, feed=asyncio.Event().wait
        )
        self._player, self._recording = player, recording
        self._turn = self._wall_ms = 0

    @property
    def received(self) -> int:
        return self._known

    @property
    def tasks(self) -> set[asyncio.Task[None]]:
        return self._tasks

    async def begin(self, progress: Any = None) -> None:
        self._wall_ms = (await self.begun)["wall_ms"]
        self._runs = True
        self._go_on(0, "")
        self._begin_task(self._tick())

    def act(self, name: str, fields: dict[str, Any]) -> None:
        """Make an entry: its turn names it in the whole run."""
        self._turn += self._player.chance.randrange(1, 50)
        ms = self._lite.now_ms()
        came = {"turn": self._turn, "ms": ms, "at_ms": self._wall_ms + ms, "name": name, "fields": fields}
        self._player.came.append({"n": self.length + 1, **came, "by": "student student"})
        event = ActionTaken(name, fields, "student student")
        self._take_fact(Entry(self._turn, came["at_ms"], None, event, Position(self._turn, ms)))
        self._row_is_new = name in OF_LAB

    async def _show(self) -> None:
        """Send a recorded tile with a number that no other tile of this player has, as messages behind of a queue."""
        player = self._player
        player.tiles_sent += 1
        number = player.tiles_sent
        sent = self._recording.tiles[number % len(self._recording.tiles)]
        _, _, rest = sent["tile"]["strips"][0].partition("/")
        strips = [f"{number}/{rest}", *sent["tile"]["strips"][1:]]
        tile = {**sent["tile"], "at_ms": self._wall_ms + self._lite.now_ms(), "strips": strips}
        player.shown_at[number] = time.monotonic()
        self._say(**{**sent, "tile": tile})
        if self._row_is_new and self._recording.rows:
            self._row_is_new = False
            self._say(**self._recording.rows[len(player.came) % len(self._recording.rows)])


async def _write(socket: ClientConnection, text: str) -> None:
    with contextlib.suppress(ConnectionClosed):  # what has no receipt is sent again
        await socket.send(text)
