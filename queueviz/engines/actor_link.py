"""The connection of a web process to one engine of a Ray cluster.

It has the interface of `child.Child` and calls the actor's methods.
"""

import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future
from itertools import count
from typing import Any

import ray
from ray.exceptions import RayError

from queueviz.engines import wire
from queueviz.engines.calls import Calls
from queueviz.engines.outbox import Outbox

log = logging.getLogger(__name__)

ANSWER_S = 8.0  # without an answer for as long it cannot be reached, whatever Ray believes
_numbers = count()


class ActorLink:
    """A link to one engine.  Thread-safe.

    `received` is called with messages that are no answers.  `ended` is called once, when the engine is gone or out
    of reach.
    """

    def __init__(
        self,
        web: str,
        engine: str,
        name: str,
        received: Callable[[wire.Message], None],
        ended: Callable[["ActorLink"], None],
    ) -> None:
        """Start the link's threads.  `web`: the name of this process.

        Each link uses a name of its own at the actor, with viewers of its own.
        """
        self.engine = engine
        self.is_up = False  # it has answered
        self._web = f"{web}.{next(_numbers)}"
        self._name = name
        self._said, self._ended = received, ended
        self._calls = Calls()
        self._outbox = Outbox()
        for work in (self._read, self._write):
            threading.Thread(target=work, name=f"link-{engine}", daemon=True).start()

    def ask(self, kind: str, *args: Any) -> "Future[Any]":
        """Send a numbered message to the engine and return the future of its answer."""
        return self._calls.ask(self.say, kind, *args)

    def say(self, *message: Any) -> None:
        """Send a message that has no answer.  Raises EngineBusy if the engine has not read messages for long."""
        self._outbox.put(wire.pack(message))

    def close(self) -> None:
        """Send no more messages.  Messages of the engine are still received, until its next answer."""
        self._outbox.close()

    def _read(self) -> None:
        try:
            actor = ray.get_actor(self._name)
            while not self._outbox.is_closed:
                messages: list[bytes] = ray.get(actor.listen.remote(self.engine, self._web), timeout=ANSWER_S)
                self.is_up = True
                for packed in messages:
                    message = wire.unpack(packed)
                    if not self._calls.take(message):
                        self._said(message)
        except (RayError, ValueError, OSError) as error:
            log.info("the engine %s is out of reach: %s", self.engine, _first_line(error))
        self.is_up = False
        self._outbox.close()
        self._calls.end()
        self._ended(self)

    def _write(self) -> None:
        try:
            actor = ray.get_actor(self._name)
            while waiting := self._outbox.take():
                ray.get(actor.hear.remote(self.engine, self._web, waiting), timeout=ANSWER_S)
        except (RayError, ValueError, OSError) as error:
            log.info("the engine %s accepts no more requests: %s", self.engine, _first_line(error))
            self._outbox.close()


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:200]
