"""Allocation strategies, one per file: they compute which member owns which queues."""

from collections.abc import Iterable

from sandbox.client.allocate.averagely import AllocateMessageQueueAveragely
from sandbox.client.allocate.averagely_by_circle import AllocateMessageQueueAveragelyByCircle
from sandbox.client.allocate.by_config import AllocateMessageQueueByConfig
from sandbox.client.allocate.by_machine_room import AllocateMessageQueueByMachineRoom
from sandbox.client.allocate.consistent_hash import VIRTUAL_NODES, AllocateMessageQueueConsistentHash
from sandbox.client.allocate.machine_room_nearby import AllocateMachineRoomNearby
from sandbox.client.allocate.strategy import AllocateMessageQueueStrategy
from sandbox.kernel.errors import ClientError
from sandbox.message.queue import MessageQueue

NEARBY = "MACHINE_ROOM_NEARBY"  # followed by `-` and the inner strategy; AVG without one

NAMES = ("AVG", "AVG_BY_CIRCLE", "CONSISTENT_HASH", "MACHINE_ROOM", "MACHINE_ROOM_NEARBY-AVG", "CONFIG")


def strategy(
    name: str,
    *,
    virtual_nodes: int = VIRTUAL_NODES,
    rooms: Iterable[str] = (),
    queues: Iterable[MessageQueue] = (),
) -> AllocateMessageQueueStrategy:
    """Return the strategy with this wire name.  Parameters of other strategies are ignored.

    Raises ClientError if the name is unknown.
    """
    if name.startswith(NEARBY):
        inner_name = name.removeprefix(NEARBY).removeprefix("-") or AllocateMessageQueueAveragely.name
        inner = strategy(inner_name, virtual_nodes=virtual_nodes, rooms=rooms, queues=queues)
        return AllocateMachineRoomNearby(inner)
    match name:
        case AllocateMessageQueueAveragely.name:
            return AllocateMessageQueueAveragely()
        case AllocateMessageQueueAveragelyByCircle.name:
            return AllocateMessageQueueAveragelyByCircle()
        case AllocateMessageQueueConsistentHash.name:
            return AllocateMessageQueueConsistentHash(virtual_nodes=virtual_nodes)
        case AllocateMessageQueueByMachineRoom.name:
            return AllocateMessageQueueByMachineRoom(rooms=rooms)
        case AllocateMessageQueueByConfig.name:
            return AllocateMessageQueueByConfig(queues=queues)
    raise ClientError(f"no allocate strategy {name}; strategies are {', '.join(NAMES)}")


__all__ = ["NAMES", "AllocateMessageQueueStrategy", "strategy"]
