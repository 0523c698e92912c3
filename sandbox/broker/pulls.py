"""Last pull of every group and queue."""

from typing import NamedTuple

from sandbox.message.queue import MessageQueue

MAX_STATES = 65_536  # groups times queues; the oldest is dropped


class PullState(NamedTuple):
    """Last pull of a group on a queue.  `held_until_ms` is None if the pull has been answered.

    `next_offset` is the next offset to read: the requested one while the pull is held, the answer's
    `nextBeginOffset` afterwards.
    """

    next_offset: int
    client_id: str
    held_until_ms: int | None
    at_ms: int


class PullTable:
    """Table of last pulls.  RocketMQ has none; snapshots need it to show external clients."""

    def __init__(self) -> None:
        self._states: dict[tuple[str, MessageQueue], PullState] = {}

    def note(self, group: str, mq: MessageQueue, state: PullState) -> None:
        self._states[group, mq] = state
        if len(self._states) > MAX_STATES:
            del self._states[next(iter(self._states))]

    def get(self, group: str, mq: MessageQueue) -> PullState | None:
        return self._states.get((group, mq))

    def forget_group(self, group: str) -> None:
        for key in [key for key in self._states if key[0] == group]:
            del self._states[key]

    def forget_topic(self, topic: str) -> None:
        for key in [key for key in self._states if key[1].topic == topic]:
            del self._states[key]
