"""Messages people send by hand."""

from typing import TYPE_CHECKING

from sandbox.control.actions import SendMessages
from sandbox.hosting.execute.carry import CarryOut
from sandbox.hosting.execute.members import check_topic_name
from sandbox.hosting.producing import SELECTORS, messages_of
from sandbox.kernel.errors import ActionRefused
from sandbox.message.queue import MessageQueue

if TYPE_CHECKING:
    from sandbox.hosting.sandbox import Sandbox


def send(sandbox: "Sandbox", action: SendMessages) -> CarryOut:
    """A burst, a trickle, or rows; what went wrong on the way is in the journal (`SendFailed`)."""
    check_topic_name(action.topic)
    count = len(action.rows) or action.count or 1
    sandbox.walls.check("messages_per_send", count, sandbox.limits.messages_per_send, action.topic)
    _check_size(sandbox, action)
    queue = queue_of(action.topic, action.queue) if action.queue else None
    if action.batch and (action.delay_level or action.rate_per_s):
        raise ActionRefused(422, "A batch has no delay and no rate.", "Leave one of them out.", field="batch")
    console = sandbox.console

    def carry_out(seq: int, by: str) -> None:
        messages = messages_of(action)
        story = console.send_batches(messages, queue=queue) if action.batch else console.send(
            messages, per_s=action.rate_per_s, selector=SELECTORS[action.selector], queue=queue)
        sandbox.actors.later(story, f"send {action.topic}")

    return carry_out


def queue_of(topic: str, row: str) -> MessageQueue:
    """`broker-a:3` of a topic.  Raises ActionRefused (422)."""
    broker, mark, number = row.rpartition(":")
    if not mark or not number.isdecimal():
        raise ActionRefused(422, "{queue} is no queue.", "Write it like broker-a:3.", field="queue", queue=row)
    return MessageQueue(topic, broker, int(number))


def _check_size(sandbox: "Sandbox", action: SendMessages) -> None:
    allowed = sandbox.preset.max_message_bytes
    bodies = [len(row.body.encode()) for row in action.rows] if action.rows else [
        len(action.body.encode()) if action.body is not None else action.body_bytes]
    if max(bodies) > allowed:
        raise ActionRefused(422, "A message may have {allowed} bytes here, not {value}.", "Choose a smaller body.",
                            field="body_bytes", allowed=allowed, value=max(bodies))
    if min(bodies) == 0:
        raise ActionRefused(422, "A message needs a body.", "Write at least one character.", field="body")
