"""Messages that a broker's index returns for a key, decoded."""

from sandbox.kernel.errors import CorruptRecord
from sandbox.message import record
from sandbox.message.message import StoredMessage
from sandbox.store.message_store import MessageStore

FOUND_BY_KEY = 64  # messages of one topic; a broker returns at most so many (spec store-format 5)
FOREVER_MS = 2**62


def records_by_key(
    store: MessageStore, topic: str, key: str, begin_ms: int = 0, end_ms: int = FOREVER_MS
) -> list[StoredMessage]:
    """Return the topic's messages for the key, in log order.

    Messages of other keys with the same hash are included, as in a broker's answer.
    """
    messages: list[StoredMessage] = []
    for raw in store.query(topic, key, FOUND_BY_KEY, begin_ms, end_ms).records:
        try:
            message = record.decode(raw)
        except CorruptRecord:
            continue
        if message.topic == topic:
            messages.append(message)
    return messages
