"""Start offset of the next owner of a queue, with the decisions that lead to it (docs/spec/catalogue.md 2)."""

from sandbox.broker.broker import Broker
from sandbox.client.config import TIMESTAMP_BACK_MS, ConsumeFromWhere
from sandbox.client.start_offset import BY_TIME, LAST, RETRY_LAST, RETRY_ZERO, ZERO, without_record
from sandbox.control.actions import StartConsumer
from sandbox.message.queue import MessageQueue
from sandbox.queries.rows.groups import GroupView


def beginning(
    broker: Broker, group: str, mq: MessageQueue, where: ConsumeFromWhere, since_ms: int
) -> tuple[list[str], int]:
    """Return the codes of the decisions and the start offset, as the broker would answer now."""
    stored = broker.consumer_offsets.get(group, mq.topic, mq.queue_id)
    if stored is not None:
        return ["stored"], stored
    if broker.store.min_offset(mq.topic, mq.queue_id) <= 0 and broker.store.first_in_memory(mq.topic, mq.queue_id):
        return ["zero_in_memory"], 0
    code, offset = _without_record(broker, mq, where, since_ms)
    return ["not_found", code], offset


def beginning_of_next(view: GroupView, mq: MessageQueue, settings: StartConsumer, now_ms: int) -> int | None:
    """Return the offset at which a member with these settings would begin.

    Return None while the queue's broker and its slaves are down.
    """
    broker = view.answering.get(mq.broker)
    if broker is None:
        return None
    where = ConsumeFromWhere(settings.from_where)
    since_ms = now_ms - TIMESTAMP_BACK_MS if settings.timestamp is None else settings.timestamp
    if settings.offset_store == "memory":  # a new process remembers nothing and asks no broker
        return _without_record(broker, mq, where, since_ms)[1]
    return beginning(broker, view.group, mq, where, since_ms)[1]


def _without_record(broker: Broker, mq: MessageQueue, where: ConsumeFromWhere, since_ms: int) -> tuple[str, int]:
    code = without_record(mq.topic, where)
    if code == BY_TIME:
        return code, broker.store.offset_by_time(mq.topic, mq.queue_id, since_ms)
    high = broker.store.max_offset(mq.topic, mq.queue_id)
    return code, {LAST: high, RETRY_LAST: high, ZERO: 0, RETRY_ZERO: 0}[code]
