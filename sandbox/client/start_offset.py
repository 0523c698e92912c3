"""Start offset of a member in a queue that it has just acquired."""

from typing import NamedTuple, Protocol

from sandbox.client.config import RETRY_PREFIX, ConsumeFromWhere
from sandbox.client.offset_store import OffsetStore
from sandbox.client.results import ReadOffsetType
from sandbox.kernel.errors import SandboxError
from sandbox.message.queue import MessageQueue

LAST = "max"
ZERO = "zero"
BY_TIME = "by_time"
RETRY_ZERO = "retry_zero"
RETRY_LAST = "retry_max"


class StartOffset(NamedTuple):
    """Start offset and the steps that led to it.

    `offset` is None if it cannot be computed now; the member then does not acquire the queue.  `trace` holds the
    codes of the steps (docs/spec/catalogue.md 2).
    """

    offset: int | None
    trace: tuple[str, ...]


class QueueEnds(Protocol):
    """Broker requests for a queue's offsets; each raises an error if the broker cannot be reached."""

    async def max_offset(self, mq: MessageQueue) -> int: ...
    async def search_offset(self, mq: MessageQueue, timestamp_ms: int) -> int: ...


async def compute_pull_from_where(
    mq: MessageQueue,
    store: OffsetStore,
    ends: QueueEnds,
    *,
    where: ConsumeFromWhere,
    timestamp_ms: int,
    how: ReadOffsetType = ReadOffsetType.READ_FROM_STORE,
) -> StartOffset:
    """Return the start offset: the stored one, and only without one what `where` says (spec client-behaviour 4).

    A stored offset of 0 is ambiguous: the broker also answers 0 for an unknown group while offset 0 is still in
    memory.  Both have the same effect.  If the store or the broker fails, `offset` is None.
    """
    try:
        stored = await store.read_offset(mq, how)
        if stored is not None and stored >= 0:
            return StartOffset(stored, ("stored",) if stored else ("zero_in_memory",))
        otherwise = without_record(mq.topic, where)
        offset = await _resolve(otherwise, mq, ends, timestamp_ms)
    except SandboxError:
        return StartOffset(None, ("store_error",))
    return StartOffset(offset, ("not_found", otherwise))


def without_record(topic: str, where: ConsumeFromWhere) -> str:
    """Return the trace code for a start without a stored offset.

    >>> without_record("%RETRY%G", ConsumeFromWhere.CONSUME_FROM_LAST_OFFSET)
    'retry_zero'
    """
    retry = topic.startswith(RETRY_PREFIX)
    match where:
        case ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET:
            return ZERO
        case ConsumeFromWhere.CONSUME_FROM_TIMESTAMP:
            return RETRY_LAST if retry else BY_TIME
        case _:
            return RETRY_ZERO if retry else LAST


async def _resolve(code: str, mq: MessageQueue, ends: QueueEnds, timestamp_ms: int) -> int:
    if code in (ZERO, RETRY_ZERO):
        return 0
    if code == BY_TIME:
        return await ends.search_offset(mq, timestamp_ms)
    return await ends.max_offset(mq)
