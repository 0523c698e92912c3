"""Numbered calls to an engine, and the futures that wait for their answers."""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from itertools import count
from typing import Any

from queueviz.engines import wire
from queueviz.engines.futures import failed, settle
from sandbox.kernel.errors import EngineBusy

UNANSWERED_CALLS = 5_000
NOT_TAKEN = "The engine is not running, or is overloaded. Try again in a moment."
ENDED = "The engine ended and is restarting. Try again in a moment."


class Calls:
    """The unanswered calls of one web process to one engine.  Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._numbers = count()
        self._waiting: dict[int, Future[Any]] = {}
        self._over = False

    def ask(self, say: Callable[..., None], kind: str, *args: Any) -> "Future[Any]":
        """Send a numbered message with `say` and return the future of its answer.

        The future fails at once if no answer can come.
        """
        future: Future[Any] = Future()
        with self._lock:
            if self._over or len(self._waiting) >= UNANSWERED_CALLS:
                return failed(EngineBusy(NOT_TAKEN))
            number = next(self._numbers)
            self._waiting[number] = future
        future.add_done_callback(lambda _: self._waiting.pop(number, None))
        try:
            say(kind, number, *args)
        except EngineBusy as error:
            settle(future, why=error)
        return future

    def take(self, message: wire.Message) -> bool:
        """End the future that a message answers.  Return True if the message was an answer."""
        kind, *rest = message
        if kind not in ("done", "failed"):
            return False
        future = self._waiting.pop(rest[0], None)
        if future is not None:
            settle(future, rest[1]) if kind == "done" else settle(future, why=rest[1])
        return True

    def end(self) -> None:
        """End all calls with EngineBusy: no more answers come."""
        with self._lock:
            self._over = True
            left, self._waiting = list(self._waiting.values()), {}
        for future in left:
            if not future.done():
                settle(future, why=EngineBusy(ENDED))
