"""Reset of a running member's offsets at the broker's request (220)."""

from collections.abc import Callable

from sandbox.client.lifecycle import LifeCycle
from sandbox.client.owned_queues import OwnedQueues
from sandbox.kernel.clock import Clock
from sandbox.message.queue import MessageQueue

LET_DRAIN_S = 10.0  # listeners that still work on dropped queues get this long


async def reset_offsets(
    queues: OwnedQueues,
    life: LifeCycle,
    clock: Clock,
    topic: str,
    offsets: dict[MessageQueue, int],
    done: Callable[[str], None],
) -> None:
    """Pause, drop this member's queues of the topic, wait 10 s, commit the new offsets, continue.

    Queues of other members are ignored: all members together cover the topic.  `done` is called with each step.
    RocketMQ: `MQClientInstance.resetOffset` (spec client-behaviour 9).
    """
    done("told")
    life.paused = True
    try:
        for mq, pq in queues.items():
            if mq.topic == topic and mq in offsets:
                pq.dropped = True
                pq.clear()
        done("dropped")
        done("waiting")
        await clock.sleep(LET_DRAIN_S)
        for mq, pq in queues.items():
            offset = offsets.get(mq)
            if mq.topic != topic or offset is None:
                continue
            pq.dropped = True
            queues.offset_store.update_offset(mq, offset, increase_only=False)
            await queues.release(mq, pq)
            queues.remove(mq, pq, "reset")
    finally:
        life.paused = False
    done("resumed")
