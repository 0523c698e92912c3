"""A queue of packed messages for a thread that sends them."""

import threading
from collections import deque

from sandbox.kernel.errors import EngineBusy

UNSENT_MESSAGES = 5_000  # to a process that does not read


class Outbox:
    """A queue of messages to send.  Thread-safe; one thread calls `take`."""

    def __init__(self, *first: bytes) -> None:
        self._there = threading.Condition()
        self._unsent: deque[bytes] = deque(first)
        self._over = False

    def put(self, packed: bytes) -> None:
        """Add a message.  Raises EngineBusy if the other side has ended, or has not read for long."""
        with self._there:
            if self._over or len(self._unsent) >= UNSENT_MESSAGES:
                raise EngineBusy("The engine is not running, or is overloaded. Try again in a moment.")
            self._unsent.append(packed)
            self._there.notify()

    def take(self) -> list[bytes]:
        """Wait for a message and return all messages queued then.  Empty: the queue is closed."""
        with self._there:
            while not (self._unsent or self._over):
                self._there.wait()
            taken = [] if self._over else list(self._unsent)
            self._unsent.clear()
            return taken

    @property
    def is_closed(self) -> bool:
        return self._over

    def close(self) -> None:
        with self._there:
            self._over = True
            self._there.notify()
