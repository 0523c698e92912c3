"""The recording with which a lab opens: a simulated student does the lab, up to the last step.

`python -m sandbox.simulation.lab_recording FILE` reads {"lab", "engine"}, writes the recording to FILE and beside
it, as JSON, {"notes": [[seq, text, values], …], "lasts_ms"}: the steps that were met.  It prints {"progress"} and
{"result"}.
"""

import os
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from sandbox.cluster.lab_progress import LabProgress
from sandbox.control.actions import Action, StartLab
from sandbox.control.questions import Question
from sandbox.control.readings import Reading
from sandbox.journal.events import ActionTaken, Entry, PredictionGiven
from sandbox.journal.schema import Row, to_row
from sandbox.kernel import json_bytes
from sandbox.labs.catalogue import LABS
from sandbox.labs.lab import Lab
from sandbox.recording.frame import About, Frame
from sandbox.recording.journal_range import facts
from sandbox.recording.live import boards_of, frame_of
from sandbox.recording.writer import write_recording
from sandbox.simulation.beside import Progress, serve
from sandbox.simulation.lab_player import LabPlayer
from sandbox.simulation.world import World

SEED = "another player"
LEFT_OUT = "…"
NOTES = ".json"
PACE_MS = 200
LEAST_S, MOST_S = 60.0, 1_200.0  # of the sandbox's clock


class LabRecording(NamedTuple):
    """A lab's recording.  `notes`: seq, text and values of each step that was met."""

    data: bytes
    notes: list[tuple[int, str, dict[str, object]]]
    lasts_ms: int


class LastStep(Exception):
    """The exception that ends the recording before the last step, which is left to the student."""


class RecordedWorld:
    """A world for a `LabPlayer` (`PlayedWorld`) that records its boards, and ends at the last step."""

    def __init__(self, world: World, lab: Lab, progress: Progress) -> None:
        self.cluster = world.cluster
        self.frames: list[Frame] = []
        self.rows: list[Row] = []
        self._world, self._lab, self._progress = world, lab, progress
        self._kept = 0
        self._frame()

    def act(self, action: Action, /) -> int:
        if not isinstance(action, StartLab):
            self._stop_at_last_step()
        return self._world.act(action)

    def run(self, seconds: float) -> None:
        self._stop_at_last_step()
        self.go_on(seconds)

    def go_on(self, seconds: float) -> None:
        ends_ms = self.cluster.clock.now_ms() + seconds * 1000
        while (left_ms := ends_ms - self.cluster.clock.now_ms()) > 0:
            self._world.run(min(PACE_MS, left_ms) / 1000)
            self._frame()

    def read(self, channel: str) -> Reading:
        return self._world.read(channel)

    def ask(self, question: Question, /) -> dict[str, object]:
        return self._world.ask(question)

    @property
    def lasts_ms(self) -> int:
        return self.frames[-1].at_ms - self.frames[0].at_ms

    def _stop_at_last_step(self) -> None:
        attempt = self.cluster.companion(LabProgress).current(self._lab.slug)
        self._progress(min(0.99, self.lasts_ms / 1000 / MOST_S))
        if attempt.step >= len(self._lab.steps) or self.lasts_ms >= MOST_S * 1000:
            raise LastStep

    def _frame(self) -> None:
        journal = self.cluster.journal
        entries: list[Entry] = journal.since(self._kept)
        self._kept = journal.next_seq
        self.rows += [to_row(_unanswered(entry), longs_as_text=True) for entry in entries]
        self.frames.append(frame_of(self.cluster, boards_of(self.cluster)))


def _unanswered(entry: Entry) -> Entry:
    """Return the entry without the simulated student's answers, which may be right in any attempt."""
    event = entry.event
    if isinstance(event, PredictionGiven):
        return entry._replace(event=event._replace(value=LEFT_OUT))
    if isinstance(event, ActionTaken) and event.action == "AnswerStep":
        return entry._replace(event=event._replace(fields={**event.fields, "value": LEFT_OUT}))
    return entry


def record_lab(lab: Lab, engine: str, progress: Progress = lambda share: None) -> LabRecording:
    """Record the lab's solving script with a seed of its own.

    The recording of a lab with one step shows only its setup, for a minute.
    """
    with (
        tempfile.TemporaryDirectory() as home,
        World(Path(home), lab.template, seed=SEED, preset=lab.preset, changes=lab.changes) as world,
    ):
        recorded = RecordedWorld(world, lab, progress)
        player = LabPlayer(recorded, lab)
        with suppress(LastStep):
            lab.solve(player)
        recorded.go_on(PACE_MS / 1000)  # the event that met the last step is in it, too
        if (left_s := LEAST_S - recorded.lasts_ms / 1000) > 0:
            recorded.go_on(left_s)
        about = About(engine, lab.template, lab.preset, SEED, PACE_MS)
        data = write_recording(about, recorded.frames, facts(recorded.rows))
        notes = [(met.seq, met.text, met.values) for met in player.attempt.met]
        return LabRecording(data, notes, recorded.lasts_ms)


def _ordered(order: dict[str, Any], progress: Progress) -> bool:
    path = Path(sys.argv[1])
    made = record_lab(LABS[order["lab"]], order["engine"], progress)
    path.parent.mkdir(parents=True, exist_ok=True)
    _write(path.with_suffix(NOTES), json_bytes.dumps({"notes": made.notes, "lasts_ms": made.lasts_ms}))
    _write(path, made.data)  # last: where it is, its notes are
    return True


def _write(path: Path, data: bytes) -> None:
    """Write the file completely or not at all, even if two processes write it."""
    draft = path.with_suffix(f".{os.getpid()}.part")
    draft.write_bytes(data)
    draft.replace(path)


if __name__ == "__main__":
    serve(_ordered)
