"""A third-party client in a process that receives orders and prints facts.

An order is a line `number TAB verb TAB key=value TAB …`, and `number TAB stop` ends it.  Facts are JSON objects, one a
line, with the order's number and the fact's kind; `done` or `failed` is the last one of an order.
"""

import contextlib
import json
import os
import queue
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

PATIENCE_S = 40.0  # a first rebalance may take 20 s; other work may share the machine
GOODBYE_S = 10.0
MOST_SAID = 500  # characters of an order, in the message of a failure

Fact = dict[str, Any]


class PeerFailed(AssertionError):
    """The client said why, or said nothing."""


class Order:
    """An order to a peer and the facts that the peer has reported so far."""

    def __init__(self, peer: "Peer", number: str, what: str) -> None:
        self.number, self.what = number, what
        self.facts: list[Fact] = []
        self.ended = False
        self._peer = peer
        self._arriving: queue.Queue[Fact | None] = queue.Queue()

    def add(self, fact: Fact | None) -> None:
        self._arriving.put(fact)

    def of(self, kind: str) -> list[Fact]:
        return [fact for fact in self.facts if fact["fact"] == kind]

    def wait(self, kind: str, count: int = 1, *, patience_s: float = PATIENCE_S) -> list[Fact]:
        """The facts of a kind, once there are so many; all those that came by then."""
        self.until(lambda: len(self.of(kind)) >= count, f"{count} × {kind}", patience_s=patience_s)
        return self.of(kind)

    def until(self, condition: Callable[[], bool], awaited: str, *, patience_s: float = PATIENCE_S) -> None:
        end_s = time.monotonic() + patience_s
        while not condition():
            try:
                self._take(self._arriving.get(timeout=max(0.0, end_s - time.monotonic())))
            except queue.Empty:
                raise PeerFailed(f"{self.what}: waited {patience_s:.0f} s for {awaited}, came {self.facts}") from None
            if self.ended and not condition():
                raise PeerFailed(f"{self.what}: ended without {awaited}, came {self.facts}")

    def listen(self, seconds: float) -> None:
        """Hear what comes within so many seconds: for what must not come."""
        end_s = time.monotonic() + seconds
        while (left_s := end_s - time.monotonic()) > 0 and not self.ended:
            try:
                self._take(self._arriving.get(timeout=left_s))
            except queue.Empty:
                return

    def done(self, *, patience_s: float = PATIENCE_S) -> list[Fact]:
        """All facts of an order that ends by itself."""
        self.until(lambda: self.ended, "its end", patience_s=patience_s)
        return self.facts

    def stop(self) -> list[Fact]:
        self._peer.say(self.number, "stop")
        return self.done()

    def _take(self, fact: Fact | None) -> None:
        if fact is None:
            raise PeerFailed(f"{self.what}: the peer is gone; {self._peer.last_words()}")
        if fact["fact"] == "failed":
            raise PeerFailed(f"{self.what}: {fact['why']}; {self._peer.last_words()}")
        self.ended = self.ended or fact["fact"] == "done"
        self.facts.append({**fact, "heard_s": time.monotonic()})


class Peer:
    """The process.  Use it as a context manager; nothing of it is left behind."""

    def __init__(self, name: str, command: Sequence[str], home: Path, **defaults: object) -> None:
        self.name, self.log = name, home / "words"
        self._defaults = defaults
        self._orders: dict[str, Order] = {}
        self._running: set[str] = set()
        with self.log.open("wb") as words:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=words,
                cwd=home,
                env={**os.environ, "HOME": str(home)},
            )
        threading.Thread(target=self._read, daemon=True).start()

    def order(self, verb: str, **arguments: object) -> Order:
        number = str(len(self._orders) + 1)
        given = {**self._defaults, **arguments}
        order = self._orders[number] = Order(self, number, f"{self.name}: {verb} {arguments}"[:MOST_SAID])
        self.say(number, verb, *(f"{key}={value}" for key, value in given.items()))
        return order

    def do(self, verb: str, *, patience_s: float = PATIENCE_S, **arguments: object) -> Order:
        """An order that ends by itself, at its end."""
        order = self.order(verb, **arguments)
        order.done(patience_s=patience_s)
        return order

    def say(self, *words: str) -> None:
        assert self._process.stdin is not None
        assert not any("\t" in word or "\n" in word for word in words)
        self._process.stdin.write("\t".join(words).encode() + b"\n")
        self._process.stdin.flush()

    def kill(self) -> None:
        """As a machine does that loses its power."""
        self._process.kill()
        self._process.wait()

    def stop_orders(self) -> None:
        for order in self._orders.values():
            if not order.ended and self._process.poll() is None:
                self.say(order.number, "stop")

    def last_words(self) -> str:
        return self.log.read_bytes()[-2_000:].decode(errors="replace")

    def client_log(self) -> str:
        """Warnings and errors of a Java client."""
        return "".join(path.read_text() for path in self.log.parent.glob("logs/rocketmqlogs/*.log"))

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            fact = json.loads(line)
            self._orders[fact["order"]].add(fact)
        for order in list(self._orders.values()):
            order.add(None)

    def _end(self) -> None:
        if self._process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):  # it died of something, with words of ours unheard
                self._process.stdin.close()

    def __enter__(self) -> "Peer":
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self._end()
            try:
                self._process.wait(GOODBYE_S)
            except subprocess.TimeoutExpired:
                self.kill()
        self._end()
        if self._process.stdout is not None:
            self._process.stdout.close()
