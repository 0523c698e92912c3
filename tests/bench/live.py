"""From an event in the engine to a frame at the browser: a real server, a real engine, real sockets.

    manage.py bench live --viewers 1,50,500 --engines 0,2 --json

The sandbox's journal says when each message was stored; a viewer says when it first saw the offset.  Server and viewers
are processes on one machine, so their clocks agree.  All viewers acknowledge as a page does; of many, `LOOKERS` take
their frames apart, so that the viewers' process keeps up.
"""

import asyncio
import os
import time
from collections.abc import Iterator
from typing import Any

import httpx
import orjson

from tests.bench import echo
from tests.bench.calibration import calibrate
from tests.bench.served import cpu_s, served
from tests.bench.tab import Tab, opened

TEMPLATE, GROUP, TOPIC = "payments", "payment-fifo", "payments"  # 8 queues, 12 messages a second
SETTLE_S = 3.0
MEASURE_S = 12.0
ACK_S = 0.25
BUDGET_P99_MS = 100.0  # half of it is the interval between two frames
LOOKERS = 50
VIEWERS_PER_ADDRESS = 100
OPENING_AT_ONCE = 20
PATIENCE_S = 60.0


class Viewer:
    """A tab: merges nothing, but notes when each queue's end was first seen, if it `looks`, and acknowledges."""

    def __init__(self, url: str, channel: str, address: str, *, looks: bool) -> None:
        self._url, self._channel, self._address, self._looks = url, channel, address, looks
        self._newest = ""
        self._shown = asyncio.Event()
        self.first_seen: dict[tuple[str, int], float] = {}  # (queue, max) -> wall ms
        self.frames = 0
        self.bytes = 0

    async def watch(self, opening: asyncio.Semaphore, entered: asyncio.Barrier, settle_s: float,
                    measure_s: float) -> None:
        async with opening:
            tab = await opened(self._url, self._address, self._take)
        tab.send(orjson.dumps({"k": "sub", "ch": self._channel}).decode())
        acknowledging = asyncio.create_task(self._acknowledge(tab))
        await asyncio.wait_for(self._shown.wait(), PATIENCE_S)
        await entered.wait()
        await asyncio.sleep(settle_s)
        self.frames = self.bytes = 0
        await asyncio.sleep(measure_s)
        acknowledging.cancel()
        await tab.close()

    async def _acknowledge(self, tab: Tab) -> None:
        while True:
            await asyncio.sleep(ACK_S)
            if self._newest:
                tab.send(f'{{"k":"ack","n":{{"{self._channel}":{self._newest}}}}}')

    def _take(self, text: bytes) -> None:
        seen_ms = time.time() * 1000
        _, found, rest = text[:200].partition(b'"n":')
        if not found:
            assert b'"end"' not in text[:20], text
            return
        self._shown.set()
        self.frames += 1
        self.bytes += len(text)
        self._newest = rest.partition(b",")[0].decode()
        if self._looks:
            self._look(orjson.loads(text), seen_ms)

    def _look(self, frame: dict[str, Any], seen_ms: float) -> None:
        board = frame["data"] if frame["k"] == "snap" else frame["set"]
        for queue, row in board.get("queues", {}).items():
            if row and row.get("max") is not None:
                self.first_seen.setdefault((queue, int(row["max"])), seen_ms)


def run(viewers: tuple[int, ...] = (1, 50), engines: tuple[int, ...] = (0,), *, settle_s: float = SETTLE_S,
        measure_s: float = MEASURE_S) -> dict[str, Any]:
    """By number of viewers: event to frame in ms, frames and bytes a second and viewer, CPU in percent of a core.
    `engines`: processes beside the server's, 0 for a thread of it.
    """
    figures: dict[str, Any] = {"budget_p99_ms": BUDGET_P99_MS, "calibration_us": round(calibrate(), 3),
                               "echo": echo.round_trips()}
    for processes in engines:
        with served(engines=processes) as (base, pid), httpx.Client(base_url=base, timeout=15) as api:
            made = api.post("/api/sandboxes", json={"template": TEMPLATE}).raise_for_status().json()
            time.sleep(settle_s)
            cells = {f"viewers_{count}": asyncio.run(_measure(api, base, pid, made["slug"], count, settle_s,
                                                              measure_s))
                     for count in viewers}
            figures |= {f"engines_{processes}": cells} if processes else cells
    return figures


async def _measure(api: httpx.Client, base: str, pid: int, slug: str, count: int, settle_s: float,
                   measure_s: float) -> dict[str, Any]:
    url = base.replace("http", "ws") + "/ws/live/"
    channel = f"board/{slug}/{GROUP}/{TOPIC}"
    entered, opening = asyncio.Barrier(count + 1), asyncio.Semaphore(OPENING_AT_ONCE)
    apart = max(1, count // LOOKERS)
    viewers = [Viewer(url, channel, f"127.0.1.{1 + n // VIEWERS_PER_ADDRESS}", looks=n % apart == 0)
               for n in range(count)]
    async with asyncio.TaskGroup() as tabs:
        for viewer in viewers:
            tabs.create_task(viewer.watch(opening, entered, settle_s, measure_s))
        await entered.wait()
        await asyncio.sleep(settle_s)
        began_s, server_s, own_s = time.monotonic(), cpu_s(pid), cpu_s(os.getpid())
        before = (await asyncio.to_thread(api.get, f"/api/sandboxes/{slug}")).json()
        await asyncio.sleep(max(0.1, measure_s - 0.5))
        passed_s = time.monotonic() - began_s
        server_s, own_s = cpu_s(pid) - server_s, cpu_s(os.getpid()) - own_s  # the server is a child of ours
    ahead_ms = before["wall_ms"] - before["at_ms"]  # the sandbox's clock against the machine's
    events = api.get(f"/api/sandboxes/{slug}/events", params={"after": before["seq"]}).text.splitlines()
    latencies = sorted(_latencies(viewers, [orjson.loads(line) for line in events], ahead_ms))
    if not latencies:
        raise RuntimeError("no viewer saw any message")
    return {
        "event_to_frame_p50_ms": latencies[len(latencies) // 2],
        "event_to_frame_p99_ms": latencies[int(len(latencies) * 0.99)],
        "event_to_frame_max_ms": latencies[-1],
        "samples": len(latencies),
        "frames_per_s": sum(viewer.frames for viewer in viewers) / count / measure_s,
        "bytes_per_s": sum(viewer.bytes for viewer in viewers) / count / measure_s,
        "server_cpu_percent": server_s / passed_s * 100,
        "client_cpu_percent": (own_s - server_s) / passed_s * 100,
    }


def _latencies(viewers: list[Viewer], events: list[dict[str, Any]], ahead_ms: float) -> Iterator[float]:
    """Of every message stored while all watched, at every viewer that saw its end of queue."""
    stored = [event for event in events if event["type"] == "MessagesStored" and event["topic"] == TOPIC]
    for viewer in viewers:
        for event in stored:
            end = int(event["first_offset"]) + int(event["count"])
            seen_ms = viewer.first_seen.get((f"{event['broker']}:{event['queue_id']}", end))
            if seen_ms is not None:
                yield seen_ms - (event["at_ms"] + ahead_ms)
