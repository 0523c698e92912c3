"""Rows of the waits of a client."""

from typing import NotRequired, TypedDict


class Wait(TypedDict):
    """One wait.  Times (`…_ms`) are of the sandbox's clock."""

    why: str  # route, rebalance, lock, master, offset, or the pause of a pull (`snapshot.client_waits`)
    topic: str | None  # None: it is not for a topic
    queue: str | None  # `orders/broker-a/3`; None: it is not for a queue
    until_ms: int | None  # it can end then at the earliest
    again_ms: int | None  # the client tries again then
    holder: NotRequired[str | None]  # of a lock: client id
    holder_state: NotRequired[str | None]
    held_since_ms: NotRequired[int]
