"""Strategy AVG, RocketMQ's default: each member owns neighbouring queues."""

from collections.abc import Sequence

from sandbox.client.allocate.strategy import is_member
from sandbox.message.queue import MessageQueue


class AllocateMessageQueueAveragely:
    """Strategy AVG: equal blocks of neighbouring queues; the first members own one more if the division has a rest.

    >>> queues = [MessageQueue("T", "b", i) for i in range(5)]
    >>> mine = AllocateMessageQueueAveragely().allocate("g", "c1", queues, ["c1", "c2"])
    >>> [q.queue_id for q in mine]
    [0, 1, 2]
    """

    name = "AVG"

    def allocate(
        self, group: str, client_id: str, queues: Sequence[MessageQueue], clients: Sequence[str]
    ) -> list[MessageQueue]:
        if not is_member(client_id, queues, clients):
            return []
        share, odd = divmod(len(queues), len(clients))
        index = clients.index(client_id)
        start = index * share + min(index, odd)
        return list(queues[start : start + share + (index < odd)])
