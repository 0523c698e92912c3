"""One sandbox flooded, or ten, and twenty quiet ones watched beside them: how late their frames come.

The engine and the hub run in one process, as in the server.  A frame is late from the moment its event rings the bell
until it is handed to the viewer's socket.  Both kinds of time are measured.
"""

import asyncio
import tempfile
import time
from pathlib import Path
from typing import Any

import orjson

from queueviz.live.hub import Hub
from queueviz.live.viewer import Viewer
from sandbox.cluster.config import HostConfig
from sandbox.control.actions import parse_action
from sandbox.control.rights import Actor
from sandbox.hosting.engine import Engine
from sandbox.hosting.port import EnginePort
from tests.bench.calibration import calibrate

QUIET = 20
SETTLE_S = 3.0
MEASURE_S = 15.0
PATIENCE_S = 60.0
ACK_S = 0.25
GROUP, TOPIC = "order-svc", "orders"
FLOODS = (0, 1, 10)
OWNER = Actor("owner", "bench")
BUDGET_P99_MS = 100.0


class Bell:
    """When each event came.  Between two looks at a sandbox whose clock stands, nothing rings."""

    def __init__(self) -> None:
        self.rang_s: list[float] = []

    def ring(self) -> None:
        self.rang_s.append(time.perf_counter())


class Tab:
    """A viewer of one board; it acknowledges like a browser, and notes which event its frames have reached."""

    def __init__(self, hub: Hub, slug: str) -> None:
        self.name = f"board/{slug}/{GROUP}/{TOPIC}"
        self._hub = hub
        self._viewer = Viewer(self._send, self._close, self._may_see, slug, hub.limits)
        self._newest = 0
        self.frames: list[tuple[float, int]] = []  # when, newest event

    async def watch(self) -> None:
        self._hub.enter(self._viewer)
        await self._hub.join(self._viewer, self.name)
        while True:
            await asyncio.sleep(ACK_S)
            self._hub.acknowledge(self._viewer, {self.name: self._newest})

    def leave(self) -> None:
        self._hub.forget(self._viewer)

    async def _send(self, text: str) -> None:
        now_s = time.perf_counter()
        frame = orjson.loads(text)
        if "n" in frame:
            self._newest = frame["n"]
            self.frames.append((now_s, int(frame["seq"])))

    async def _close(self, code: int) -> None:
        raise AssertionError(f"closed with {code}")

    async def _may_see(self, slug: str) -> bool:
        return True


def run(quiet: int = QUIET, measure_s: float = MEASURE_S) -> dict[str, Any]:
    figures: dict[str, Any] = {"budget_p99_ms": BUDGET_P99_MS, "calibration_us": round(calibrate(), 3)}
    for name, repeatable in (("shared", False), ("repeatable", True)):
        for floods in FLOODS:
            with tempfile.TemporaryDirectory() as home:
                figures[f"{name}_beside_{floods}"] = measure(
                    Path(home), repeatable=repeatable, floods=floods, quiet=quiet, measure_s=measure_s)
    return figures


def measure(home: Path, *, repeatable: bool, floods: int, quiet: int, measure_s: float) -> dict[str, Any]:
    engine = Engine(home, HostConfig(repeatable=repeatable)).start()
    try:
        bells = {f"quiet-{n}": Bell() for n in range(quiet)}
        bases = {slug: _started(engine.port, slug, bell) for slug, bell in bells.items()}
        flooded = [f"flood-{n}" for n in range(floods)]
        for slug in flooded:
            _flood(engine.port, slug)
        return asyncio.run(_watched(engine.port, bells, bases, measure_s, flooded))
    finally:
        engine.stop(PATIENCE_S)


async def _watched(port: EnginePort, bells: dict[str, Bell], bases: dict[str, int], measure_s: float,
                   flooded: list[str]) -> dict[str, Any]:
    hub = Hub(port)
    tabs = {slug: Tab(hub, slug) for slug in [*bells, *flooded]}
    watching = [asyncio.create_task(tab.watch()) for tab in tabs.values()]
    await asyncio.sleep(SETTLE_S)
    from_s, cpu_s = time.perf_counter(), time.process_time()
    await asyncio.sleep(measure_s)
    until_s, cpu_s = time.perf_counter(), time.process_time() - cpu_s
    stored = {slug: await _stored(port, slug) for slug in bells}
    last = await asyncio.wrap_future(port.snapshot([*bells, *flooded][-1]))
    for task in watching:
        task.cancel()
    for tab in tabs.values():
        tab.leave()
    late_ms = sorted(late for slug, bell in bells.items()
                     for late in _late_ms(tabs[slug].frames, bell, bases[slug], stored[slug], from_s, until_s))
    frames = sum(from_s <= at_s < until_s for slug in bells for at_s, _ in tabs[slug].frames)
    return {"p50_ms": round(late_ms[len(late_ms) // 2], 1), "p99_ms": round(late_ms[int(len(late_ms) * 0.99)], 1),
            "max_ms": round(late_ms[-1], 1), "samples": len(late_ms),
            "frames_per_s": round(frames / len(bells) / (until_s - from_s), 1),
            "cpu_cores": round(cpu_s / (until_s - from_s), 2), "reached_rate": last["reached_rate"]}


async def _stored(port: EnginePort, slug: str) -> set[int]:
    """Numbers of the events that move a strip."""
    found, after = set(), -1
    while True:
        page = await asyncio.wrap_future(port.entries(slug, after, 1_000))
        found |= {int(row["seq"]) for row in page.rows if row["type"] == "MessagesStored"}
        if not page.rows:
            return found
        after = page.next_seq - 1


def _late_ms(frames: list[tuple[float, int]], bell: Bell, base: int, stored: set[int], from_s: float,
             until_s: float) -> list[float]:
    """For each event of that time: until the first frame that knows it."""
    late, place = [], 0
    for number, rang_s in enumerate(bell.rang_s, base + 1):
        if number not in stored or not from_s <= rang_s < until_s:
            continue
        while place < len(frames) and frames[place][1] < number:
            place += 1
        if place < len(frames):
            late.append((frames[place][0] - rang_s) * 1000)
        else:
            late.append((until_s - rang_s) * 1000)
    return late


def _started(port: EnginePort, slug: str, bell: Bell) -> int:
    """The newest event before the first that rings."""
    port.create(slug, "orders", seed=slug).result(PATIENCE_S)
    _act(port, slug, "SetRate", rate=0)
    newest = -1
    while newest != (newest := port.newest_seq(slug).result(PATIENCE_S)):
        time.sleep(0.05)
    port.subscribe(slug, bell).result(PATIENCE_S)
    _act(port, slug, "SetRate", rate=1)
    return newest


def _flood(port: EnginePort, slug: str) -> None:
    port.create(slug, "empty", seed=1).result(PATIENCE_S)
    _act(port, slug, "CreateTopic", topic=TOPIC, write_queues=64, read_queues=64)
    _act(port, slug, "StartConsumer", group=GROUP, subscriptions=[[TOPIC, "*"]], copies=8, threads=64, work_ms=[5, 40])
    for _ in range(4):
        _act(port, slug, "StartProducer", topic=TOPIC, rate_per_s=500)
    _act(port, slug, "SetRate", rate=20)


def _act(port: EnginePort, slug: str, action: str, **fields: Any) -> None:
    port.act(slug, parse_action({"action": action, **fields}), OWNER).result(PATIENCE_S)
