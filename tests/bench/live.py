"""From an event in the engine to a frame at the browser: a real server, a real engine, real sockets.

The sandbox's journal says when each message was stored; a viewer says when it first saw the offset.  Server and viewers
are two processes on one machine, so their clocks agree.
"""

import asyncio
import time
from collections.abc import Iterator
from typing import Any

import httpx
import orjson
from websockets.asyncio.client import connect

from tests.bench import echo
from tests.bench.served import served

TEMPLATE, GROUP, TOPIC = "payments", "payment-fifo", "payments"  # 8 queues, 12 messages a second
SETTLE_S = 3.0
MEASURE_S = 12.0
ACK_S = 0.25
BUDGET_P99_MS = 100.0  # with 50 viewers; half of it is the interval between two frames


class Viewer:
    """A tab: merges nothing, but notes when each queue's end was first seen, and acknowledges."""

    def __init__(self, url: str, channel: str) -> None:
        self._url, self._channel = url, channel
        self._newest = 0
        self.first_seen: dict[tuple[str, int], float] = {}  # (queue, max) -> wall ms
        self.frames = 0
        self.bytes = 0

    async def watch(self, until_s: float) -> None:
        async with connect(self._url, subprotocols=["queueviz.live.1"], compression=None) as tab:  # type: ignore[list-item]
            await tab.send(orjson.dumps({"k": "sub", "ch": self._channel}).decode())
            acking = asyncio.create_task(self._acknowledge(tab))
            try:
                async with asyncio.timeout(max(0.1, until_s - time.monotonic())):
                    async for text in tab:
                        self._take(text)
            except TimeoutError:
                pass
            finally:
                acking.cancel()

    async def _acknowledge(self, tab: Any) -> None:
        while True:
            await asyncio.sleep(ACK_S)
            await tab.send(orjson.dumps({"k": "ack", "n": {self._channel: self._newest}}).decode())

    def _take(self, text: str | bytes) -> None:
        seen_ms = time.time() * 1000
        frame = orjson.loads(text)
        if frame.get("ch") != self._channel or "n" not in frame:
            return
        self.frames += 1
        self.bytes += len(text)
        self._newest = frame["n"]
        board = frame["data"] if frame["k"] == "snap" else frame["set"]
        for queue, row in board.get("queues", {}).items():
            if row and row.get("max") is not None:
                self.first_seen.setdefault((queue, int(row["max"])), seen_ms)


def run() -> dict[str, Any]:
    """`viewers_1` and `viewers_50`: event to frame in ms, frames and bytes a second and viewer."""
    figures: dict[str, Any] = {"budget_p99_ms": BUDGET_P99_MS, "echo": echo.round_trips()}
    with served() as (base, _):
        api = httpx.Client(base_url=base, timeout=15)
        made = api.post("/api/sandboxes", json={"template": TEMPLATE}).raise_for_status().json()
        time.sleep(SETTLE_S)
        for count in (1, 50):
            figures[f"viewers_{count}"] = asyncio.run(_measure(api, base, made["slug"], count))
        figures["server"] = api.get("/healthz/live").json()
    return figures


async def _measure(api: httpx.Client, base: str, slug: str, count: int) -> dict[str, Any]:
    before = api.get(f"/api/sandboxes/{slug}").json()
    ahead_ms = before["wall_ms"] - before["at_ms"]  # the sandbox's clock against the machine's
    url = base.replace("http", "ws") + "/ws/live/"
    channel = f"board/{slug}/{GROUP}/{TOPIC}"
    viewers = [Viewer(url, channel) for _ in range(count)]
    until_s = time.monotonic() + SETTLE_S + MEASURE_S
    await asyncio.gather(*(viewer.watch(until_s) for viewer in viewers))
    events = api.get(f"/api/sandboxes/{slug}/events", params={"after": before["seq"]}).text.splitlines()
    latencies = sorted(_latencies(viewers, [orjson.loads(line) for line in events], ahead_ms, SETTLE_S * 1000))
    if not latencies:
        raise RuntimeError("no viewer saw any message")
    seconds = SETTLE_S + MEASURE_S
    return {
        "event_to_frame_p50_ms": latencies[len(latencies) // 2],
        "event_to_frame_p99_ms": latencies[int(len(latencies) * 0.99)],
        "event_to_frame_max_ms": latencies[-1],
        "samples": len(latencies),
        "frames_per_s": sum(viewer.frames for viewer in viewers) / count / seconds,
        "bytes_per_s": sum(viewer.bytes for viewer in viewers) / count / seconds,
    }


def _latencies(
    viewers: list[Viewer], events: list[dict[str, Any]], ahead_ms: float, settle_ms: float
) -> Iterator[float]:
    """Of every message stored after the viewers had settled, at every viewer that saw its end of queue."""
    stored = [event for event in events if event["type"] == "MessagesStored" and event["topic"] == TOPIC]
    if not stored:
        return
    from_ms = stored[0]["at_ms"] + settle_ms
    for viewer in viewers:
        for event in stored:
            end = int(event["first_offset"]) + int(event["count"])
            seen_ms = viewer.first_seen.get((f"{event['broker']}:{event['queue_id']}", end))
            if seen_ms is not None and event["at_ms"] >= from_ms:
                yield seen_ms - (event["at_ms"] + ahead_ms)
