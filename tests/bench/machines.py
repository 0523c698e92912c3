"""Engines on three machines under people who watch: one engine is killed, then one machine's network is cut.

    manage.py bench machines --sandboxes 150 --json

Three network namespaces with an engine each, two web processes, one PostgreSQL, one Redis.  Each sandbox is watched on
its board as a page does it: a socket that is lost is opened again.  All of it shares this machine's cores.
"""

import asyncio
import itertools
import time
from collections import Counter
from contextlib import suppress
from functools import partial
from typing import Any

import orjson

from tests.bench import tab
from tests.bench.calibration import calibrate
from tests.machines.boxes import GROUP, TOPIC, Box, Counts, by_engine, counts, make
from tests.machines.machines import Machines, are_here, machines
from tests.server.server import until

ENGINES = 3
SETTLE_S, BEFORE_S, AFTER_S = 10.0, 10.0, 30.0
ACK_EVERY_S = 0.25
AGAIN_S = 0.5
COUNTED_WITHIN_S = 120.0
BACK_S = 2.0  # a gap of frames that someone would notice


def run(sandboxes: int = 150, *, before_s: float = BEFORE_S, after_s: float = AFTER_S) -> dict[str, Any]:
    """`seconds`: how many viewers had a frame in each; by kind of trouble who was hurt and for how long."""
    if not are_here():
        return {"skipped": "it needs root, network namespaces, PostgreSQL, Redis and Ray"}
    with machines(ENGINES) as there:
        for web in (1, 2):
            there.serve(web, engines=ENGINES)
        boxes = [make(there, number, number % 2 + 1) for number in range(sandboxes)]
        return {"calibration_us": round(calibrate(), 3), "sandboxes": sandboxes,
                **asyncio.run(_watched(there, boxes, before_s, after_s))}


async def _watched(there: Machines, boxes: list[Box], before_s: float, after_s: float) -> dict[str, Any]:
    seen: dict[Box, list[float]] = {box: [] for box in boxes}
    watching = [asyncio.create_task(_watch(there, box, seen[box])) for box in boxes]
    await asyncio.sleep(SETTLE_S + len(boxes) / 10)
    began_s = time.monotonic()
    found: dict[str, Any] = {}
    try:
        await asyncio.sleep(before_s)
        for kind in ("killed", "cut"):
            where = await asyncio.to_thread(by_engine, there)
            on_third = next(row for row in where if row["host"].startswith(there.address(3) + " "))
            row = on_third if kind == "cut" else next(row for row in where if row is not on_third)
            hurt = [box for box in boxes if box.slug in row["slugs"]]
            before = await asyncio.to_thread(_counted, there, hurt)
            at_s = time.monotonic()
            await (asyncio.to_thread(there.cut, 3) if kind == "cut" else asyncio.to_thread(there.kill, row))
            await asyncio.sleep(after_s)
            after = await asyncio.to_thread(_counted, there, hurt)
            found[kind] = {"at_s": round(at_s - began_s, 1), **_hurt(seen, hurt, at_s, after_s),
                           "acknowledged_lost": sum(max(0, before[slug].sent - after[slug].stored) for slug in before)}
    finally:
        for task in watching:
            task.cancel()
        await asyncio.gather(*watching, return_exceptions=True)
    return {**found, "seconds": _seconds(seen, began_s)}


def _hurt(seen: dict[Box, list[float]], hurt: list[Box], at_s: float, after_s: float) -> dict[str, Any]:
    """How long the hurt and the others were without a frame, at the longest, from a trouble on."""
    gaps = {box: _longest(times, at_s, at_s + after_s) for box, times in seen.items()}
    mine, others = sorted(gaps[box] for box in hurt), sorted(gaps[box] for box in seen if box not in hurt)
    return {"watched": len(mine), "without_frames_s": _spread(mine), "others": len(others),
            "others_without_frames_s": _spread(others), "never_back": sum(gap > after_s - BACK_S for gap in mine)}


def _longest(times: list[float], from_s: float, to_s: float) -> float:
    inside = [from_s, *(at for at in times if from_s < at < to_s), to_s]
    return max(later - earlier for earlier, later in itertools.pairwise(inside))


def _spread(values: list[float]) -> dict[str, float]:
    if not values:
        return {}
    return {"least": round(values[0], 1), "p50": round(values[len(values) // 2], 1), "most": round(values[-1], 1)}


def _seconds(seen: dict[Box, list[float]], began_s: float) -> list[int]:
    """Viewers with a frame in each second from the beginning on."""
    by_second: Counter[int] = Counter()
    for times in seen.values():
        by_second.update({int(at - began_s) for at in times if at >= began_s})
    return [by_second[second] for second in range(max(by_second, default=-1) + 1)]


async def _watch(there: Machines, box: Box, times: list[float]) -> None:
    """As a page: again and again."""
    while True:
        with suppress(OSError):
            await _watch_once(there, box, times)
        await asyncio.sleep(AGAIN_S)


async def _watch_once(there: Machines, box: Box, times: list[float]) -> None:
    channel, painted = f"board/{box.slug}/{GROUP}/{TOPIC}", [0]

    def take(text: bytes) -> None:
        frame = orjson.loads(text)
        if frame["k"] in ("snap", "delta"):
            times.append(time.monotonic())
            painted[0] = frame["n"]

    address = there.url(box.web).replace("http", "ws")
    socket = await tab.opened(f"{address}/ws/live/", there.bridge, take, box.cookie)
    try:
        socket.send(orjson.dumps({"k": "sub", "ch": channel}).decode())
        while not socket.is_closed:
            await asyncio.sleep(ACK_EVERY_S)
            socket.send(orjson.dumps({"k": "ack", "n": {channel: painted[0]}}).decode())
    finally:
        await socket.close()


def _counted(there: Machines, hurt: list[Box]) -> dict[str, Counts]:
    return {box.slug: until(partial(counts, there, box), within_s=COUNTED_WITHIN_S, what=box.slug) for box in hurt}
