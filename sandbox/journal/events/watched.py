"""Events found by polling a real cluster: nodes that do not answer, groups with a lag over the mark."""

from typing import NamedTuple

from sandbox.journal.events.shapes import Long


class NodeSilent(NamedTuple):
    node: str
    address: str
    quiet_ms: int  # since its last answer


class NodeAnswered(NamedTuple):
    """`silent_ms` None: its first answer."""

    node: str
    address: str
    silent_ms: int | None


class LagMarked(NamedTuple):
    """Of all its topics, with retry topics.  `queues`: number of queues, out of `of`, with a known lag."""

    group: str
    state: str  # over, under
    lag: Long
    mark: Long
    queues: int
    of: int
