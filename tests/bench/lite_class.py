"""A class whose labs run in the students' browsers: cut off one after the other, and its server killed in the middle.

    manage.py bench class --where lite --students 60 --json

A real server keeps a socket for each student; the students are played (`lite_player`), some by a real Chromium.  What
was lost or doubled is counted in the rows of the database, once the server has ended.
"""

import asyncio
import json
import os
import random
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from queueviz.courses.lite_runs import Entry, receipt_of
from tests.bench.calibration import calibrate
from tests.bench.lesson import part_of
from tests.bench.lesson_line import Browser, Cut, Tab
from tests.bench.lite_browsers import Browsers, possible
from tests.bench.lite_player import Player
from tests.bench.lite_recording import Recording, record
from tests.bench.lite_seats import Seats, seats_of
from tests.bench.served import address_of, cpu_s, memory_mib, served
from tests.server.server import Server
from tests.unit.lite.test_class_run import LAB

CUT_S = 20.0
PART_S = 40.0  # before the kill, and after it
SETTLE_S = 5.0  # after all have begun, or are on again
PATIENCE_S = 120.0  # until all have begun, are on again, or have their receipts
LOOK_S = 0.1
MOST_BROWSERS = 5
MARGIN_S = 10.0  # a player whose cut begins so soon after the restart is not counted among those who come back
ENTRIES = """
    SELECT sandbox.slug, entry.n, entry.turn, entry.ms, entry.at_ms, entry.name, entry.fields, entry.by, entry.receipt
    FROM queueviz_liteentry entry JOIN queueviz_literun run ON entry.run_id = run.id
    JOIN queueviz_submission work ON run.submission_id = work.id
    JOIN queueviz_sandbox sandbox ON work.sandbox_id = sandbox.id ORDER BY sandbox.slug, entry.n
"""


class Stored(NamedTuple):
    """A row of the database, with its receipt."""

    entry: Entry
    receipt: str


class Grid(Tab):
    """The teacher's grid.  `delays_ms`: from the sending of a tile to the frame that has it, or a newer one."""

    def __init__(self, url: str, session: str, course: str, players: Mapping[int, Player]) -> None:
        teacher = Browser(url, random.Random("teacher"))
        teacher.http.cookies.set("sessionid", session)
        super().__init__(url, teacher, [f"grid/{course}"])
        self.delays_ms: list[tuple[float, float]] = []  # when it was there, and how long it took
        self.bytes_of_frames: list[int] = []
        self._players = players

    def _take(self, frame: dict[str, Any]) -> bool:
        now_s = time.monotonic()
        if frame["k"] in ("snap", "delta"):
            tiles = frame["data"]["tiles"] if frame["k"] == "snap" else frame["set"].get("tiles", {})
            for number, row in tiles.items():
                player = self._players.get(int(number))
                if player is not None and row.get("strips"):
                    self._seen(player.shown_at, int(row["strips"][0].partition("/")[0]), now_s)
        return super()._take(frame)

    def _seen(self, shown_at: dict[int, float], newest: int, now_s: float) -> None:
        for number in [number for number in shown_at if number <= newest]:
            self.delays_ms.append((now_s, (now_s - shown_at.pop(number)) * 1000))


class Class:
    """The parts of one lesson: the server, the players, the teacher's grid, and real browsers."""

    def __init__(
        self,
        server: Server,
        seats: Seats,
        recording: Recording,
        browsers: int,
        *,
        cut_s: float,
        part_s: float,
        settle_s: float,
    ) -> None:
        self.server = server
        self._cut_s, self._part_s, self._settle_s = cut_s, part_s, settle_s
        real = len(seats.students) - browsers
        self._browsers = Browsers(server.url, seats.course, LAB.slug, seats.students[real:])
        self.players = [
            Player(server.url, seat, address_of(number), recording) for number, seat in enumerate(seats.students[:real])
        ]
        by_number = {player.seat.number: player for player in self.players}
        self.grid = Grid(server.url, seats.teacher, seats.course, by_number)
        self._steady: list[tuple[float, float]] = []  # parts of the lesson in which nothing was begun or killed
        self._cuts: list[asyncio.Task[None]] = []
        self._cpu_s = 0.0

    async def play(self) -> dict[str, Any]:
        """Play the lesson; return its figures, without those of the database."""
        began_s = time.monotonic()
        tasks: list[asyncio.Task[None]] = [asyncio.create_task(self.grid.run())]
        tasks += [asyncio.create_task(player.play()) for player in self.players]
        async with self._browsers:
            await self._until(lambda: all(player.came for player in self.players), "all have begun")
            begun_s = time.monotonic()
            await asyncio.sleep(self._settle_s)
            self._plan_cuts()
            await self._watch()
            memory = memory_mib(self.server.pid)
            killed_s = time.monotonic()
            await asyncio.to_thread(self.server.kill)
            await asyncio.to_thread(self.server.start)
            up_s, start_cpu_s = time.monotonic(), cpu_s(self.server.pid)
            back_s = await self._back_s(killed_s, up_s)
            await asyncio.sleep(self._settle_s)
            await self._watch()
            memory_later = memory_mib(self.server.pid)
            for player in self.players:
                player.stop()
            await self._until(lambda: not any(player.waits for player in self.players), "all have their receipts")
            of_browsers = await self._browsers.figures()
        for task in tasks:
            task.cancel()
        outcomes = await asyncio.gather(*tasks, return_exceptions=True)
        faults = [str(one) for one in outcomes if isinstance(one, Exception)]
        faults += [why for player in self.players for why in player.ended]
        watched_s = sum(to_s - from_s for from_s, to_s in self._steady)
        delays = [ms for at, ms in self.grid.delays_ms if any(from_s <= at <= to_s for from_s, to_s in self._steady)]
        return {
            "begun_all_in_s": round(begun_s - began_s, 1),
            "server_cpu_percent": round(self._cpu_s / watched_s * 100, 1),
            "grid_p50_ms": part_of(delays, 0.5),
            "grid_p99_ms": part_of(delays, 0.99),
            "grid_tiles": len(delays),
            "server_up_after_s": round(up_s - killed_s, 1),
            "server_start_cpu_s": round(start_cpu_s, 1),
            "back_after_start_s": part_of(back_s, 1.0),
            "back_after_start_s_median": part_of(back_s, 0.5),
            "handshakes_after_start": sum(on_s > killed_s for player in self.players for on_s in player.on_s),
            "not_back": sum(player.on_since(killed_s) is None for player in self.players),
            "server_mib": round(memory_later[0]),
            "server_mib_most": round(max(memory[1], memory_later[1])),
            "entries_without_receipt": sum(player.waits for player in self.players),
            "real_browsers": of_browsers,
            "faults": dict(Counter(faults)),
        }

    def _plan_cuts(self) -> None:
        """Cut each player once, at any moment until the lesson's end."""
        chance, now_s = random.Random("cuts"), time.monotonic()
        for player in self.players:
            from_s = now_s + chance.uniform(0, max(1.0, 2 * self._part_s - self._cut_s))
            self._cuts.append(asyncio.create_task(player.be_cut(Cut(from_s, from_s + self._cut_s))))

    async def _watch(self) -> None:
        from_s, before_s = time.monotonic(), cpu_s(self.server.pid)
        await asyncio.sleep(self._part_s)
        self._cpu_s += cpu_s(self.server.pid) - before_s
        self._steady.append((from_s, time.monotonic()))

    async def _back_s(self, killed_s: float, up_s: float) -> list[float]:
        """Return for each player who was not cut off the seconds from the server's start until it was on."""
        expected = [
            player for player in self.players if player.cut.until_s < killed_s or player.cut.from_s > up_s + MARGIN_S
        ]
        await self._until(lambda: all(player.on_since(killed_s) is not None for player in expected), "all are on again")
        return [max(0.0, on_s - up_s) for player in expected if (on_s := player.on_since(killed_s)) is not None]

    async def _until(self, holds: Callable[[], bool], what: str) -> None:
        """Wait until it holds, but not for ever: the figures say what is missing."""
        until_s = time.monotonic() + PATIENCE_S
        while not holds() and time.monotonic() < until_s:
            await asyncio.sleep(LOOK_S)


def most_browsers(students: int) -> int:
    """Return how many of the students may have a real browser."""
    return min(MOST_BROWSERS, students - 1) if possible() else 0


def run(
    students: int = 60, browsers: int = 0, *, cut_s: float = CUT_S, part_s: float = PART_S, settle_s: float = SETTLE_S
) -> dict[str, Any]:
    """Return the figures of one lesson.  `browsers`: of the students, who have a real one."""
    with served() as server:
        seats, recording = seats_of(server.home, LAB.slug, students), record()

        async def played() -> tuple[dict[str, Any], list[Player]]:
            lesson = Class(server, seats, recording, browsers, cut_s=cut_s, part_s=part_s, settle_s=settle_s)
            return await lesson.play(), lesson.players

        figures, players = asyncio.run(played())
        server.end()
        stored = stored_in(server.home)
        load = os.getloadavg()[0]
    sent = {player.seat.slug: (player.came, player.receipts) for player in players}
    return {
        "students": students,
        **count(sent, stored),
        **figures,
        "load": round(load, 1),
        "calibration_us": round(calibrate(), 3),
    }


def stored_in(home: Path) -> dict[str, list[Stored]]:
    """Return the entries of all runs in the database, by sandbox."""
    stored: dict[str, list[Stored]] = {}
    with closing(sqlite3.connect(home / "web.sqlite3")) as database:
        for slug, n, turn, ms, at_ms, name, fields, by, receipt in database.execute(ENTRIES):
            entry = Entry(n, turn, ms, at_ms, name, json.loads(fields), by)
            stored.setdefault(slug, []).append(Stored(entry, receipt))
    return stored


def count(
    sent: Mapping[str, tuple[list[dict[str, Any]], Mapping[int, str]]], stored: Mapping[str, list[Stored]]
) -> dict[str, int]:
    """Compare the players' own lists with the rows.  An entry is named by its turn.

    `entries_that_differ`: rows whose number or content is not what was sent; `receipts_broken`: rows whose receipt does
    not follow from the one before; `receipts_that_differ`: a player's receipts that are not
    those of the rows.
    """
    figures = Counter[str]()
    for slug, (came, receipts) in sent.items():
        rows = stored.get(slug, [])
        turns = Counter(row.entry.turn for row in rows)
        own = {each["n"]: Entry(**each) for each in came}
        figures["entries_sent"] += len(came)
        figures["entries_lost"] += sum(entry.turn not in turns for entry in own.values())
        figures["entries_doubled"] += sum(number - 1 for number in turns.values())
        figures["entries_that_differ"] += sum(own.get(row.entry.n) != row.entry for row in rows)
        figures["receipts_that_differ"] += sum(
            not 1 <= n <= len(rows) or rows[n - 1].receipt != receipt for n, receipt in receipts.items()
        )
    for rows in stored.values():
        figures["entries_stored"] += len(rows)
        before = ""
        for row in rows:
            figures["receipts_broken"] += receipt_of(before, row.entry) != row.receipt
            before = row.receipt
    names = ("sent", "stored", "lost", "doubled", "that_differ")
    return {
        **{f"entries_{name}": figures[f"entries_{name}"] for name in names},
        **{name: figures[name] for name in ("receipts_broken", "receipts_that_differ")},
    }
