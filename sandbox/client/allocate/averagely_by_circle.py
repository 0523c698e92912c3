"""Strategy AVG_BY_CIRCLE: queues are assigned to the members in turn."""

from collections.abc import Sequence

from sandbox.client.allocate.strategy import is_member
from sandbox.message.queue import MessageQueue


class AllocateMessageQueueAveragelyByCircle:
    """Strategy AVG_BY_CIRCLE: of n members each owns every n-th queue.

    So the queues of one broker spread over all members.
    """

    name = "AVG_BY_CIRCLE"

    def allocate(
        self, group: str, client_id: str, queues: Sequence[MessageQueue], clients: Sequence[str]
    ) -> list[MessageQueue]:
        if not is_member(client_id, queues, clients):
            return []
        return list(queues[clients.index(client_id) :: len(clients)])
