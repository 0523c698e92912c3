"""Recordings that labs open with.  A process beside the server makes each when first needed; the data home keeps it."""

import threading
from pathlib import Path
from typing import NamedTuple

from django.conf import settings

from queueviz import __version__
from queueviz.links import reruns
from queueviz.links.reruns import Play
from sandbox.kernel import json_bytes
from sandbox.kernel.errors import ActionRefused
from sandbox.labs.lab import Lab

FOLDER = "lab-recordings"
MAKE = "sandbox.simulation.lab_recording"


class LabRecording(NamedTuple):
    """A lab's recording.

    `notes`: seq, text and values of each step that was met.  `lasts_ms`: duration by the sandbox's clock.
    """

    path: Path
    notes: list[tuple[int, str, dict[str, object]]]
    lasts_ms: int


_makings: dict[str, Play] = {}
_lock = threading.Lock()


def find(lab: Lab) -> LabRecording | None:
    """Return the lab's recording, or None if it is not made yet."""
    path = _path(lab)
    try:
        beside = json_bytes.loads(path.with_suffix(".json").read_bytes())
    except FileNotFoundError:
        return None
    return LabRecording(path, [tuple(note) for note in beside["notes"]], beside["lasts_ms"]) if path.exists() else None


def make(lab: Lab) -> Play:
    """Return the play that makes the recording, begun now or before.

    Raises ActionRefused: 503 too many plays, 409 it failed.
    """
    with _lock:
        making = _makings.get(lab.slug)
        if making is None or making.state == "done":  # what it made is gone
            order = {"lab": lab.slug, "engine": __version__}
            making = _makings[lab.slug] = reruns.begin(Play("", "lab", [MAKE, str(_path(lab))], order))
        elif making.is_over:
            del _makings[lab.slug]
            raise ActionRefused(409, "This recording could not be made.", "Try again.")
        return making


def _path(lab: Lab) -> Path:
    return Path(settings.QUEUEVIZ_HOME) / FOLDER / f"{lab.slug}-{__version__}.qvr"
