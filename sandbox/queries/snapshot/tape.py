"""The end of a commit log, record by record."""

from sandbox.message.message import StoredMessage
from sandbox.message.topic_names import DEAD_LETTER_PREFIX, RETRY_PREFIX, SCHEDULE_TOPIC
from sandbox.queries.rows.storage import TapeRecord
from sandbox.store.message_store import MessageStore

LAST_RECORDS = 64


def topics_in_colour_order(store: MessageStore) -> list[str]:
    return sorted({topic for topic, _ in store.queues()}, key=lambda topic: (kind_of(topic) != "normal", topic))


def kind_of(topic: str) -> str:
    if topic.startswith(RETRY_PREFIX):
        return "retry"
    if topic.startswith(DEAD_LETTER_PREFIX):
        return "dead_letter"
    return "delay" if topic == SCHEDULE_TOPIC else "normal"


class Tape:
    """The last records of one log.  It keeps its position, so a reading reads only new records."""

    def __init__(self) -> None:
        self._rows: dict[int, TapeRecord] = {}
        self._next = 0

    def read(self, store: MessageStore) -> dict[str, TapeRecord]:
        if not self._rows or self._next > store.max_physical_offset or self._next < store.min_physical_offset:
            self._rows, self._next = {}, _start(store)
        for _, _, layout in store.log.walk(self._next, check_crc=False):
            message = store.read_message(layout.physical_offset)
            if message is None:
                break
            self._next = layout.physical_offset + layout.size
            self._rows[layout.physical_offset] = record_row(message)
        low = store.min_physical_offset
        self._rows = {at: row for at, row in list(self._rows.items())[-LAST_RECORDS:] if at >= low}
        return {str(physical): row for physical, row in self._rows.items()}


def record_row(message: StoredMessage) -> TapeRecord:
    return {
        "bytes": message.store_bytes,
        "topic": message.topic,
        "queue_id": message.queue_id,
        "queue_offset": str(message.queue_offset),
        "tags": message.properties.get("TAGS"),
        "key": message.properties.get("KEYS"),
        "kind": kind_of(message.topic),
    }


def _start(store: MessageStore) -> int:
    """Return the log position of the oldest of the last records, from the newest entries of the queues."""
    places: list[int] = []
    for topic, queue_id in store.queues():
        last = store.max_offset(topic, queue_id)
        for offset in range(max(0, store.min_offset(topic, queue_id), last - LAST_RECORDS), last):
            unit = store.unit(topic, queue_id, offset)
            if unit is not None and unit.physical_offset >= store.min_physical_offset:
                places.append(unit.physical_offset)
    places.sort()
    return places[-LAST_RECORDS:][0] if places else store.min_physical_offset
