"""Checks that refuse fields without effect in their action, so that no requested field is silently ignored.

Every function raises ActionRefused (422) with the field, the reason and an alternative.
"""

from dataclasses import MISSING, fields
from typing import Any

from sandbox.client.subscription import Subscription
from sandbox.cluster.actors.consumer_actor import ConsumerActor
from sandbox.cluster.actors.producer_actor import ProducerActor
from sandbox.cluster.actors.strategies import NEED_MORE
from sandbox.cluster.actors.transaction_outcome import WAYS
from sandbox.control.actions import ChangeActor, SendMessages, StartConsumer, StartProducer
from sandbox.control.queue_row import row_parts
from sandbox.kernel.errors import ActionRefused, ClientError
from sandbox.message.filter import TAG

MADE_UP = ("rate_per_s", "key", "keys", "tag", "body_bytes")
"""Fields of a producer that a feed replaces."""

ROWS_SAY = ("count", "key", "tag", "body", "body_bytes")
"""Fields that each row of `SendMessages.rows` has itself."""

NOT_OF_A_PRODUCER = ("work_ms", "slow_key", "slow_queue", "slow_ms", "expression")
OF_TRANSACTIONS = ("fail_percent", "handler")
"""Fields of transactional producers only: how their transactions end."""


def given(action: Any, names: tuple[str, ...]) -> list[str]:
    """Return the names of those fields that differ from their default."""
    return [
        spec.name
        for spec in fields(action)
        if spec.name in names and spec.default is not MISSING and getattr(action, spec.name) != spec.default
    ]


def check_producer(action: StartProducer) -> None:
    if action.transactional and action.selector in ("hash", "queue"):
        raise _no("selector", "Half messages are sent to all queues in turn.", "Choose round_robin or avoid_faulty.")
    if (action.selector == "queue") != (action.queue is not None):
        raise _no(
            "queue",
            "A single queue requires the selector queue, and the selector queue requires a single queue.",
            "Enter both the single queue and the selector queue, or neither.",
        )
    if action.queue is not None:
        row_parts("queue", action.queue)
    if action.feed is None:
        if given(action, ("speed",)):
            raise _no("speed", "Only a feed has a speed.", "Enter a rate_per_s, or choose a feed.")
    elif ignored := given(action, MADE_UP):
        raise _no(
            ignored[0],
            "A feed has its own pace, keys, tags and bodies.",
            "Omit this field; change the speed of the feed.",
        )
    if action.keys and given(action, ("key",)):
        raise _no("keys", "Keys come from a pattern or from a list, not both.", "Keep the pattern or the list.")


DEPRECATED = (
    "CONSUME_FROM_LAST_OFFSET_AND_FROM_MIN_WHEN_BOOT_FIRST",
    "CONSUME_FROM_MIN_OFFSET",
    "CONSUME_FROM_MAX_OFFSET",
)


def check_consumer(action: StartConsumer) -> None:
    if action.from_where in DEPRECATED:
        raise _no(
            "from_where",
            "{value} is deprecated: RocketMQ treats it as CONSUME_FROM_LAST_OFFSET.",
            "Choose CONSUME_FROM_LAST_OFFSET.",
            value=action.from_where,
        )
    if action.timestamp is not None and action.from_where != "CONSUME_FROM_TIMESTAMP":
        raise _no(
            "timestamp", "A start time requires from_where CONSUME_FROM_TIMESTAMP.", "Choose CONSUME_FROM_TIMESTAMP."
        )
    if action.timestamp is not None and action.timestamp < 0:
        raise _no("timestamp", "A time counts from 1970 and is not negative.", "Enter milliseconds since 1970.")
    if action.strategy in NEED_MORE:
        raise _no(
            "strategy",
            "{strategy} needs queue lists or machine rooms, which belong to the group.",
            "Start the members, then set the group's strategy.",
            strategy=action.strategy,
        )
    if action.model == "BROADCASTING":
        for name in given(action, ("strategy", "room")):
            raise _no(name, "A broadcasting member reads all queues: no assignment is needed.", "Omit this field.")
    if not 1 <= len(action.work_ms) <= 2:
        raise _no(
            "work_ms", "The processing time is one number, or a minimum and a maximum.", "Enter one or two numbers."
        )
    topics = [subscription.topic for subscription in action.subscriptions]
    if len(set(topics)) < len(topics):
        raise _no("subscriptions", "A consumer subscribes to a topic only once.", "Join the tags with ||.")
    for subscription in action.subscriptions:
        check_expression("subscriptions", subscription.expression, subscription.kind)


def check_change(change: ChangeActor, actor: "ConsumerActor | ProducerActor") -> None:
    wished = [name for name in given_changes(change) if name != "actor"]
    if not wished:
        raise _no("actor", "Nothing to change.", "Enter at least one field.")
    others: tuple[str, ...] = ("rate_per_s", "speed")
    if isinstance(actor, ProducerActor):
        others = NOT_OF_A_PRODUCER if actor.settings.transactional else (*NOT_OF_A_PRODUCER, *OF_TRANSACTIONS)
    for name in wished:
        if name in others:
            raise _no(
                name,
                "{actor} is a {kind} and has no {field}.",
                "Choose another actor.",
                actor=actor.label,
                kind=actor.kind,
            )
    if isinstance(actor, ProducerActor):
        if change.handler is not None and change.handler not in WAYS:
            raise _no(
                "handler",
                "{handler} is not a way to end a transaction.",
                "Use undecided or silent.",
                handler=change.handler,
            )
        wrong = "rate_per_s" if actor.settings.feed is not None else "speed"
        if wrong in wished:
            raise _no(
                wrong,
                "A producer with a feed has a speed; without a feed, it has a rate.",
                "With a feed, change the speed; without a feed, change the rate.",
            )
        return
    if change.slow_ms is not None and change.slow_key is None and change.slow_queue is None:
        raise _no("slow_key", "A slow key needs a name.", "Enter the key of a message, or make all messages slow.")
    if change.slow_key is not None and change.slow_queue is not None:
        raise _no(
            "slow_queue",
            "A member has one slow message, set by key or by queue.",
            "Set only the key or only the queue.",
        )
    if change.slow_queue is not None:
        row_parts("slow_queue", change.slow_queue)
    if change.work_ms is not None and not 1 <= len(change.work_ms) <= 2:
        raise _no(
            "work_ms", "The processing time is one number, or a minimum and a maximum.", "Enter one or two numbers."
        )
    if change.expression is not None:
        for kind in sorted({subscription.kind for subscription in actor.settings.subscriptions}):
            check_expression("expression", change.expression, kind)


def given_changes(change: ChangeActor) -> list[str]:
    return [spec.name for spec in fields(change) if getattr(change, spec.name) is not None]


def check_messages(action: SendMessages) -> None:
    if action.rows and (ignored := given(action, ROWS_SAY)):
        raise _no(ignored[0], "Each row sets this field itself.", "Omit this field, or omit the rows.")
    if action.body is not None and given(action, ("body_bytes",)):
        raise _no("body_bytes", "The body already has a fixed length.", "Omit the body, or omit its length.")
    if action.batch and (action.delay_level or action.rate_per_s):
        raise _no("batch", "A batch has no delay and no rate.", "Omit the batch, or omit the delay and the rate.")
    if (action.batch or action.queue) and action.selector != "round_robin":
        raise _no(
            "selector",
            "A batch goes to one queue, as does a message with a given queue: no selector is needed.",
            "Omit this field.",
        )
    for row in action.rows:
        if row.born_ms is not None and (action.batch or row.born_ms < 0):
            raise _no(
                "born_ms",
                "All messages of a batch have the same birth time, and no birth time is before 1970.",
                "Send the rows one by one, with milliseconds since 1970.",
            )


def check_expression(field: str, expression: str, kind: str) -> None:
    """Run the client's own checks of an expression.  The broker checks whether a SQL92 expression compiles."""
    try:
        Subscription("topic", expression, version=0, expression_type=kind)
    except ClientError as error:
        if kind == TAG:
            raise _no(field, "{why}.", "Use * or tags joined by ||.", why=str(error)) from error
        raise _no(field, "{why}.", "Enter a condition, for example TAGS = 'paid'.", why=str(error)) from error


def _no(field: str, message: str, hint: str, **values: object) -> ActionRefused:
    return ActionRefused(422, message, hint, field=field, **values)
