"""Interface of allocation strategies, and the checks that all of them make first."""

from collections.abc import Sequence
from typing import Protocol

from sandbox.kernel.errors import ClientError
from sandbox.message.queue import MessageQueue


class AllocateMessageQueueStrategy(Protocol):
    """Function that computes the queues of one member from the sorted queues and client ids of its group.

    RocketMQ: `AllocateMessageQueueStrategy`.  A strategy is a pure function of its arguments, so members agree
    without communication.  While their lists differ, their results may conflict.
    """

    @property
    def name(self) -> str: ...

    def allocate(
        self, group: str, client_id: str, queues: Sequence[MessageQueue], clients: Sequence[str]
    ) -> list[MessageQueue]: ...


def is_member(client_id: str, queues: Sequence[MessageQueue], clients: Sequence[str]) -> bool:
    """Return True if `client_id` is in `clients`.

    A member whose heartbeat has not reached the broker owns no queue.  Raises ClientError where Java throws (spec
    client-behaviour 5.1): no client id, no queues, or no members.
    """
    if not client_id:
        raise ClientError("queues cannot be assigned to a member without a client id")
    if not queues:
        raise ClientError("there are no queues to assign")
    if not clients:
        raise ClientError("there are no members to assign queues to")
    return client_id in clients
