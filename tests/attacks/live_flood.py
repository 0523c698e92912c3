"""Sockets of one sandbox that cost as much as they can, beside an honest viewer of another one.

    python -m tests.attacks.live_flood          the figures, as a table

The attackers are a process of their own (`python -m tests.attacks.live_flood WS-URL SLUG SOCKETS SECONDS ID…`).  Each
of their sockets holds all channels it may, of messages whose bodies are short only as they are stored and of filters
no one else follows, and says as much as it may.  They have the processor time that server and viewer leave: real ones
would have their own.  The server runs its sandboxes as `script/server` does: in engine processes, on two cores or more.
"""

import asyncio
import contextlib
import itertools
import math
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import orjson
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed
from websockets.typing import Subprotocol

from queueviz.engines import engines_for_this_machine
from sandbox.control.limits import SocketLimits
from tests.server.server import ROOT, Driver, Server, until

PROTOCOL = Subprotocol("queueviz.live.1")
BODY_BYTES = 256 * 1024
BOMBS = 8
CALM_S = 10.0  # after which everything is as before
SETTLE_S = 5.0


class Watched(NamedTuple):
    """Milliseconds between two frames of an honest viewer's board."""

    gap_p50_ms: float
    gap_p99_ms: float
    gap_max_ms: float
    frames: int


class Cost(NamedTuple):
    sockets: int
    memory_mib: float


def run(seconds: float = 60.0, crowds: tuple[int, ...] = (1, 60)) -> dict[str, Any]:
    """`undisturbed`, and for each number of hostile sockets: gaps, and sockets and memory before, at the end, after."""
    with tempfile.TemporaryDirectory() as home:
        server = Server(Path(home) / "home", engines=engines_for_this_machine()).start()
        try:
            return _measured(server, seconds, crowds)
        finally:
            server.end()


def _measured(server: Server, seconds: float, crowds: tuple[int, ...]) -> dict[str, Any]:
    honest, hostile = server.create("payments"), server.create("orders")
    ids = _bombs(hostile)
    url = f"ws://127.0.0.1:{server.port}/ws/live/"
    board = f"board/{honest.slug}/payment-fifo/payments"
    asyncio.run(_watch(url, board, SETTLE_S))
    figures: dict[str, Any] = {"undisturbed": asyncio.run(_watch(url, board, seconds))}
    for crowd in crowds:
        before = _cost(server)
        command = [
            "nice",
            "-n",
            "19",
            sys.executable,
            "-m",
            "tests.attacks.live_flood",
            url,
            hostile.slug,
            str(crowd),
            str(seconds + 2 * SETTLE_S),
            *ids,
        ]
        attack = subprocess.Popen(command, cwd=ROOT)
        try:
            until(partial(_has_sockets, server, crowd, math.inf), what="the attackers are there")
            watched = asyncio.run(_watch(url, board, seconds))
            during = _cost(server)
        finally:
            attack.wait(seconds + 60)
        ended_s = time.monotonic()
        until(partial(_has_sockets, server, 0, before.sockets), what="sockets are given back")
        time.sleep(max(0.0, ended_s + CALM_S - time.monotonic()))
        figures[f"{crowd} hostile"] = {"watched": watched, "before": before, "during": during, "after": _cost(server)}
    return figures


def _bombs(hostile: Driver) -> list[str]:
    """Ids of messages with such bodies."""
    for number in range(BOMBS):
        hostile.act("SendMessages", topic="orders", count=1, key=f"bomb-{number}", body_bytes=BODY_BYTES)

    def stored() -> list[str]:
        answers = [hostile.ask("find-messages", topic="orders", key=f"bomb-{number}") for number in range(BOMBS)]
        return [row["msg_id"] for answer in answers for row in answer.json()["rows"][:1]]

    return until(lambda: ids if len(ids := stored()) == BOMBS else [], what="the messages are stored")


def _has_sockets(server: Server, least: float, most: float) -> bool:
    return least <= _cost(server).sockets <= most


def _cost(server: Server) -> Cost:
    """Memory of the server and its engines."""
    pids = [server.pid, *map(int, Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text().split())]
    pages = sum(int(Path(f"/proc/{pid}/statm").read_text().split()[1]) for pid in pids)
    sockets = httpx.get(f"{server.url}/healthz/live", timeout=30).json()["sockets"]
    return Cost(sockets, round(pages * 4096 / 2**20, 1))


async def _watch(url: str, board: str, seconds: float) -> Watched:
    """A tab that paints everything it gets."""
    at_s: list[float] = []
    async with connect(url, subprotocols=[PROTOCOL], compression=None, open_timeout=30, proxy=None) as tab:
        await tab.send(_said(k="sub", ch=board))
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                async for text in tab:
                    frame = orjson.loads(text)
                    if "n" in frame:
                        at_s.append(time.monotonic())
                        await tab.send(_said(k="ack", n={board: frame["n"]}))
                    assert frame["k"] != "end", frame
    gaps = sorted((after - before) * 1000 for before, after in itertools.pairwise(at_s))
    assert gaps, "the board never moved"
    return Watched(*(round(gaps[int(len(gaps) * part)], 1) for part in (0.5, 0.99)), round(gaps[-1], 1), len(at_s))


# The attackers.


async def _attack(url: str, slug: str, sockets: int, seconds: float, ids: list[str]) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await asyncio.gather(*(_hostile(url, slug, number, ids) for number in range(sockets)))


async def _hostile(url: str, slug: str, number: int, ids: list[str]) -> None:
    limits = SocketLimits()
    while True:
        with contextlib.suppress(ConnectionClosed, OSError, TimeoutError):
            async with connect(url, subprotocols=[PROTOCOL], compression=None, proxy=None) as tab:
                hearing = asyncio.create_task(_hear(tab))
                try:
                    for turn in itertools.count():
                        await tab.send(_said(k="sub", ch=_channel(slug, number, turn % limits.channels, ids)))
                        await asyncio.sleep(1 / limits.messages_per_s)
                finally:
                    hearing.cancel()
        await asyncio.sleep(0.5)


def _channel(slug: str, number: int, place: int, ids: list[str]) -> str:
    if place < len(ids):
        return f"messages/{slug}?id={ids[place]}"
    return f"messages/{slug}?key=nobody-{number}-{place}"


async def _hear(tab: ClientConnection) -> None:
    """Acknowledges, so that it is not closed as one who does not keep up."""
    with contextlib.suppress(ConnectionClosed):
        async for text in tab:
            frame = orjson.loads(text)
            if "n" in frame:
                await tab.send(_said(k="ack", n={frame["ch"]: frame["n"]}))


def _said(**message: Any) -> str:
    return orjson.dumps(message).decode()


def table(figures: dict[str, Any]) -> str:
    lines = [f"{'':16}{'p50 ms':>8}{'p99 ms':>8}{'max ms':>8}{'frames':>8}   sockets, MiB: before, during, after"]
    for name, row in figures.items():
        watched = row if isinstance(row, Watched) else row["watched"]
        costs = (
            ""
            if isinstance(row, Watched)
            else "   ".join(f"{row[when].sockets}, {row[when].memory_mib}" for when in ("before", "during", "after"))
        )
        lines.append(f"{name:16}" + "".join(f"{value:>8}" for value in watched) + f"   {costs}")
    return "\n".join(lines)


if __name__ == "__main__":
    if len(sys.argv) > 2:
        asyncio.run(_attack(sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4]), sys.argv[5:]))
    else:
        print(table(run(*map(float, sys.argv[1:2]))))
