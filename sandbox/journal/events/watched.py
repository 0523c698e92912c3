"""Events found by polling a real cluster: nodes that do not answer, groups with a lag above the threshold."""

from typing import NamedTuple

from sandbox.journal.events.event import said
from sandbox.journal.events.shapes import Long


@said("bad", "silent", "{node} ({address}) does not answer; last response {quiet_ms} ago", "bad")
class NodeSilent(NamedTuple):
    node: str
    address: str
    quiet_ms: int  # since its last answer


@said("ok", "answers", "{node} ({address}) answers again after {silent_ms}")
@said("ok", "answers", "{node} ({address}) answers", when="silent_ms=null")
class NodeAnswered(NamedTuple):
    """A node answers.  `silent_ms` is null for its first answer."""

    node: str
    address: str
    silent_ms: int | None


@said("warn", "lag", "{group} is {lag} behind, above the threshold of {mark}", "warn", when="state=over")
@said("ok", "lag", "{group} is {lag} behind, below half the threshold of {mark}")
class LagMarked(NamedTuple):
    """The lag of a group crossed the threshold `mark`, or half of it on the way down.

    The lag covers all topics with their retry topics.  `queues` of `of` queues have a known lag.
    """

    group: str
    state: str  # over, under
    lag: Long
    mark: Long
    queues: int
    of: int
