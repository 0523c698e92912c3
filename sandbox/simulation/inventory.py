"""A reader of all messages of a store through its queues."""

from sandbox.message import properties
from sandbox.message.queue import MessageQueue
from sandbox.message.topic_names import HALF_TOPIC, SCHEDULE_TOPIC
from sandbox.simulation.observed import Inventory, Place, QueueEnds, Stored
from sandbox.store.message_store import MessageStore


def take_inventory(store: MessageStore, node: str, now_ms: int) -> Inventory:
    """Return every entry of every queue of the store, with its record."""
    ends: dict[MessageQueue, QueueEnds] = {}
    messages: dict[Place, Stored] = {}
    for topic, queue_id in store.queues():
        queue = MessageQueue(topic, store.broker, queue_id)
        low, high = store.min_offset(topic, queue_id), store.max_offset(topic, queue_id)
        ends[queue] = QueueEnds(low, high)
        for offset in range(max(0, low), high):
            unit = store.unit(topic, queue_id, offset)
            message = store.read_message(unit.physical_offset) if unit is not None else None
            if unit is None or message is None:
                continue
            texts = message.properties
            messages[queue, offset] = Stored(
                queue,
                offset,
                unit.physical_offset,
                unit.store_bytes,
                texts.get(properties.UNIQ_KEY, ""),
                texts.get(properties.KEYS, ""),
                texts.get(properties.TAGS, ""),
                texts.get(properties.REAL_TOPIC, "") if topic in (SCHEDULE_TOPIC, HALF_TOPIC) else "",
                unit.tags_code if topic == SCHEDULE_TOPIC else 0,
            )
    by_position = {stored.physical_offset: stored for stored in messages.values()}
    return Inventory(
        node,
        now_ms,
        ends,
        messages,
        by_position,
        store.min_physical_offset,
        store.flushed_offset,
        store.max_physical_offset,
    )
