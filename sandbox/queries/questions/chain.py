"""The records that carry one message: the original, and its half, delayed, retry and dead-letter copies."""

from typing import Any

from sandbox.cluster.broker_node import BrokerNode
from sandbox.cluster.cluster import Cluster
from sandbox.message import properties
from sandbox.message.message import StoredMessage
from sandbox.message.topic_names import DEAD_LETTER_PREFIX, HALF_TOPIC, RETRY_PREFIX, SCHEDULE_TOPIC
from sandbox.queries.questions.keys import records_by_key
from sandbox.queries.rows.messages import message_row

Row = dict[str, Any]

STEPS = 200  # shown of a chain

_COPIES = (RETRY_PREFIX, DEAD_LETTER_PREFIX)


def chain_of(cluster: Cluster, broker: str, message: StoredMessage) -> list[Row]:
    """Return every record with the same unique key in the topics that carry copies, oldest first.

    Each is `message_row` and {"what": stored | half | delayed | retry | dead_letter, "group" (the group of a retry
    or dead letter; None: of no group), "here" (the record of the question), "delay_level", "due_ms", "delivered" (of
    a delayed one: it was moved on), "to" (the topic to which a delayed or half one goes)}.  Copies share the key
    because the broker copies all properties (spec broker-behaviour 2.2).  Without a key the result is the record
    alone.
    """
    unique = message.properties.get(properties.UNIQ_KEY)
    met: dict[tuple[str, int], tuple[BrokerNode, StoredMessage]] = {}
    for node in cluster.nodes.masters():
        for copy in _copies(node, message, unique) if unique else ():
            met[node.name, copy.physical_offset] = node, copy
    node = next((each for each in cluster.nodes.masters() if each.name == broker), cluster.nodes.broker(broker))
    met[broker, message.physical_offset] = node, message
    ordered = sorted(met.items(), key=lambda item: (item[1][1].store_ms, item[0]))
    return [{**_step(*step), "here": key == (broker, message.physical_offset)} for key, step in ordered][:STEPS]


def origin_topic(message: StoredMessage) -> str:
    """Return the topic to which an application sent the message, also for a copy in another topic."""
    values = message.properties
    moved = message.topic in (SCHEDULE_TOPIC, HALF_TOPIC)
    return values.get(properties.RETRY_TOPIC) or (values.get(properties.REAL_TOPIC) if moved else None) or message.topic


def _copies(node: BrokerNode, message: StoredMessage, unique: str) -> list[StoredMessage]:
    store = node.running.store
    names = {origin_topic(message), message.topic, SCHEDULE_TOPIC, HALF_TOPIC}
    topics = sorted({name for name, _ in store.queues() if name in names or name.startswith(_COPIES)})
    return [
        copy
        for topic in topics
        for copy in records_by_key(store, topic, unique)
        if copy.properties.get(properties.UNIQ_KEY) == unique
    ]


def _step(node: BrokerNode, message: StoredMessage) -> Row:
    row = {
        **message_row(message, node.name),
        "what": "stored",
        "group": None,
        "delay_level": None,
        "due_ms": None,
        "delivered": None,
        "to": None,
    }
    topic, to = message.topic, message.properties.get(properties.REAL_TOPIC)
    if topic == SCHEDULE_TOPIC:
        level = message.queue_id + 1
        unit = node.running.store.unit(topic, message.queue_id, message.queue_offset)
        return {
            **row,
            "what": "delayed",
            "to": to,
            "delay_level": level,
            "group": to.removeprefix(RETRY_PREFIX) if to is not None and to.startswith(RETRY_PREFIX) else None,
            "due_ms": None if unit is None else unit.tags_code,  # here the tags code is the delivery time
            "delivered": node.running.delay.table.get(level, 0) > message.queue_offset,
        }
    if topic == HALF_TOPIC:
        return {**row, "what": "half", "to": to}
    for prefix, what in zip(_COPIES, ("retry", "dead_letter"), strict=True):
        if topic.startswith(prefix):
            return {**row, "what": what, "group": topic.removeprefix(prefix)}
    return row
