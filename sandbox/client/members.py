"""Interfaces of the producers and consumers inside a client process."""

from collections.abc import Callable
from typing import Protocol

from sandbox.client.lifecycle import LifeCycle
from sandbox.client.offset_store import WatchedOffsetStore
from sandbox.client.process_queue import ProcessQueue
from sandbox.message.message import Message
from sandbox.message.queue import MessageQueue
from sandbox.remoting.bodies import ConsumerData
from sandbox.remoting.headers import CheckTransactionHeader

OnCheck = Callable[[CheckTransactionHeader, Message, str], None]
"""A broker asks what became of a transaction: its question, the message, and the broker's address."""


class Member(Protocol):
    """Producer or consumer in a client process."""

    @property
    def life(self) -> LifeCycle: ...
    def topics(self) -> list[str]:
        """Return the topics whose routes the process refreshes."""


class Publisher(Member, Protocol):
    """Producer.  `on_check` is set for transactions only."""

    @property
    def on_check(self) -> OnCheck | None: ...


class Consumer(Member, Protocol):
    """Consumer of any kind."""

    group: str

    @property
    def process_queues(self) -> dict[MessageQueue, ProcessQueue]: ...
    @property
    def offset_store(self) -> WatchedOffsetStore: ...
    def data(self) -> ConsumerData: ...
    async def rebalance(self, trigger: str) -> None: ...
    async def reset_offsets(self, topic: str, offsets: dict[MessageQueue, int]) -> None: ...
    def status(self, topic: str) -> dict[MessageQueue, int]: ...
    def running_info(self) -> bytes: ...
