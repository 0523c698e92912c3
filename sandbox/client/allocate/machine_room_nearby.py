"""Strategy MACHINE_ROOM_NEARBY: a room's members own its queues; queues of rooms without members are shared."""

from collections.abc import Callable, Sequence

from sandbox.client.allocate.strategy import AllocateMessageQueueStrategy, is_member
from sandbox.kernel.errors import ClientError
from sandbox.message.queue import MessageQueue


def room_before_dash(name: str) -> str:
    """Return the room in a broker's or member's name: `room1-broker-a` is in `room1` (a convention of the sandbox)."""
    return name.split("-", 1)[0]


class AllocateMachineRoomNearby:
    """Strategy that gives a room's queues to its members, and queues of rooms without members to all members.

    The inner strategy assigns both parts.  RocketMQ: `AllocateMachineRoomNearby`.
    """

    def __init__(
        self,
        inner: AllocateMessageQueueStrategy,
        *,
        broker_room: Callable[[MessageQueue], str] = lambda mq: room_before_dash(mq.broker),
        client_room: Callable[[str], str] = room_before_dash,
    ) -> None:
        self._inner = inner
        self._broker_room = broker_room
        self._client_room = client_room

    @property
    def name(self) -> str:
        return f"MACHINE_ROOM_NEARBY-{self._inner.name}"

    def allocate(
        self, group: str, client_id: str, queues: Sequence[MessageQueue], clients: Sequence[str]
    ) -> list[MessageQueue]:
        if not is_member(client_id, queues, clients):
            return []
        room_queues: dict[str, list[MessageQueue]] = {}
        for mq in queues:
            room_queues.setdefault(_named(self._broker_room(mq), mq.broker), []).append(mq)
        room_clients: dict[str, list[str]] = {}
        for cid in clients:
            room_clients.setdefault(_named(self._client_room(cid), cid), []).append(cid)
        mine: list[MessageQueue] = []
        own_room = self._client_room(client_id)
        own_queues = room_queues.pop(own_room, [])
        if own_queues:
            mine += self._inner.allocate(group, client_id, own_queues, room_clients[own_room])
        for room, orphaned in sorted(room_queues.items()):
            if room not in room_clients:
                mine += self._inner.allocate(group, client_id, orphaned, clients)
        return mine


def _named(room: str, client_id: str) -> str:
    if not room:
        raise ClientError(f"the machine room of {client_id} is unknown")
    return room
