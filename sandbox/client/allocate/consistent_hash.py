"""Strategy CONSISTENT_HASH: members and queues have positions on one hash ring."""

from bisect import bisect_left
from collections.abc import Sequence
from functools import lru_cache
from hashlib import md5

from sandbox.client.allocate.strategy import is_member
from sandbox.message.queue import MessageQueue

VIRTUAL_NODES = 10


def ring_position(text: str) -> int:
    """Return the ring position of a text: the first four bytes of its MD5, as in RocketMQ's `MD5Hash`.

    >>> ring_position("cid-0")
    2711717015
    """
    return int.from_bytes(md5(text.encode(), usedforsecurity=False).digest()[:4], "big")


def queue_text(mq: MessageQueue) -> str:
    """Return the text that is hashed for a queue: that of Java's `MessageQueue.toString`."""
    return f"MessageQueue [topic={mq.topic}, brokerName={mq.broker}, queueId={mq.queue_id}]"


class AllocateMessageQueueConsistentHash:
    """Strategy CONSISTENT_HASH: a queue belongs to the next member clockwise on the ring.

    Each member is on the ring `virtual_nodes` times.  When a member leaves, only its queues move.  The shares are
    uneven.  Without virtual nodes the ring is empty and no queue has an owner, as in Java.
    """

    name = "CONSISTENT_HASH"

    def __init__(self, *, virtual_nodes: int = VIRTUAL_NODES) -> None:
        if virtual_nodes < 0:
            raise ValueError(f"virtual_nodes must not be negative, got {virtual_nodes}")
        self._virtual_nodes = virtual_nodes

    def allocate(
        self, group: str, client_id: str, queues: Sequence[MessageQueue], clients: Sequence[str]
    ) -> list[MessageQueue]:
        if not is_member(client_id, queues, clients):
            return []
        ring, owners = _ring(tuple(clients), self._virtual_nodes)
        if not ring:
            return []
        return [mq for mq in queues if owners[_next_clockwise(ring, ring_position(queue_text(mq)))] == client_id]

    def places(self, clients: Sequence[str]) -> dict[int, str]:
        """Return the ring: the client id at each occupied position."""
        return dict(_ring(tuple(clients), self._virtual_nodes)[1])


@lru_cache(maxsize=2)  # all members of a group use the same ring; a large one has 64 000 positions
def _ring(clients: tuple[str, ...], virtual_nodes: int) -> tuple[list[int], dict[int, str]]:
    """Return the occupied ring positions in ascending order, and the client id at each."""
    owners = {ring_position(f"{cid}-{n}"): cid for cid in clients for n in range(virtual_nodes)}
    return sorted(owners), owners


def _next_clockwise(ring: list[int], position: int) -> int:
    at = bisect_left(ring, position)
    return ring[at] if at < len(ring) else ring[0]
