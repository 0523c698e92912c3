"""A teacher's broadcast to a class: how far the sandboxes' own clocks miss the planned millisecond, and how late it is.

    manage.py bench broadcast --students 60 --json

An engine with its thread and files, a sandbox `orders` for each student, all of them at work.  Each kind goes to all at
once, `ROUNDS` times, half a second ahead as the page does.
"""

import math
import tempfile
import time
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from sandbox.control.interventions import Done, Intervention, Kind
from sandbox.control.rights import Actor
from sandbox.hosting.engine import Engine
from sandbox.hosting.port import EnginePort
from tests.bench.calibration import calibrate

TEMPLATE = "orders"
TEACHER = Actor("instructor", "bench")
LEAD_S = 0.5
ROUNDS = 5
SETTLE_S = 3.0
PATIENCE_S = 60.0
PAIRS: tuple[tuple[Kind, Kind], ...] = (("crash_member", "heal"), ("freeze", "release"))


def run(students: tuple[int, ...] = (60,)) -> dict[str, Any]:
    """By number of students and kind: `spread_ms` between the clocks' own planned milliseconds, `late_p50_ms`,
    `late_p99_ms`, `late_max_ms` in real time."""
    return {"calibration_us": round(calibrate(), 3), **{str(count): _of(count) for count in students}}


def _of(count: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as home:
        engine = Engine(Path(home)).start()
        try:
            slugs = [f"student-{number}" for number in range(count)]
            for number, slug in enumerate(slugs):
                engine.port.create(slug, TEMPLATE, seed=number).result(PATIENCE_S)
            time.sleep(SETTLE_S)
            found: dict[str, list[Done]] = {}
            for _ in range(ROUNDS):
                for pair in PAIRS:
                    for kind in pair:
                        found.setdefault(kind, []).extend(_broadcast(engine.port, slugs, kind))
                        time.sleep(1)
            return {kind: _figures(done) for kind, done in found.items()}
        finally:
            engine.stop(PATIENCE_S)


def _broadcast(port: EnginePort, slugs: list[str], kind: Kind) -> list[Done]:
    what = Intervention(kind, round((time.time() + LEAD_S) * 1000))
    asked: list[Future[Done]] = [port.intervene(slug, what, TEACHER) for slug in slugs]
    return [future.result(PATIENCE_S) for future in asked]


def _figures(done: list[Done]) -> dict[str, float]:
    off = [one.at_ms - one.planned_ms for one in done]
    late = sorted(one.late_ms for one in done)
    return {"n": len(done), "spread_ms": max(off) - min(off), "late_p50_ms": late[len(late) // 2],
            "late_p99_ms": late[math.ceil(len(late) * 0.99) - 1], "late_max_ms": late[-1]}
