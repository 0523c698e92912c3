"""The connection of the web process to one engine process: calls with answers, other messages, its end."""

import logging
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from typing import Any

from queueviz.engines import wire
from queueviz.engines.calls import Calls
from queueviz.engines.futures import settle
from queueviz.engines.outbox import Outbox
from sandbox.kernel.errors import EngineBusy

log = logging.getLogger(__name__)

START_WITHIN_S = 20.0
CODE = Path(__file__).parents[2]

Heard = Callable[[wire.Message], None]  # on the process's reading thread


class Child:
    """An engine process.  Thread-safe.

    `received` is called with messages that are no answers.  `ended` is called once, when the process is gone.
    """

    def __init__(
        self, begin: wire.Begin, received: Heard, ended: Callable[["Child"], None], keep: tuple[int, ...]
    ) -> None:
        """Start the process.  `keep`: file descriptors that it inherits."""
        self._said, self._ended = received, ended
        self._end, theirs = socket.socketpair()
        with theirs:
            command = [sys.executable, "-m", "queueviz.engines.process", str(theirs.fileno())]
            path = os.pathsep.join(filter(None, (str(CODE), os.environ.get("PYTHONPATH"))))
            self._process = subprocess.Popen(
                command,
                pass_fds=(theirs.fileno(), *keep),
                start_new_session=True,
                stdin=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": path},
            )
        self._calls = Calls()
        self._outbox = Outbox(wire.pack(begin))
        self._ready: Future[None] = Future()
        for work in (self._read, self._write):
            threading.Thread(target=work, name=f"engine-{self.pid}", daemon=True).start()

    @property
    def pid(self) -> int:
        return self._process.pid

    def wait(self) -> "Child":
        """Wait until the engine accepts calls.  Raises the error of its start: EngineBusy, OSError."""
        try:
            self._ready.result(START_WITHIN_S)
        except TimeoutError:
            self.kill()
            raise EngineBusy("The engine did not start.") from None
        return self

    def ask(self, kind: str, *args: Any) -> "Future[Any]":
        """Send a numbered message to the engine and return the future of its answer."""
        return self._calls.ask(self.say, kind, *args)

    def say(self, *message: Any) -> None:
        """Send a message that has no answer.  Raises EngineBusy if the engine has not read messages for long."""
        self._outbox.put(wire.pack(message))

    def stop(self, timeout_s: float) -> bool:
        """Stop the process.  Return True if it closed all its sandboxes in time; otherwise it is killed."""
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
        self._outbox.close()
        if not self._ready.done():
            settle(self._ready, why=EngineBusy("The engine did not start."))
        self._calls.end()
        log.info("engine process %d ended with %d", self.pid, code)
        self._ended(self)

    def _take(self, message: wire.Message) -> None:
        kind, *rest = message
        if kind == "ready":
            self._ready.set_result(None)
        elif kind == "refused":
            self._ready.set_exception(rest[0])
        elif not self._calls.take(message):
            self._said(message)

    def _write(self) -> None:
        with suppress(OSError):  # its end is seen by the reading thread
            while waiting := self._outbox.take():
                self._end.sendall(b"".join(waiting))
        self._end.close()
