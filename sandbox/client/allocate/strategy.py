"""The interface of allocation strategies, and the checks before them."""

from collections.abc import Sequence
from typing import Protocol

from sandbox.kernel.errors import ClientError
from sandbox.message.queue import MessageQueue


class AllocateMessageQueueStrategy(Protocol):
    """Which queues are mine?  Every member computes alone, from the same sorted lists.

    RocketMQ: `AllocateMessageQueueStrategy`.  A strategy is a pure function of its arguments, so that all members
    agree without talking to each other; where their lists differ, they disagree for a while.
    """

    @property
    def name(self) -> str: ...

    def allocate(
        self, group: str, client_id: str, queues: Sequence[MessageQueue], clients: Sequence[str]
    ) -> list[MessageQueue]: ...


def is_member(client_id: str, queues: Sequence[MessageQueue], clients: Sequence[str]) -> bool:
    """False when our heartbeat has not reached the broker yet: then a member owns nothing.

    Raises ClientError where Java raises (spec client-behaviour 5.1): no queues, or no members.
    """
    if not client_id:
        raise ClientError("queues cannot be assigned to a member without a client id")
    if not queues:
        raise ClientError("there are no queues to assign")
    if not clients:
        raise ClientError("there are no members to assign queues to")
    return client_id in clients
