"""Strategy CONFIG: a fixed list of queues."""

from collections.abc import Iterable, Sequence

from sandbox.message.queue import MessageQueue


class AllocateMessageQueueByConfig:
    """Strategy CONFIG: a member owns the configured queues, whatever members the group has.

    RocketMQ does not prevent two members from having the same list.
    """

    name = "CONFIG"

    def __init__(self, *, queues: Iterable[MessageQueue] = ()) -> None:
        self._queues = list(queues)

    def allocate(
        self, group: str, client_id: str, queues: Sequence[MessageQueue], clients: Sequence[str]
    ) -> list[MessageQueue]:
        return list(self._queues)
