"""Branches at random events of an hour: how long each takes, and whether it is the run that it came from.

Budget: an hour within 30 s, with checkpoints 3 s. The parent sleeps, and nothing else runs on the machine's loop, whose
time is virtual: a branch takes the processor's time.
"""

import random
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from sandbox.journal.segments import rows_since
from tests.sim.recorded_stage import Recorded
from tests.sim.test_branches import branch

BRANCHES = 20
MINUTES = 60
QUICK = 2, 3  # minutes and branches
LESSONS = 3  # times a member crashes, and comes back half a minute later
AWAY_S = 30
ONWARD_MS = 10 * 60 * 1000
SEED = 7


def run(*, quick: bool = False) -> dict[str, Any]:
    minutes, branches = QUICK if quick else (MINUTES, BRANCHES)
    return {template: _of(template, minutes * 60, branches) for template in ("orders", "payments")}


def _of(template: str, seconds: float, branches: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as home:
        stage = Recorded(Path(home), template, seed=SEED, luck=1)
        stage.watch()
        for _ in range(LESSONS):
            stage.run(seconds / LESSONS - AWAY_S)
            stage.act("CrashActor", actor="A")
            stage.run(AWAY_S)
            stage.act("RestartActor", actor="A")
        hour = len(stage.journal())
        stage.run(ONWARD_MS / 1000)
        stage.sleep()
        figures = _branched(stage, hour, branches)
        stage.close()
        return figures


def _branched(stage: Recorded, hour: int, branches: int) -> dict[str, Any]:
    parent = stage.journal()
    rows = list(rows_since(stage.directory / "journal", 0))
    acts_ms = [row["at_ms"] for row in rows if row["type"] in ("ActionTaken", "SandboxSlept")]
    chance, took_s, onward_ms, different = random.Random(SEED), [], [], []
    places = [*(chance.randrange(hour) for _ in range(branches - 1)), hour - 1]
    for number, place in enumerate(places):
        at, at_ms, slug = rows[place]["seq"], rows[place]["at_ms"], f"branch-{number}"
        began = time.perf_counter()
        branch(stage, at, slug)
        took_s.append(time.perf_counter() - began)
        stage.watch(slug)
        stage.run(ONWARD_MS / 1000)
        child = stage.journal(slug)
        until_ms = min(at_ms + ONWARD_MS, *(act_ms for act_ms in acts_ms if act_ms > at_ms))
        asked = sum(row["at_ms"] < until_ms for row in rows)
        if child[:asked] != parent[:asked]:
            different.append(at)
        onward_ms.append(until_ms - at_ms)
        stage.machine.sim.run(stage.host.delete(slug))
    last_s = took_s[-1]
    return {"events": hour, "branches": branches, "different": different, "s_p50": statistics.median(took_s),
            "s_max": max(took_s), "s_of_the_whole": last_s, "events_per_s": hour / last_s,
            "whole_ten_minutes": sum(ms >= ONWARD_MS for ms in onward_ms),
            "onward_s_p50": statistics.median(onward_ms) / 1000}
