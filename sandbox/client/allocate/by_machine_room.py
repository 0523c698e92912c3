"""Strategy MACHINE_ROOM: the group owns only the queues of the configured rooms."""

from collections.abc import Iterable, Sequence

from sandbox.client.allocate.strategy import is_member
from sandbox.message.queue import MessageQueue


class AllocateMessageQueueByMachineRoom:
    """Strategy MACHINE_ROOM: queues of brokers named `room@name` in the given rooms; other queues have no owner.

    Each member owns an equal block.  The remaining queues at the end go to the first members, one each.
    """

    name = "MACHINE_ROOM"

    def __init__(self, *, rooms: Iterable[str]) -> None:
        self._rooms = frozenset(rooms)

    def allocate(
        self, group: str, client_id: str, queues: Sequence[MessageQueue], clients: Sequence[str]
    ) -> list[MessageQueue]:
        if not is_member(client_id, queues, clients):
            return []
        ours = [mq for mq in queues if mq.broker.count("@") == 1 and mq.broker.split("@")[0] in self._rooms]
        share, odd = divmod(len(ours), len(clients))
        index = clients.index(client_id)
        mine = ours[share * index : share * (index + 1)]
        if index < odd:
            mine.append(ours[index + share * len(clients)])
        return mine
