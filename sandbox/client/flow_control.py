"""Flow control of consumers: pulls are delayed while too many messages wait, and its start and end are reported."""

from typing import TYPE_CHECKING, NamedTuple, Protocol

from sandbox.client.config import MIB
from sandbox.client.process_queue import ProcessQueue
from sandbox.journal.events import FlowControlChanged
from sandbox.message.queue import MessageQueue

if TYPE_CHECKING:
    from sandbox.client.instance import ClientInstance

WAIT_FLOW_CONTROL_S = 0.05
CALM_MS = 1_000


class Limit(NamedTuple):
    """Threshold of a queue that is exceeded: `name` (count, size, span), current value, allowed value."""

    name: str
    value: int
    allowed: int


class Puller(Protocol):
    """Consumer whose pulls flow control can delay."""

    @property
    def group(self) -> str: ...
    @property
    def client_id(self) -> str: ...
    @property
    def instance(self) -> "ClientInstance": ...
    @property
    def process_queues(self) -> dict[MessageQueue, ProcessQueue]: ...
    @property
    def threshold_for_queue(self) -> int: ...
    @property
    def threshold_bytes_for_queue(self) -> int: ...


class FlowControl:
    """State of flow control per queue.  It ends if no pull was delayed for a second.

    Around a limit, flow control would otherwise start and end every 50 ms.
    """

    def __init__(self, puller: Puller) -> None:
        self._puller = puller

    def holds_back(self, pq: ProcessQueue, limit: Limit | None) -> bool:
        """Return True if `limit` is exceeded; the caller waits `WAIT_FLOW_CONTROL_S` and checks again."""
        if limit is None:
            return False
        pq.held_back_ms = self._puller.instance.clock.now_ms()
        if pq.flow_control is None:
            self._look_again(pq)
        if pq.flow_control != limit.name:
            self._report(pq, limit.name, limit.value, limit.allowed)
        return True

    def crossed(self, pq: ProcessQueue, *, max_span: int | None) -> Limit | None:
        """Return the first limit that the queue exceeds, or None.

        `max_span` None ignores the span (orderly consumers).
        """
        allowed, allowed_bytes = self._puller.threshold_for_queue, self._puller.threshold_bytes_for_queue
        if pq.count > allowed:
            return Limit("count", pq.count, allowed)
        if pq.bytes // MIB > allowed_bytes // MIB:
            return Limit("size", pq.bytes, allowed_bytes)
        if max_span is not None and pq.span > max_span:
            return Limit("span", pq.span, max_span)
        return None

    def _look_again(self, pq: ProcessQueue) -> None:
        self._puller.instance.clock.call_later(CALM_MS / 1000, lambda: self._calm(pq))

    def _calm(self, pq: ProcessQueue) -> None:
        puller = self._puller
        if pq.dropped or puller.process_queues.get(pq.mq) is not pq:
            return
        if puller.instance.clock.now_ms() - pq.held_back_ms < CALM_MS:
            self._look_again(pq)
        else:
            self._report(pq, None, pq.count, puller.threshold_for_queue)

    def _report(self, pq: ProcessQueue, name: str | None, value: int, allowed: int) -> None:
        pq.flow_control = name
        puller = self._puller
        puller.instance.journal.write(
            FlowControlChanged(
                group=puller.group,
                client_id=puller.client_id,
                topic=pq.mq.topic,
                broker=pq.mq.broker,
                queue_id=pq.mq.queue_id,
                limit=name,
                value=value,
                allowed=allowed,
            )
        )
