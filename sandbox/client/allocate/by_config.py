"""A list made by hand."""

from collections.abc import Iterable, Sequence

from sandbox.message.queue import MessageQueue


class AllocateMessageQueueByConfig:
    """The given queues, whatever the group looks like: nothing keeps two members from the same list."""

    name = "CONFIG"

    def __init__(self, *, queues: Iterable[MessageQueue] = ()) -> None:
        self._queues = list(queues)

    def allocate(
        self, group: str, client_id: str, queues: Sequence[MessageQueue], clients: Sequence[str]
    ) -> list[MessageQueue]:
        return list(self._queues)
