"""Cost of a watched board: the engine's time to read it, the bytes its viewers receive, and those of its recording.

Budgets (product 6.4): 150 µs for a reading of 8 queues; 6 kB a second and viewer at 8 queues and 10 messages a second;
at 64 queues and 2 000 messages a second 40 kB, and 3 % of a core for reading, comparing and encoding.  Of a
recording (docs/recording.md): 60 kB for the first picture, which counts a whole head and the largest chunk.
"""

import io
import tempfile
import time
from pathlib import Path
from typing import Any

from sandbox.control.limits import RecordingLimits, SocketLimits
from sandbox.findings.sandbox_view import SandboxViews
from sandbox.findings.watch import FindingWatch
from sandbox.journal.schema import to_row
from sandbox.live.channel import LONGEST_INTERVAL_S
from sandbox.live.frames import changes, delta
from sandbox.queries.rows.groups import GroupView
from sandbox.queries.snapshot.board import read_board
from sandbox.recording.frame import PACE_MS, About
from sandbox.recording.journal_range import facts
from sandbox.recording.reader import Recording
from sandbox.recording.writer import write_recording
from sandbox.simulation.recorded import recorded_frames
from sandbox.simulation.world import World
from tests.bench.calibration import calibrate

READINGS = 200
READS_A_LOOK = 40  # of one watched board: 20 a second, and a look every 2 s
TRIES = 5
WATCH_S = 20.0
RECORD_S = 300.0
LOOK_S = 10  # the journal's memory is shorter than the run
GROUP, TOPIC = "order-svc", "orders"


def run(readings: int = READINGS, watch_s: float = WATCH_S, record_s: float = RECORD_S) -> dict[str, Any]:
    """CPU microseconds per reading (queues almost empty, full to flow control, a whole snapshot); bytes of deltas and
    of a recording.
    """
    with (
        tempfile.TemporaryDirectory() as home,
        _world(Path(home) / "a", work_ms=100, per_s=10) as quiet,
        _world(Path(home) / "b", work_ms=5_000, per_s=400) as full,
    ):
        figures = {
            "calibration_us": round(calibrate(), 3),
            "board_us": _cpu_us(quiet, readings),
            "full_board_us": _cpu_us(full, readings),
            "snapshot_us": _cpu_us(quiet, readings, whole=True),
            "look_us": _look_us(quiet, readings),
        }
    figures["look_of_watching"] = round(figures["look_us"] / (READS_A_LOOK * figures["board_us"]), 3)
    with tempfile.TemporaryDirectory() as home, World(Path(home), "flights", seed=1) as flights:
        flights.run(25)
        for group in ("gate-display", "maintenance"):
            seen = _watched(flights, group, "flights", least_s=0.05, watch_s=watch_s)
            figures[group] = seen | {"bytes_per_s_at_10_msg": round(seen["bytes_per_s"] * 10 / seen["in_per_s"])}
        figures["recording"] = _recorded(flights, record_s)
    with tempfile.TemporaryDirectory() as home, _wide(Path(home)) as wide:
        figures["wide"] = _watched(wide, GROUP, TOPIC, least_s=0.1, watch_s=watch_s / 5)
    return figures


def _world(home: Path, *, work_ms: int, per_s: int) -> World:
    world = World(home)
    world.act("CreateTopic", topic=TOPIC, write_queues=8, read_queues=8)
    world.act("StartConsumer", group=GROUP, subscriptions=[[TOPIC, "*"]], copies=3, work_ms=[work_ms])
    world.act("StartProducer", topic=TOPIC, rate_per_s=per_s)
    world.run(21)
    return world


def _wide(home: Path) -> World:
    world = World(home)
    world.act("CreateTopic", topic=TOPIC, write_queues=64, read_queues=64)
    world.act("StartConsumer", group=GROUP, subscriptions=[[TOPIC, "*"]], copies=8, threads=64, work_ms=[5, 40])
    world.run(21)  # the members have their queues before there is anything to send
    for _ in range(4):
        world.act("StartProducer", topic=TOPIC, rate_per_s=500)
    world.run(8)
    return world


def _cpu_us(world: World, readings: int, *, whole: bool = False) -> float:
    """The best of some tries: other work on the machine only ever makes it slower."""
    best_s = float("inf")
    for _ in range(TRIES):
        began = time.process_time()
        for _ in range(readings):
            if whole:
                world.sandbox.snapshot()
            else:
                read_board(world.cluster, GroupView(world.cluster, GROUP), TOPIC)
        best_s = min(best_s, time.process_time() - began)
    return round(best_s / readings * 1e6, 1)


def _look_us(world: World, looks: int) -> float:
    """Microseconds of one look for findings: the view, its history, all rules."""
    views, watch = SandboxViews(world.cluster), FindingWatch(world.cluster.journal)
    best_s = float("inf")
    for _ in range(TRIES):
        began = time.process_time()
        for _ in range(looks):
            view, follows = views.look()
            watch.look(view, follows=follows)
        best_s = min(best_s, time.process_time() - began)
    return round(best_s / looks * 1e6, 1)


def _watched(world: World, group: str, topic: str, *, least_s: float, watch_s: float) -> dict[str, float]:
    """As the hub does it for one viewer: read when due, compare, encode, wait as long as the bytes ask for."""
    allowed = SocketLimits().board_bytes_per_s
    name = f"board/calm-river-kxmwtp/{group}/{topic}"
    seen, number, sent_bytes, cpu_s, passed_s, wait_s = None, 0, 0, 0.0, 0.0, least_s
    while passed_s < watch_s:
        world.run(wait_s)
        passed_s += wait_s
        began = time.process_time()
        reading = world.read(f"board/{group}/{topic}")
        difference = changes(reading.data if seen is None else seen, reading.data)
        if difference:
            number += 1
            text = delta(name, number, reading, difference, pace_changed=False)
            sent_bytes += len(text)
            wait_s = min(LONGEST_INTERVAL_S, max(least_s, len(text) / allowed))
        cpu_s += time.process_time() - began
        seen = reading.data
    header = seen["header"] if seen is not None else {}
    return {
        "frames_per_s": round(number / passed_s, 1),
        "bytes_per_s": round(sent_bytes / passed_s),
        "in_per_s": header["in_per_s"],
        "cpu_percent": round(cpu_s / passed_s * 100, 2),
    }


def _recorded(world: World, record_s: float) -> dict[str, float]:
    frames, rows = [], []
    for _ in range(round(record_s / LOOK_S)):
        since = world.cluster.journal.next_seq
        frames += recorded_frames(world, LOOK_S)
        rows += facts(to_row(entry, longs_as_text=True) for entry in world.entries(since=since))
    began_s = time.process_time()
    data = write_recording(About("bench", "flights", "sandbox", "1", PACE_MS), frames, rows)
    write_s = time.process_time() - began_s
    chunk = max(part.keyframe_bytes + part.deltas_bytes for part in Recording(io.BytesIO(data)).head.chunks)
    return {
        "bytes_per_minute": round(len(data) * 60 / record_s),
        "first_picture_bytes": RecordingLimits().head_bytes + chunk,
        "write_ms_per_minute": round(write_s * 60_000 / record_s, 1),
    }
