"""Actions that deliver one stored message again: a copy to its topic, or the message itself to one listener."""

from sandbox.client.push_consumer import PushConsumer
from sandbox.cluster.actors.consumer_actor import ConsumerActor
from sandbox.cluster.broker_node import BrokerNode
from sandbox.cluster.cluster import Cluster
from sandbox.commands.executors import executes
from sandbox.commands.outcome import CarryOut
from sandbox.control.actions import ConsumeOnce, ResendMessage
from sandbox.journal.events import MessageConsumedOnce
from sandbox.kernel import json_bytes
from sandbox.kernel.errors import ActionRefused, CorruptRecord, SandboxError
from sandbox.message import properties
from sandbox.message.compression import decompress
from sandbox.message.message import Message, StoredMessage
from sandbox.message.topic_names import NOT_FOR_SENDING
from sandbox.queries.questions.chain import origin_topic
from sandbox.queries.questions.messages import message_at
from sandbox.queries.rows.stores import offset_msg_id
from sandbox.remoting.codes import RequestCode, ResponseCode
from sandbox.remoting.command import RemotingCommand

PATIENCE_MS = 15_000  # the broker waits ten seconds for the member (spec remoting 2.3)
NO_ANSWER = "NO_ANSWER"

_KEPT = (properties.KEYS, properties.TAGS)
_OWN = frozenset(value for name, value in vars(properties).items() if name.isupper() and value not in _KEPT)
"""Properties that RocketMQ itself writes: a copy gets its own."""


@executes(ResendMessage)
def resend(cluster: Cluster, action: ResendMessage) -> CarryOut:
    """Send a copy of a stored message like any message sent by hand; the journal has failures (`SendFailed`)."""
    _, stored = message_at(cluster, action.topic, action.broker, action.queue_id, action.offset)
    topic = origin_topic(stored)
    if topic in NOT_FOR_SENDING:
        raise ActionRefused(
            409, "Nothing can be sent to {topic}.", "The broker reserves this topic.", field="topic", topic=topic
        )
    try:
        body = decompress(stored.body, stored.sys_flag, cluster.limits.body_bytes)
    except CorruptRecord as error:
        raise ActionRefused(
            409, "The body of the message cannot be decompressed: {why}.", field="offset", why=str(error)
        ) from error
    kept = {name: value for name, value in stored.properties.items() if name not in _OWN}

    def carry_out(seq: int, by: str) -> None:
        copy = Message(topic, body, kept, stored.flag)
        coroutine = cluster.console.send([copy], per_s=None, selector=None, queue=None)
        cluster.actors.later(coroutine, f"resend to {topic}")

    return carry_out


@executes(ConsumeOnce)
def consume_once(cluster: Cluster, action: ConsumeOnce) -> CarryOut:
    """Send CONSUME_MESSAGE_DIRECTLY through the broker that has the message; `MessageConsumedOnce` has the result."""
    node, stored = message_at(cluster, action.topic, action.broker, action.queue_id, action.offset)
    client_id, group = _member(cluster, node, action)

    def carry_out(seq: int, by: str) -> None:
        coroutine = _consume(cluster, node, stored, client_id, group)
        cluster.actors.later(coroutine, f"consume once by {client_id}")

    return carry_out


def _member(cluster: Cluster, node: BrokerNode, action: ConsumeOnce) -> tuple[str, str]:
    """Return client id and group of the member.

    Raises ActionRefused (409) if it is offline, has no listener, or is in several groups.
    """
    actor = next(
        (
            actor
            for actor in cluster.actors.consumers()
            if action.client_id in (actor.label, actor.client_id) and action.group in (None, actor.group)
        ),
        None,
    )
    if actor is not None and actor.consumer is not None and not isinstance(actor.consumer, PushConsumer):
        raise ActionRefused(
            409,
            "{client} pulls messages itself and has no listener.",
            "Choose a push consumer.",
            field="client_id",
            client=actor.label,
        )
    client_id = actor.client_id if isinstance(actor, ConsumerActor) else action.client_id
    groups = sorted(name for name, group in node.running.consumers.groups.items() if client_id in group.members)
    wished = action.group or (actor.group if actor is not None else None)
    if wished is None and len(groups) > 1:
        raise ActionRefused(
            409,
            "{client} is a member of {groups}.",
            "Choose the group that consumes the message.",
            field="group",
            client=action.client_id,
            groups=", ".join(groups),
        )
    group = wished or (groups[0] if groups else None)
    if group is None or group not in groups:
        raise ActionRefused(
            409,
            "{broker} has no member {client} now.",
            "Choose a running member.",
            field="client_id",
            broker=node.node,
            client=action.client_id,
        )
    return client_id, group


async def _consume(cluster: Cluster, node: BrokerNode, stored: StoredMessage, client_id: str, group: str) -> None:
    ext = {"consumerGroup": group, "clientId": client_id, "msgId": offset_msg_id(stored), "brokerName": node.name}
    command = RemotingCommand(RequestCode.CONSUME_MESSAGE_DIRECTLY, ext)
    began_ms = cluster.clock.now_ms()
    try:
        instance = await cluster.console.instance()
        answer = await instance.connections.invoke(node.record.address, command, PATIENCE_MS)
        result, took_ms, remark = _said(answer)
    except SandboxError as error:
        result, took_ms, remark = NO_ANSWER, None, str(error)
    if took_ms is None:
        took_ms = cluster.clock.now_ms() - began_ms
    cluster.journal.write(
        MessageConsumedOnce(
            group, client_id, stored.topic, node.name, stored.queue_id, stored.queue_offset, result, took_ms, remark
        )
    )


def _said(answer: RemotingCommand) -> tuple[str, int | None, str | None]:
    """Return the listener's status, its time in ms and remark, or the broker's error code without a time."""
    if answer.code != ResponseCode.SUCCESS:
        known = answer.code in ResponseCode._value2member_map_
        return ResponseCode(answer.code).name if known else str(answer.code), None, answer.remark
    try:
        body = json_bytes.loads(answer.body or b"{}")
        return str(body["consumeResult"]), int(body["spentTimeMills"]), body.get("remark")
    except (json_bytes.JSONDecodeError, KeyError, TypeError, ValueError):
        return NO_ANSWER, None, "its answer cannot be read"
