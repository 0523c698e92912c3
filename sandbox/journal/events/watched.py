"""What asking a real cluster again and again showed: who fell silent, and whose lag is over the mark."""

from typing import NamedTuple

from sandbox.journal.events.shapes import Long


class NodeSilent(NamedTuple):
    node: str
    address: str
    quiet_ms: int  # since its last answer


class NodeAnswered(NamedTuple):
    """`silent_ms` None: it never did before."""

    node: str
    address: str
    silent_ms: int | None


class LagMarked(NamedTuple):
    """Of all its topics, retries too.  `queues`: of how many of the `of` it is known."""

    group: str
    state: str  # over, under
    lag: Long
    mark: Long
    queues: int
    of: int
