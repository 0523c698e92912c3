"""Queues dealt out like cards."""

from collections.abc import Sequence

from sandbox.client.allocate.strategy import is_member
from sandbox.message.queue import MessageQueue


class AllocateMessageQueueAveragelyByCircle:
    """Every n-th queue to one client, so the queues of one broker spread over all members."""

    name = "AVG_BY_CIRCLE"

    def allocate(
        self, group: str, client_id: str, queues: Sequence[MessageQueue], clients: Sequence[str]
    ) -> list[MessageQueue]:
        if not is_member(client_id, queues, clients):
            return []
        return list(queues[clients.index(client_id) :: len(clients)])
