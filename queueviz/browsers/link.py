"""The link to one browser's engine: calls with answers, and viewers whose texts it passes on."""

import asyncio
import logging
import math
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from itertools import count
from typing import Any

import msgspec

from queueviz.browsers.messages import Did, Hold, Refused, Say, Shut, TileMessage
from sandbox.control.readings import Reading
from sandbox.kernel import json_bytes
from sandbox.kernel.errors import ActionRefused, EngineBusy
from sandbox.live.viewer import Viewer

log = logging.getLogger(__name__)

MOST_CALLS = 64  # not answered yet
MOST_VIEWERS = 20
AWAY = "This student's browser is not connected. Try again when it is."
BUSY = "This student's browser does not answer. Try again in a moment."
WRONG = "This student's browser sent an answer that is none."

_decoders: dict[Any, Callable[[msgspec.Raw], Any]] = {}


class Link:
    """One browser's engine while its socket is open.  `send` and `end` are called on the loop of the socket.

    `instance`: the worker's own name.  `tile`: the newest one, `hold`: the teacher's.
    `note_teacher`: called before a teacher acts in this run.
    """

    def __init__(
        self,
        slug: str,
        send: Callable[[str], None],
        end: Callable[[str], None],
        instance: str,
        note_teacher: Callable[[], None],
    ) -> None:
        self.slug = slug
        self.end = end
        self.instance = instance
        self.tile: Reading | None = None
        self.hold: Hold = {}
        self.note_teacher = note_teacher
        self._send = send
        self._loop = asyncio.get_running_loop()
        self._numbers = count(1)
        self._calls: dict[int, tuple[Future[Any], Any]] = {}
        self._viewers: dict[int, Viewer] = {}

    def say(self, kind: str, **values: Any) -> None:
        """Send a message to the browser.  On the loop only."""
        self._send(json_bytes.dumps({"k": kind, **values}).decode())

    def ask(self, verb: str, returns: Any, **args: Any) -> "Future[Any]":
        """Call a method of the browser's engine (`sandbox.lite.class_calls`).  Any thread may call this.

        The value is decoded as `returns`.  Raises ActionRefused as the engine does, EngineBusy.
        """
        future: Future[Any] = Future()

        def go() -> None:
            if len(self._calls) >= MOST_CALLS:
                self._forget_cancelled()
            if len(self._calls) >= MOST_CALLS:
                return future.set_exception(EngineBusy(BUSY))
            number = next(self._numbers)
            self._calls[number] = (future, returns)
            return self.say("do", id=number, verb=verb, args=args)

        try:
            self._loop.call_soon_threadsafe(go)
        except RuntimeError:  # the server stops
            future.set_exception(EngineBusy(AWAY))
        return future

    def end_soon(self, reason: str) -> None:
        """End the browser's engine.  Any thread may call this."""
        try:
            self._loop.call_soon_threadsafe(self.end, reason)
        except RuntimeError:  # the server stops
            log.debug("%s ends with the server", self.slug)

    def take_tile(self, message: TileMessage) -> None:
        if not math.isfinite(message.rate):
            return
        self.hold = message.hold
        at_ms = message.tile["at_ms"]
        self.tile = Reading(message.seq, at_ms, message.rate, message.epoch, {"tile": message.tile})

    def take_answer(self, message: Did | Refused) -> None:
        future, returns = self._calls.pop(message.id, (None, None))
        if future is None or not future.set_running_or_notify_cancel():
            return None
        if isinstance(message, Refused):
            try:
                error: Exception = ActionRefused(message.status, message.reason, message.hint, **_values(message))
            except (KeyError, IndexError, ValueError, TypeError, AttributeError):  # braces without values
                error = EngineBusy(WRONG)
            return future.set_exception(error)
        if returns not in _decoders:
            _decoders[returns] = msgspec.json.Decoder(returns).decode
        try:
            future.set_result(_decoders[returns](message.value))
        except (msgspec.DecodeError, RecursionError):
            future.set_exception(EngineBusy(WRONG))

    # Viewers.

    @property
    def viewers(self) -> dict[int, Viewer]:
        return self._viewers

    def open(self, viewer: Viewer) -> int | None:
        """Open the browser's engine for a viewer and return its number; None if too many look."""
        if len(self._viewers) >= MOST_VIEWERS:
            return None
        number = next(self._numbers)
        self._viewers[number] = viewer
        self.say("open", v=number)
        return number

    def hear(self, number: int, message: Mapping[str, object]) -> None:
        if number in self._viewers:
            self.say("hear", v=number, text=json_bytes.dumps(message).decode())

    def close(self, number: int) -> None:
        if self._viewers.pop(number, None) is not None:
            self.say("close", v=number)

    def viewer_of(self, message: Say | Shut) -> Viewer | None:
        return self._viewers.get(message.v)

    def lost(self) -> list[Viewer]:
        """Fail all calls, and return the viewers that were there: the socket is gone."""
        calls, self._calls = self._calls, {}
        viewers, self._viewers = list(self._viewers.values()), {}
        for future, _ in calls.values():
            if future.set_running_or_notify_cancel():
                future.set_exception(EngineBusy(AWAY))
        return viewers

    def _forget_cancelled(self) -> None:
        self._calls = {number: call for number, call in self._calls.items() if not call[0].cancelled()}


def _values(message: Refused) -> Any:
    return message.values
