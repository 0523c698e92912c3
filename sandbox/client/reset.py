"""A running group is moved to other offsets: what a member does when its broker says so (request 220)."""

import logging
from typing import TYPE_CHECKING

from sandbox.journal.events import ResetStepDone
from sandbox.message.queue import MessageQueue

if TYPE_CHECKING:
    from sandbox.client.push_consumer import PushConsumer

log = logging.getLogger(__name__)

LET_DRAIN_S = 10.0  # listeners that still work on dropped queues get this long


async def reset_offsets(consumer: "PushConsumer", topic: str, offsets: dict[MessageQueue, int]) -> None:
    """Stop, drop our queues of the topic, wait 10 s, commit the new offsets, go on from there.

    Queues we do not own are ignored: all members together cover the topic.  RocketMQ:
    `MQClientInstance.resetOffset` (spec client-behaviour 9).
    """
    _done(consumer, "told")
    consumer.paused = True
    try:
        for mq, pq in sorted(consumer.process_queues.items(), key=lambda item: item[0]):
            if mq.topic == topic and mq in offsets:
                pq.dropped = True
                pq.clear()
        _done(consumer, "dropped")
        _done(consumer, "waiting")
        await consumer.clock.sleep(LET_DRAIN_S)
        for mq, pq in sorted(consumer.process_queues.items(), key=lambda item: item[0]):
            offset = offsets.get(mq)
            if mq.topic != topic or offset is None:
                continue
            pq.dropped = True
            consumer.offset_store.update_offset(mq, offset, increase_only=False)
            await consumer.rebalancer.release(mq, pq)
            consumer.rebalancer.remove(mq, pq, "reset")
    finally:
        consumer.paused = False
    _done(consumer, "resumed")
    consumer.instance.wake_rebalance("reset")


def _done(consumer: "PushConsumer", step: str) -> None:
    consumer.journal.write(ResetStepDone(reset_id=consumer.reset_id, client_id=consumer.client_id, step=step))
