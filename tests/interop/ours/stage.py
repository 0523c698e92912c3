"""An Apache broker, a client's connection to it, and a listener that records its messages."""

import threading
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from sandbox import Message
from sandbox.message.queue import MessageQueue
from sandbox.notebook.remote import Remote
from tests.golden.independent_reader import Record
from tests.interop.servers import APACHE_4, APACHE_5, PATIENT, Server

# 5.x notes every 3 s which transactions have ended, and before that asks about them; 4.9 does not know the name.
QUICK = {**PATIENT, "transactionOpBatchInterval": "100"}
FIRST = "CONSUME_FROM_FIRST_OFFSET"
PATIENCE_S = 60.0
SEND_MS = 20_000


class Scene(NamedTuple):
    """A broker to have clients at; `name` says whose."""

    server: Server

    @property
    def is_4(self) -> bool:
        return self.server.name.endswith(APACHE_4)

    @property
    def is_5(self) -> bool:
        return self.server.name.endswith(APACHE_5)

    def on_master(self, queue_id: int, topic: str) -> MessageQueue:
        return MessageQueue(topic, "broker-a", queue_id)


def sender(cluster: Remote, group: str) -> Any:
    """A producer with more patience than RocketMQ's 3 s: much else may be at work on the machine."""
    return cluster.producer(group, send_timeout_ms=SEND_MS)


class Seen:
    """A listener that notes what it is given; `refuse` says which messages are to come again."""

    def __init__(self, refuse: Callable[[Message], bool] = lambda message: False) -> None:
        self._refuse = refuse
        self._lock = threading.Lock()
        self.messages: list[Message] = []

    def __call__(self, message: Message) -> bool:
        with self._lock:
            self.messages.append(message)
        return not self._refuse(message)

    @property
    def bodies(self) -> list[str]:
        with self._lock:
            return [message.body.decode() for message in self.messages]

    def wait(self, count: int) -> "Seen":
        until(lambda: len(self.messages) >= count)
        return self


def until(condition: Callable[[], bool]) -> None:
    """Poll until a broker is done, as brokers do not report it."""
    end_s = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end_s
        time.sleep(0.1)


def texts(records: list[Record]) -> list[str]:
    return sorted(record.plain_body.decode() for record in records)
