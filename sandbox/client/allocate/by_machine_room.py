"""Only the queues of some rooms."""

from collections.abc import Iterable, Sequence

from sandbox.client.allocate.strategy import is_member
from sandbox.message.queue import MessageQueue


class AllocateMessageQueueByMachineRoom:
    """Queues of brokers named `room@name` in the given rooms; the rest has no owner in this group.

    The odd queues at the end go one each to the first members, after the equal blocks of all members.
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
