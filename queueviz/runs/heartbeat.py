"""The heartbeat of a pipeline worker: a file that the worker keeps locked and touches while it runs.

The lock allows one worker per data home and ends with the process, however that ends.  So when a worker has just
begun, no worker executes any run marked as running.
"""

import fcntl
import os
import time
from pathlib import Path
from typing import IO

BEAT_EVERY_S = 2.0
LOST_AFTER_S = 10.0  # without a beat
FILE = "worker"


class Heartbeat:
    """The heartbeat of one worker.  Call `take` first, then `beat` in intervals, and `stop` at the end."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / FILE
        self._file: IO[str] | None = None
        self._beaten_s = 0.0

    def take(self) -> bool:
        """Lock the heartbeat file and return True.  Return False if another worker of this data home has it."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        file = self._path.open("a+")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.close()
            return False
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        self._file, self._beaten_s = file, time.monotonic()
        return True

    def beat(self) -> None:
        if time.monotonic() - self._beaten_s >= BEAT_EVERY_S:
            self._beaten_s = time.monotonic()
            os.utime(self._path)

    def stop(self) -> None:
        """Release the heartbeat.  So readers need not wait for a missed beat."""
        if self._file is not None:
            self._file.truncate(0)
            self._file.close()
            self._file = None


def is_beating(directory: Path) -> bool:
    """Return True if a worker of this data home was alive within the last `LOST_AFTER_S` seconds."""
    try:
        status = (directory / FILE).stat()
    except OSError:
        return False
    return status.st_size > 0 and time.time() - status.st_mtime < LOST_AFTER_S
