"""Allocation strategies as chosen in the sandbox, with its client labels and machine rooms."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from sandbox.client.allocate import AllocateMessageQueueStrategy, strategy
from sandbox.client.allocate.by_config import AllocateMessageQueueByConfig
from sandbox.client.allocate.by_machine_room import AllocateMessageQueueByMachineRoom
from sandbox.client.allocate.machine_room_nearby import AllocateMachineRoomNearby
from sandbox.message.queue import MessageQueue

CONFIG, MACHINE_ROOM, NEARBY = "CONFIG", "MACHINE_ROOM", "MACHINE_ROOM_NEARBY"
NEED_MORE = (CONFIG, MACHINE_ROOM, NEARBY)
"""Strategies that need the lists or rooms of `SetStrategy`."""


class Places(Protocol):
    """Lookup of a client id's label and machine room.

    None if it is no in-process client or nothing is set.
    """

    def label_of(self, client_id: str) -> str | None: ...
    def room_of(self, client_id: str) -> str | None: ...


class Rooms:
    """Machine rooms of `SetStrategy.rooms`: `room` may be consumed from, `room@broker` also assigns a broker to it.

    RocketMQ reads a broker's room from its name.  The sandbox's brokers keep their names, so the room is a setting.
    """

    def __init__(self, entries: Iterable[str]) -> None:
        self.places: dict[str, str] = {}  # broker → room
        named: list[str] = []
        for entry in entries:
            room, mark, broker = entry.partition("@")
            if mark:
                self.places[broker] = room
            else:
                named.append(room)
        self.wanted = frozenset(named or self.places.values())

    def room_of(self, broker: str) -> str:
        """Return the broker's room; a broker without one has its own, with its name."""
        if broker in self.places:
            return self.places[broker]
        room, mark, _ = broker.partition("@")
        return room if mark else broker


class ByMember:
    """Strategy with a list of queues for each label.  A member without a list owns none; lists may overlap.

    As in RocketMQ the list is the same for all topics, so an unlisted retry queue has no owner.
    """

    name = AllocateMessageQueueByConfig.name

    def __init__(self, lists: Mapping[str, Sequence[str]], where: Places) -> None:
        self._lists = {label: [MessageQueue.from_key(key) for key in keys] for label, keys in lists.items()}
        self._where = where

    def allocate(
        self, group: str, client_id: str, queues: Sequence[MessageQueue], clients: Sequence[str]
    ) -> list[MessageQueue]:
        mine = self._lists.get(self._where.label_of(client_id) or "", [])
        return AllocateMessageQueueByConfig(queues=mine).allocate(group, client_id, queues, clients)


class InRooms:
    """Strategy `AllocateMessageQueueByMachineRoom`, with broker names changed to the form it needs, `room@broker`."""

    name = AllocateMessageQueueByMachineRoom.name

    def __init__(self, rooms: Rooms) -> None:
        self._rooms = rooms
        self._inner = AllocateMessageQueueByMachineRoom(rooms=rooms.wanted)

    def allocate(
        self, group: str, client_id: str, queues: Sequence[MessageQueue], clients: Sequence[str]
    ) -> list[MessageQueue]:
        named = {self._named(mq): mq for mq in queues}
        return [named[mq] for mq in self._inner.allocate(group, client_id, sorted(named), clients)]

    def _named(self, mq: MessageQueue) -> MessageQueue:
        room = self._rooms.places.get(mq.broker)
        return mq if room is None else mq._replace(broker=f"{room}@{mq.broker}")


def make_strategy(chosen: Mapping[str, Any], where: Places) -> AllocateMessageQueueStrategy:
    """Create the strategy that all members of the group share, from the fields that `SetStrategy` set."""
    name = chosen["strategy"]
    if name == CONFIG:
        return ByMember(chosen.get("queues_by_member") or {}, where)
    if name == MACHINE_ROOM:
        return InRooms(Rooms(chosen.get("rooms", ())))
    if name == NEARBY:
        rooms = Rooms(chosen.get("rooms", ()))
        return AllocateMachineRoomNearby(
            strategy("AVG"),
            broker_room=lambda mq: rooms.room_of(mq.broker),
            client_room=lambda client_id: where.room_of(client_id) or client_id,
        )  # without a room: one of its own
    return strategy(name, virtual_nodes=chosen.get("virtual_nodes", 10))
