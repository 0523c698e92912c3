"""A recording of a sandbox in a browser.  A second worker executes the run again while the sandbox goes on."""

from collections.abc import Callable
from pathlib import Path

from sandbox.lite.memory_disk import MemoryDisk
from sandbox.lite.saved_files import SavedFiles
from sandbox.recording.writer import write_recording
from sandbox.simulation.recorded_run import RecordedRun


def record(home: Path, files: bytes, first: int, last: int, engine: str, progress: Callable[[float], None]) -> bytes:
    """Return the recording of the events `first` to `last` (docs/recording.md).

    `files`: those of the sandbox, as `Lite.files` returns them; they are written below `home`.  `engine`: version of
    QueueViz.  `progress` gets the share that is executed, 0 to 1.  Raises CorruptRecord.
    """
    sandboxes = home / "sandboxes"
    SavedFiles(sandboxes).restore(files)
    [directory] = sandboxes.iterdir()
    run = RecordedRun(directory, first, last, make_disk=MemoryDisk)
    return write_recording(run.about(engine), run.frames(progress), run.facts())
