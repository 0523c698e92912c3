"""Repeated execution of a recorded sandbox's actions, with a byte-for-byte comparison of the journals."""

import time
from pathlib import Path
from typing import NamedTuple

from sandbox.cluster.origin import load_origin
from sandbox.hosting.repeatable_ranges import Stretch, recorded_until, stretches_of
from sandbox.hosting.rerun import Difference, Rerun
from sandbox.journal.schema import Row


class Replayed(NamedTuple):
    """The result of a replay.

    `events`: the number of equal events; `engine`: the release that recorded them; `speed`: virtual seconds per second.
    """

    events: int
    first_difference: Difference | None
    stretches: tuple[Stretch, ...]
    engine: str
    speed: float

    def row(self) -> Row:
        difference = self.first_difference
        return {
            "equal": difference is None,
            "events": self.events,
            "first_difference": None if difference is None else difference._asdict(),
            "stretches": [stretch.row() for stretch in self.stretches],
            "engine": self.engine,
            "speed": round(self.speed, 1),
        }


def replay(directory: Path, *, until: int | None = None) -> Replayed:
    """Execute the sandbox in `directory` again, up to event `until`, and compare the journals.

    Raises CorruptRecord if its files cannot be read, FileNotFoundError if there is no journal.
    """
    recorded, rows = recorded_until(directory)
    if not rows:
        raise FileNotFoundError(f"{directory} has no journal")
    stretches = stretches_of(directory, rows)
    if not stretches[0].reproducible:
        return Replayed(0, None, stretches, "", 0.0)
    last = stretches[0].to_seq if until is None else min(until, stretches[0].to_seq)
    count = next((index for index, row in enumerate(rows) if row["seq"] > last), len(rows))
    began_s = time.monotonic()
    origin = load_origin(directory)
    with Rerun(origin, recorded[:count], rows[:count], home=directory.parents[1]) as rerun:
        rerun.run()
    speed = rerun.virtual_s / max(time.monotonic() - began_s, 1e-6)
    return Replayed(rerun.compared, rerun.difference, stretches, origin.record["engine"], speed)
