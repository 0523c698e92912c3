"""What a recording weighs: bytes a minute by template, and what a player loads for its first picture.

Budgets (docs/recording.md): 8 kB a minute for `orders`, 25 for `payments`; 60 kB for the first picture.
"""

import io
import tempfile
import time
from pathlib import Path
from typing import Any

from sandbox.control.limits import RecordingLimits
from sandbox.journal.schema import to_row
from sandbox.recording.frame import About
from sandbox.recording.journal_range import facts
from sandbox.recording.reader import Recording
from sandbox.recording.writer import write_recording
from sandbox.simulation.recorded import PACE_MS, recorded_frames
from sandbox.simulation.world import World

MINUTES = 5
TEMPLATES = ("orders", "payments", "flights")


def run(minutes: int = MINUTES) -> dict[str, Any]:
    """Of each template, after its members have found their queues."""
    return {template: _measured(template, minutes) for template in TEMPLATES}


def _measured(template: str, minutes: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as home, World(Path(home), template, seed=7) as world:
        world.run(25)
        frames, rows = [], []
        for _ in range(minutes * 6):  # the journal's memory is shorter than the run
            since = world.cluster.journal.next_seq
            frames += recorded_frames(world, 10)
            rows += facts(to_row(entry, longs_as_text=True) for entry in world.entries(since=since))
    began_s = time.process_time()
    data = write_recording(About("bench", template, "sandbox", "7", PACE_MS), frames, rows)
    wrote_s = time.process_time() - began_s
    recording = Recording(io.BytesIO(data))
    began_s = time.process_time()
    recording.at(recording.head.chunks[-1].seq - 1)  # the last frame of a whole minute
    seek_s = time.process_time() - began_s
    chunk = max(place.keyframe_bytes + place.deltas_bytes for place in recording.head.chunks)
    return {"bytes_per_minute": round(len(data) / minutes), "first_picture_bytes": RecordingLimits().head_bytes + chunk,
            "write_ms_per_minute": round(wrote_s * 1000 / minutes, 1), "seek_ms": round(seek_s * 1000, 1)}
