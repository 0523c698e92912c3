"""One engine process as the web process has it: calls with their answers, what it says unasked, its end."""

import logging
import os
import socket
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

from queueviz.engines import wire
from queueviz.engines.futures import settle
from sandbox.kernel.errors import EngineBusy

log = logging.getLogger(__name__)

START_WITHIN_S = 20.0
UNSENT_MESSAGES = 5_000  # to a process that does not read
UNANSWERED_CALLS = 5_000
NOT_TAKEN = "The engine is not there, or has too much to do. Try again in a moment."
CODE = Path(__file__).parents[2]

Heard = Callable[[wire.Message], None]  # on the process's reading thread


class Child:
    """Thread-safe.  `said` gets what is no answer, `ended` is called once, when the process is gone."""

    def __init__(self, begin: wire.Begin, said: Heard, ended: Callable[["Child"], None], keep: tuple[int, ...]) -> None:
        """`keep`: descriptors it inherits."""
        self._said, self._ended = said, ended
        self._end, theirs = socket.socketpair()
        with theirs:
            command = [sys.executable, "-m", "queueviz.engines.process", str(theirs.fileno())]
            path = os.pathsep.join(filter(None, (str(CODE), os.environ.get("PYTHONPATH"))))
            self._process = subprocess.Popen(command, pass_fds=(theirs.fileno(), *keep), start_new_session=True,
                                             stdin=subprocess.DEVNULL, env={**os.environ, "PYTHONPATH": path})
        self._lock = threading.Lock()
        self._numbers = count()
        self._waiting: dict[int, Future[Any]] = {}
        self._unsent: deque[bytes] = deque([wire.pack(begin)])
        self._wake = threading.Event()
        self._wake.set()
        self._ready: Future[None] = Future()
        self._over = False
        for work in (self._read, self._write):
            threading.Thread(target=work, name=f"engine-{self.pid}", daemon=True).start()

    @property
    def pid(self) -> int:
        return self._process.pid

    def wait(self) -> "Child":
        """Until it takes calls.  Raises what kept it from starting: EngineBusy, OSError."""
        try:
            self._ready.result(START_WITHIN_S)
        except TimeoutError:
            self.kill()
            raise EngineBusy("The engine did not start.") from None
        return self

    def ask(self, kind: str, *given: Any) -> "Future[Any]":
        """A message with a number, which an answer will come to."""
        future: Future[Any] = Future()
        number = next(self._numbers)
        future.add_done_callback(lambda _: self._waiting.pop(number, None))
        with self._lock:
            is_taken = not self._over and len(self._waiting) < UNANSWERED_CALLS
            if is_taken:
                self._waiting[number] = future
        try:
            if not is_taken:
                raise EngineBusy(NOT_TAKEN)
            self.say(kind, number, *given)
        except EngineBusy as why:
            settle(future, why=why)
        return future

    def say(self, *message: Any) -> None:
        """Raises EngineBusy where it has not read for long."""
        packed = wire.pack(message)
        with self._lock:
            if self._over or len(self._unsent) >= UNSENT_MESSAGES:
                raise EngineBusy(NOT_TAKEN)
            self._unsent.append(packed)
        self._wake.set()

    def stop(self, timeout_s: float) -> bool:
        """Whether all its sandboxes were closed in time; it has ended in any case."""
        with suppress(EngineBusy):
            self.say("stop")
        try:
            return self._process.wait(timeout_s) == 0
        except subprocess.TimeoutExpired:
            self.kill()
            return False

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def _read(self) -> None:
        with suppress(OSError):
            for message in wire.messages(self._end):
                self._take(message)
        code = self._process.wait()
        with self._lock:
            self._over = True
            left, self._waiting = list(self._waiting.values()), {}
        self._wake.set()
        gone = EngineBusy("The engine ended meanwhile, and is started again. Try again in a moment.")
        for future in [self._ready, *left]:
            if not future.done():
                settle(future, why=gone)
        log.info("engine process %d ended with %d", self.pid, code)
        self._ended(self)

    def _take(self, message: wire.Message) -> None:
        kind, *rest = message
        if kind in ("done", "failed"):
            future = self._waiting.pop(rest[0], None)
            if future is not None:
                settle(future, rest[1]) if kind == "done" else settle(future, why=rest[1])
        elif kind == "ready":
            self._ready.set_result(None)
        elif kind == "refused":
            self._ready.set_exception(rest[0])
        else:
            self._said(message)

    def _write(self) -> None:
        while True:
            self._wake.wait()
            self._wake.clear()
            with self._lock:
                packed = b"".join(self._unsent)
                self._unsent.clear()
                if self._over:
                    break
            try:
                self._end.sendall(packed)
            except OSError:
                break  # its end is seen by the reading thread
        self._end.close()
