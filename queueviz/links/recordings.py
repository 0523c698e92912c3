"""Recordings of sandboxes.  A process beside the server makes each; it is kept until others need the space.

They are not part of the sandbox's files: they can be made again as long as its journal is kept.
"""

import atexit
import logging
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any

from django.conf import settings
from django.db.models.signals import post_delete
from django.dispatch import receiver

from queueviz import __version__
from queueviz.access.rate_limits import Rate
from sandbox.control.limits import HostLimits
from sandbox.kernel.errors import ActionRefused

log = logging.getLogger(__name__)

LIMITS = HostLimits()
RATE = Rate(LIMITS.recordings_per_hour / 3_600, LIMITS.recordings_per_hour, what="recordings")  # of one visitor
FOLDER = "recordings"
SCORELESS = "-without-scores"  # in the name of a file
UNASKED = "the request was cancelled"
LAST_WORDS_BYTES = 2_000
COMMAND = [sys.executable, "-m", "django", "recording", "export", "--beside"]


class Making:
    """A recording in progress, or in the queue.  `progress`: 0 to 1; `why`: the reason, once it has failed."""

    def __init__(self, path: Path, now_s: float) -> None:
        self.path = path
        self.asked_s = now_s  # for it, the last time
        self.progress = 0.0
        self.why: str | None = None
        self.process: subprocess.Popen[bytes] | None = None


class Recordings:
    """The recordings of one data home.

    `admit` of `find` raises if the visitor may request no more.
    """

    def __init__(
        self,
        home: Path,
        limits: HostLimits | None = None,
        *,
        command: list[str] = COMMAND,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._home = home
        self._limits = limits or HostLimits()
        self._command = command
        self._now = now
        self._lock = Lock()
        self._made: dict[Path, Making] = {}
        self.pool = ThreadPoolExecutor(self._limits.recordings_at_once, "recordings")
        for left in (home / FOLDER).glob("*/*.part"):  # by a server that was killed
            left.unlink(missing_ok=True)

    def find(self, slug: str, first: int, last: int, admit: Callable[[], None], *, scores: bool) -> Path | Making:
        """Return the file of the recording, or its progress; begin it if it does not exist.

        `scores`: the recording contains scores of labs.  Raises ActionRefused: 409 it could not be made, 503 too
        many wait.
        """
        kind = "" if scores else SCORELESS
        path = self._home / FOLDER / slug / f"{first}-{last}-{__version__}{kind}.qvr"
        with self._lock:
            for old in [old for old, making in self._made.items() if making.why is not None and old != path]:
                if self._is_forgotten(self._made[old]):
                    del self._made[old]
            making = self._made.get(path)
            if making is None and path.exists():
                os.utime(path, ns=(time.time_ns(), time.time_ns()))
                return path
            if making is not None and making.why is not None:
                del self._made[path]
                raise ActionRefused(
                    409,
                    "The recording could not be made: {why}.",
                    "Try again, or request a shorter range.",
                    why=making.why,
                )
            if making is None:
                if len(self._made) >= self._limits.recordings_waiting:
                    raise ActionRefused(503, "Too many recordings are being made.", "Try again in a minute.")
                admit()
                making = self._made[path] = Making(path, self._now())
                options = ["--directory", str(self._home / "sandboxes" / slug), "--from", str(first), "--to", str(last)]
                self.pool.submit(self._make, making, options if scores else [*options, "--without-scores"])
            making.asked_s = self._now()
            return making

    def forget(self, slug: str) -> None:
        """Delete the recordings of a deleted sandbox."""
        self._drop([path for path in list(self._made) if path.parent.name == slug])
        shutil.rmtree(self._home / FOLDER / slug, ignore_errors=True)

    def stop(self) -> None:
        self.pool.shutdown(wait=False, cancel_futures=True)
        self._drop(list(self._made))

    def _drop(self, paths: list[Path]) -> None:
        for path in paths:
            with self._lock:
                making = self._made.pop(path, None)
            if making is not None and making.process is not None:
                making.process.kill()

    def _make(self, making: Making, options: list[str]) -> None:
        part = making.path.with_suffix(".part")
        try:
            making.why = self._written(making, part, options)
            with self._lock:
                if making.why in (None, UNASKED) and self._made.get(making.path) is making:
                    del self._made[making.path]
                    if making.why is None:
                        part.replace(making.path)
        except OSError as error:
            making.why = (error.strerror or str(error)).lower()
        except Exception:
            log.exception("making %s failed", making.path)
            making.why = "server error"
        part.unlink(missing_ok=True)
        self._make_room(making.path)

    def _written(self, making: Making, part: Path, options: list[str]) -> str | None:
        """Run the process that writes the recording to `part`.  Return the reason if that failed, else None."""
        if self._is_forgotten(making):
            return UNASKED
        part.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile() as words:
            process = making.process = subprocess.Popen(
                [*self._command, str(part), *options],
                stdout=subprocess.PIPE,
                stderr=words,
                start_new_session=True,
                env=_surroundings(self._home),
            )
            assert process.stdout is not None
            if self._is_forgotten(making):  # before there was a process to be ended
                process.kill()
            with process, process.stdout as lines:
                for line in lines:
                    making.progress = float(line)
                    if self._is_forgotten(making):
                        process.kill()
            if process.returncode == 0:
                return None
            return UNASKED if self._is_forgotten(making) else _reason(process.returncode, words)

    def _is_forgotten(self, making: Making) -> bool:
        """Return True if the recording is no longer requested, or was dropped."""
        late = self._now() - making.asked_s > self._limits.recording_unasked_s
        return late or self._made.get(making.path) is not making

    def _make_room(self, newest: Path) -> None:
        """Delete the recordings that were not requested for the longest time, down to the limit of bytes."""
        sizes = sorted(
            (path.stat().st_mtime, path.stat().st_size, path)
            for path in (self._home / FOLDER).glob("*/*.qvr")
            if path != newest
        )
        left = self._limits.recordings_bytes - (newest.stat().st_size if newest.exists() else 0)
        for _, size, path in reversed(sizes):
            left -= size
            if left < 0:
                path.unlink(missing_ok=True)


def _surroundings(home: Path) -> dict[str, str]:
    """Return the environment of the process: the same settings, in the same data home."""
    return os.environ | {
        "DJANGO_SETTINGS_MODULE": "queueviz.settings",
        "QUEUEVIZ_HOME": str(home),
        "PYTHONPATH": os.pathsep.join(path for path in (str(settings.BASE_DIR), *sys.path) if path),
    }


def _reason(code: int, words: Any) -> str:
    if code < 0:
        return f"its process was ended by signal {-code}"
    words.seek(max(0, words.seek(0, os.SEEK_END) - LAST_WORDS_BYTES))
    lines = words.read().decode(errors="replace").strip().splitlines()
    named = [line.removeprefix("CommandError: ") for line in lines if line.startswith("CommandError: ")]
    return named[-1].rstrip(".") if named else f"its process ended with code {code}"


@cache
def recordings_in(home: Path) -> Recordings:
    recordings = Recordings(home)
    atexit.register(recordings.stop)
    return recordings


def of_server() -> Recordings:
    return recordings_in(Path(settings.QUEUEVIZ_HOME))


@receiver(post_delete, sender="queueviz.Sandbox")
def _forget(sender: object, instance: Any, **kwargs: object) -> None:
    of_server().forget(instance.slug)
