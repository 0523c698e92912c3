"""Direct consumption of one message at an administrator's request (309), whatever its queue and offset."""

import logging
from collections.abc import Awaitable, Callable
from typing import Any, Protocol, runtime_checkable

from sandbox.client.results import ConsumeConcurrentlyStatus, ConsumeOrderlyStatus
from sandbox.kernel.clock import Clock
from sandbox.message import properties
from sandbox.message.message import Message
from sandbox.remoting.json_body import dumps

log = logging.getLogger(__name__)

RESULTS = {
    ConsumeConcurrentlyStatus.CONSUME_SUCCESS: "CR_SUCCESS",
    ConsumeConcurrentlyStatus.RECONSUME_LATER: "CR_LATER",
    ConsumeOrderlyStatus.SUCCESS: "CR_SUCCESS",
    ConsumeOrderlyStatus.COMMIT: "CR_COMMIT",
    ConsumeOrderlyStatus.ROLLBACK: "CR_ROLLBACK",
    ConsumeOrderlyStatus.SUSPEND_CURRENT_QUEUE_A_MOMENT: "CR_LATER",
}


@runtime_checkable
class Listeners(Protocol):
    """Consumer with a listener."""

    async def consume_directly(self, message: Message, broker: str) -> bytes: ...


async def consumed_directly(
    clock: Clock,
    listener: Callable[[list[Message], Any], Awaitable[Any]],
    message: Message,
    context: Any,
    *,
    retry_topic: str,
    orderly: bool,
) -> bytes:
    """Run the listener on one message and return the body of the answer.  Nothing is committed, retried or counted.

    RocketMQ: `consumeMessageDirectly` of both services, `ConsumeMessageDirectlyResult`.
    """
    origin = message.properties.get(properties.RETRY_TOPIC)
    if origin is not None and message.topic == retry_topic:
        message.topic = origin
    began_ms, remark = clock.now_ms(), None
    try:
        status = await listener([message], context)
        result = "CR_RETURN_NULL" if status is None else RESULTS[status]
    except Exception as error:  # the application's own exception, which the answer reports
        log.info("the listener failed with %s", message.unique_key, exc_info=True)
        result, remark = "CR_THROW_EXCEPTION", f"{type(error).__name__}: {error}"
    answer: dict[str, object] = {
        "autoCommit": getattr(context, "auto_commit", True),
        "consumeResult": result,
        "order": orderly,
        "spentTimeMills": clock.now_ms() - began_ms,
    }
    return dumps(answer if remark is None else {**answer, "remark": remark})
