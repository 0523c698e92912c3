"""The clients of a Spark process: its parent at standard input, and commands at its socket.

Each client sends orders and gets the reports of its own runs; the parent gets those of all.  A client that ends
cancels its runs.
"""

import logging
import os
import socket
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, Protocol

from sandbox.kernel import json_bytes
from sandbox.pipeline.runs.launch import ENDED, Order
from sandbox.pipeline.runs.session_socket import Listener, code_mark

log = logging.getLogger(__name__)

MAX_CLIENTS = 32
Send = Callable[[bytes], object]


class Runner(Protocol):
    """The part of `runner.Runner` that clients need."""

    def cancel(self, run: str) -> None: ...
    def end(self, run: str) -> None: ...


class Clients:
    """The clients of this process and the queue of their orders.

    `parent`: sends a line to the parent, if the process has one.
    """

    def __init__(self, parent: Send | None = None) -> None:
        self._parent = parent
        self._lock = threading.Lock()
        self._senders: dict[str, Send | None] = {}  # of runs that have not ended; None is the parent
        self._connected = 0
        self._orders: SimpleQueue[Order | None] = SimpleQueue()

    def next_order(self, patience_s: float | None) -> Order | None:
        """Return the next order.

        None: the parent has ended, or no order came for `patience_s` and no client is connected.
        """
        while True:
            try:
                return self._orders.get(timeout=patience_s)
            except Empty:
                with self._lock:
                    if not self._connected:
                        return None

    def report(self, report: dict[str, object]) -> None:
        """Send a report to the client of its run, and to the parent."""
        line = json_bytes.dumps(report, default=_plain, option=json_bytes.OPT_APPEND_NEWLINE)
        run = str(report["run"])
        with self._lock:
            sender = self._senders.pop(run, None) if report["state"] in ENDED else self._senders.get(run)
        if self._parent is not None:
            self._parent(line)
        if sender is not None:
            with suppress(OSError):  # the client has ended; its runs are cancelled
                sender(line)

    def hear_parent(self, lines: Iterable[bytes], runner: Runner) -> None:
        """Read the parent's lines to their end, which ends the process after the current run."""
        self._hear(lines, runner, None)
        self._orders.put(None)

    def listen(self, listener: Listener, runner: Runner) -> None:
        """Accept clients until the listener is closed, each in a thread of its own."""
        greeting = json_bytes.dumps({"code": code_mark(), "process": os.getpid(), "log": _log()}) + b"\n"
        while (connection := listener.accept()) is not None:
            with self._lock:
                is_full = self._connected >= MAX_CLIENTS
                self._connected += not is_full
            if is_full:
                connection.close()
                continue
            threading.Thread(target=self._serve, args=(connection, greeting, runner, listener), daemon=True).start()

    def _serve(self, connection: socket.socket, greeting: bytes, runner: Runner, listener: Listener) -> None:
        try:
            with connection, connection.makefile("rb") as lines:
                connection.sendall(greeting)
                self._hear(lines, runner, connection.sendall, listener)
        except (OSError, ValueError, TypeError):
            log.warning("a client sent a line that is not an order, or ended")
        finally:
            with self._lock:
                self._connected -= 1

    def _hear(
        self, lines: Iterable[bytes], runner: Runner, send: Send | None, listener: Listener | None = None
    ) -> None:
        """Read orders, cancellations and ends; at the end of the lines, cancel every order of this client."""
        runs: list[str] = []
        try:
            for line in lines:
                value = json_bytes.loads(line)
                if not isinstance(value, dict):
                    raise ValueError("A line is a JSON object.")
                if "run" in value:
                    order = _order_of(value)
                    runs.append(order.run)
                    with self._lock:
                        self._senders[order.run] = send
                    self._orders.put(order)
                elif value.get("cancel") in runs:
                    runner.cancel(value["cancel"])
                elif value.get("end") in runs:
                    runner.end(value["end"])
                elif "leave" in value and listener is not None:
                    listener.close()
                    if self._parent is None:
                        self._orders.put(None)
        finally:
            for run in runs:
                if run in self._senders:
                    runner.cancel(run)


def _order_of(value: dict[str, Any]) -> Order:
    """Return the order.  Raises ValueError or TypeError for a value that is none."""
    order = Order(**value)
    texts, tables = (order.run, order.job, order.out), (order.stores, order.journals, order.options, order.sealed)
    if not all(isinstance(text, str) for text in texts) or not all(isinstance(table, dict) for table in tables):
        raise ValueError("An order has texts and objects of texts.")
    return order


def _log() -> str | None:
    """Return the path of the file with this process's other output, or None if it is no file."""
    try:
        path = Path(os.readlink("/proc/self/fd/2"))
    except OSError:
        return None
    return str(path) if path.is_file() else None


def _plain(value: object) -> str:
    if isinstance(value, Path):
        return str(value)
    raise TypeError(type(value).__name__)
