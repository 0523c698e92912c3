"""Plays: runs executed again in processes beside the server, for comparisons and claims.

They run one after the other, at low priority.  A play prints {"progress"} lines and ends with {"result"} or
{"refused"}.  Only the newest plays are kept, in memory.  A visitor can use only a part of the queue.  All visitors
that may only watch have together as much as one visitor.
"""

import atexit
import logging
import os
import secrets
import subprocess
import sys
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Mapping
from copy import copy
from pathlib import Path
from typing import NamedTuple, Self, TypedDict

from sandbox.control.limits import HostLimits
from sandbox.kernel import json_bytes
from sandbox.kernel.errors import ActionRefused

log = logging.getLogger(__name__)

ROOT = Path(__file__).parents[2]
KEPT = 40
LAST_BYTES = 4_096  # of what a process that failed said on stderr
LIMITS = HostLimits()
MOST_EACH = 2  # of the places: one that runs, one that waits


class Holder(NamedTuple):
    """The visitor for whom a play is counted (`policy.counted_as`).

    A guest may not act in the sandbox of the play.
    """

    name: str
    is_guest: bool = False


SERVER = Holder("")


class PlayRefusal(TypedDict):
    """The reason a play ended without a result."""

    message: str
    values: dict[str, object]


class PlayMessage(TypedDict, total=False):
    """A line that a play prints."""

    progress: float
    partial: object
    result: object
    refused: PlayRefusal


class Play:
    """One run in a process.

    `state`: waiting, running, done, cancelled, failed; `is_over`: one of the last three.
    """

    def __init__(
        self,
        slug: str,
        kind: str,
        arguments: list[str],
        order: Mapping[str, object],
        *,
        holder: Holder = SERVER,
        most_s: float = LIMITS.play_s,
    ) -> None:
        self.id = secrets.token_urlsafe(9)
        self.slug = slug
        self.kind = kind
        self.order = order
        self.holder = holder
        self.state = "waiting"
        self.progress = 0.0
        self.partial: object = None  # the result so far, also of a play that was cancelled
        self.result: object = None  # of a play that is done; its reader knows its type
        self.refused: PlayRefusal | None = None
        self._command = [sys.executable, "-m", *arguments]
        self._most_s = most_s
        self._process: subprocess.Popen[bytes] | None = None
        self.over = threading.Event()

    @property
    def is_over(self) -> bool:
        return self.state not in ("waiting", "running")

    def at_once(self) -> Self:
        """Return the play as it is at one moment, for a page: it may end while the page is drawn."""
        return copy(self)

    def cancel(self) -> None:
        if not self.is_over:
            self.state = "cancelled"
            self.over.set()
        if self._process is not None:
            self._process.terminate()

    def run(self) -> None:
        if self.state != "waiting":
            return
        self.state = "running"
        try:
            self._play()
        finally:  # also where the process did not start
            if self.state == "running":
                self.state = "failed"
            self.over.set()

    def _play(self) -> None:
        with (
            tempfile.TemporaryFile() as words,
            subprocess.Popen(
                self._command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=words
            ) as process,
        ):
            self._process = process
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(json_bytes.dumps(self.order, option=json_bytes.OPT_APPEND_NEWLINE))
            process.stdin.close()
            alarm = threading.Timer(self._most_s, process.kill)
            alarm.start()
            for line in process.stdout:
                if line.startswith(b"{"):
                    self._hear(json_bytes.loads(line))
            alarm.cancel()
            if process.wait() and self.state == "running":  # without a result, a refusal or a cancellation
                words.seek(max(0, words.seek(0, os.SEEK_END) - LAST_BYTES))
                log.error(
                    "play %s of %s ended with %d: %s",
                    self.kind,
                    self.slug,
                    process.returncode,
                    words.read().decode(errors="replace"),
                )

    def _hear(self, message: PlayMessage) -> None:
        self.progress = message.get("progress", self.progress)
        self.partial = message.get("partial", self.partial)
        if self.state == "running" and "result" in message:
            self.result, self.state = message["result"], "done"
        elif self.state == "running" and "refused" in message:
            self.refused, self.state = message["refused"], "failed"


_plays: OrderedDict[str, Play] = OrderedDict()
_lock = threading.Lock()
_places = threading.Semaphore(LIMITS.plays_at_once)


def begin(play: Play) -> Play:
    """Queue a play and return it.  Raises ActionRefused: 503 too many wait, 429 too many of this visitor."""
    with _lock:
        _make_room(play.holder, [other for other in _plays.values() if not other.is_over])
        _plays[play.id] = play
        for old in [key for key, other in _plays.items() if other.is_over][:-KEPT]:
            del _plays[old]
    threading.Thread(target=_in_turn, args=(play,), name=f"play-{play.kind}", daemon=True).start()
    return play


def _make_room(holder: Holder, others: list[Play]) -> None:
    """Refuse another play if the queue is full, or cancel the oldest play of a guest for a visitor who may act.

    Raises ActionRefused (429, 503).
    """
    guests = [other for other in others if other.holder.is_guest]
    if holder.is_guest and len(guests) >= MOST_EACH:
        raise ActionRefused(503, "Other runs are in progress.", "Try again in a minute.")
    if holder != SERVER and sum(other.holder == holder for other in others) >= MOST_EACH:
        raise ActionRefused(
            429, "{n} of your runs are in progress.", "Wait until a run ends, or cancel a run.", n=MOST_EACH
        )
    if len(others) >= LIMITS.plays_at_once + LIMITS.plays_waiting:
        if holder.is_guest or not guests:
            raise ActionRefused(503, "Other runs are in progress.", "Try again in a minute.")
        guests[0].cancel()


def find(slug: str, play_id: str) -> Play:
    """Return the play of this sandbox with this id.  Raises ActionRefused (404)."""
    play = _plays.get(play_id)
    if play is None or play.slug != slug:
        raise ActionRefused(404, "This result is no longer stored.", "Start the run again.")
    return play


def _in_turn(play: Play) -> None:
    with _places:
        play.run()


@atexit.register
def _stop() -> None:
    for play in list(_plays.values()):
        play.cancel()
