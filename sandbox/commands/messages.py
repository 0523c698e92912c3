"""Action that sends messages by hand."""

from sandbox.cluster.actors.sending import SELECTORS, messages_of
from sandbox.cluster.cluster import Cluster
from sandbox.commands.actors import check_topic_name
from sandbox.commands.executors import executes
from sandbox.commands.outcome import CarryOut
from sandbox.commands.validate import check_messages
from sandbox.control.actions import SendMessages
from sandbox.control.queue_row import row_parts
from sandbox.kernel.errors import ActionRefused
from sandbox.message.queue import MessageQueue


@executes(SendMessages)
def send(cluster: Cluster, action: SendMessages) -> CarryOut:
    """Send messages: many at once, at a rate, or listed rows; the journal has the failures (`SendFailed`)."""
    check_topic_name(action.topic)
    check_messages(action)
    count = len(action.rows) or action.count or 1
    cluster.limit_guard.check("messages_per_send", count, cluster.limits.messages_per_send, action.topic)
    _check_size(cluster, action)
    queue = queue_of(action.topic, action.queue) if action.queue else None
    if queue is not None:
        _check_queue(cluster, queue)
    console = cluster.console

    def carry_out(seq: int, by: str) -> None:
        messages = messages_of(action)
        coroutine = (
            console.send_batches(messages, queue=queue)
            if action.batch
            else console.send(messages, per_s=action.rate_per_s, selector=SELECTORS[action.selector], queue=queue)
        )
        cluster.actors.later(coroutine, f"send {action.topic}")

    return carry_out


def queue_of(topic: str, row: str) -> MessageQueue:
    """Return the queue `broker-a:3` of a topic.  Raises ActionRefused (422) for another form."""
    return MessageQueue(topic, *row_parts("queue", row))


def _check_queue(cluster: Cluster, queue: MessageQueue) -> None:
    """Raise ActionRefused (422) if the queue does not exist.

    A broker that is down is allowed: the journal shows the failure.
    """
    node = cluster.nodes.broker(queue.broker)
    config = node.broker.topics.table.get(queue.topic) if node.broker is not None else None
    if node.broker is not None and (config is None or queue.queue_id >= config.write_queues):
        raise ActionRefused(
            422,
            "{topic} has no queue {queue}.",
            "Choose a queue of this topic.",
            field="queue",
            topic=queue.topic,
            queue=queue.row,
        )


def _check_size(cluster: Cluster, action: SendMessages) -> None:
    allowed = cluster.preset.max_message_bytes
    bodies = (
        [len(row.body.encode()) for row in action.rows]
        if action.rows
        else [len(action.body.encode()) if action.body is not None else action.body_bytes]
    )
    if max(bodies) > allowed:
        raise ActionRefused(
            422,
            "A message can have at most {allowed} bytes here, not {value}.",
            "Choose a smaller body.",
            field="body_bytes",
            allowed=allowed,
            value=max(bodies),
        )
    if min(bodies) == 0:
        raise ActionRefused(422, "A message needs a body.", "Enter at least one character.", field="body")
