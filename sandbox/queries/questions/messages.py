"""One message and its bytes by position (questions `read-record`, `read-entry`, `locate`)."""

from sandbox.cluster.broker_node import BrokerNode
from sandbox.cluster.cluster import Cluster
from sandbox.control.questions import Locate, ReadEntry, ReadRecord
from sandbox.kernel.errors import ActionRefused
from sandbox.message import properties
from sandbox.message.message import StoredMessage
from sandbox.queries.questions.answers import answers
from sandbox.queries.questions.life import life_of
from sandbox.queries.rows.messages import full_row, message_row, record_fields, record_parts
from sandbox.store.config import CONSUME_QUEUE_UNIT_BYTES as UNIT_BYTES
from sandbox.store.message_store import MessageStore
from sandbox.store.results import QueueUnit

Row = dict[str, object]

AROUND_MS = 1_000  # index entries count whole seconds
KEYS_SHOWN = 16  # of one message


@answers(ReadRecord)
def read_record(cluster: Cluster, question: ReadRecord) -> Row:
    """Return everything about the message whose record begins at a log position.

    {"broker", "physical_offset" (text), "bytes", "hex" (the whole record), "message" (`rows.messages.full_row`),
     "fields" (by their names), "parts" (`rows.messages.record_parts`),
     "position": {"file", "file_number", "file_begin", "file_bytes", "position", "exists"},
     "entry": {"hex" (20 bytes), "physical_offset", "bytes", "tags_code", "position" (offset × 20), "file",
       "position_in_file"} or None: it has none,
     "index": [{"key", "unique", "file", "no", "slot", "position"}], one per key whose entry still exists,
     "life": `life.life_of`}.
    Of a cluster that was attached, `position`, `entry` and `index` are None where its brokers do not report them.
    """
    store = cluster.nodes.broker(question.broker).running.store
    raw = store.read(question.physical_offset)
    message = store.read_message(question.physical_offset)
    if raw is None or message is None:
        raise ActionRefused(
            404,
            "No record begins at {offset}.",
            "Choose a position from a queue entry.",
            field="physical_offset",
            offset=question.physical_offset,
        )
    unit = store.unit(message.topic, message.queue_id, message.queue_offset)
    own = unit is not None and unit.physical_offset == message.physical_offset
    return {
        "broker": question.broker,
        "physical_offset": str(question.physical_offset),
        "bytes": len(raw),
        "hex": raw.hex(),
        "message": full_row(message, question.broker),
        "fields": record_fields(message),
        "parts": record_parts(raw),
        "position": _position(store, question.physical_offset),
        "entry": _entry(store, message, unit) if unit is not None and own else None,
        "index": _index_entries(store, message),
        "life": life_of(cluster, question.broker, message),
    }


@answers(ReadEntry)
def read_entry(cluster: Cluster, question: ReadEntry) -> Row:
    """Return the 20 bytes of a queue entry and their meaning."""
    store = cluster.nodes.broker(question.broker).running.store
    unit = entry_of(store, question.topic, question.broker, question.queue_id, question.offset)
    message = store.read_message(unit.physical_offset)
    return {
        "topic": question.topic,
        "broker": question.broker,
        "queue_id": question.queue_id,
        "offset": str(question.offset),
        **_unit(unit),
        "message": None if message is None else message_row(message, question.broker),
    }


def entry_of(
    store: MessageStore, topic: str, broker: str, queue_id: int, offset: int, *, queue_field: str = "queue_id"
) -> QueueUnit:
    """Return the queue entry at an offset.  Raises ActionRefused (404) for an empty queue or an offset outside it."""
    unit = store.unit(topic, queue_id, offset)
    if unit is None and store.max_offset(topic, queue_id) == 0:
        raise ActionRefused(
            404,
            "Queue {queue} of {topic} is empty.",
            "Choose a queue with messages.",
            field=queue_field,
            queue=f"{broker}:{queue_id}",
            topic=topic,
        )
    if unit is None:
        raise ActionRefused(
            404,
            "{queue} has no entry {offset}.",
            "The queue has entries {low} to {high}.",
            field="offset",
            queue=f"{broker}:{queue_id}",
            offset=offset,
            low=store.min_offset(topic, queue_id),
            high=store.max_offset(topic, queue_id) - 1,
        )
    return unit


def message_at(
    cluster: Cluster, topic: str, broker: str, queue_id: int, offset: int, *, queue_field: str = "queue_id"
) -> tuple[BrokerNode, StoredMessage]:
    """Return the message of a queue entry, and its broker.

    Raises ActionRefused (404; 409 if the broker is down).
    """
    node = cluster.nodes.broker(broker)
    unit = entry_of(node.running.store, topic, broker, queue_id, offset, queue_field=queue_field)
    message = node.running.store.read_message(unit.physical_offset)
    if message is None:
        raise ActionRefused(
            404,
            "The record of {queue} at {offset} is no longer in the commit log.",
            "The log file of the record was deleted; the queue entry is kept longer.",
            field="offset",
            queue=f"{broker}:{queue_id}",
            offset=offset,
        )
    return node, message


@answers(Locate)
def locate(cluster: Cluster, question: Locate) -> Row:
    """Return the log file that contains a position (spec store-format 1).

    A question with another file size gets the name of a file that does not exist.
    """
    store = cluster.nodes.broker(question.broker).running.store
    return {
        "broker": question.broker,
        "physical_offset": str(question.physical_offset),
        **_position(store, question.physical_offset, question.file_bytes),
    }


def _position(store: MessageStore, physical: int, file_bytes: int | None = None) -> Row:
    """Return the file of a log position and the position in it.

    `file_number` counts from 1, from the first file that ever existed; `exists` is None for files of another size.
    """
    own = store.config.commit_log_file_bytes
    size = file_bytes or own
    base = physical - physical % size
    exists = store.min_physical_offset <= physical < store.max_physical_offset if size == own else None
    return {
        "file": f"{base:020}",
        "file_number": str(base // size + 1),
        "file_begin": str(base),
        "file_bytes": str(size),
        "position": str(physical - base),
        "exists": exists,
    }


def _unit(unit: QueueUnit) -> Row:
    raw = (
        unit.physical_offset.to_bytes(8, "big")
        + unit.store_bytes.to_bytes(4, "big")
        + unit.tags_code.to_bytes(8, "big", signed=True)
    )
    return {
        "hex": raw.hex(),
        "physical_offset": str(unit.physical_offset),
        "bytes": unit.store_bytes,
        "tags_code": str(unit.tags_code),
    }


def _entry(store: MessageStore, message: StoredMessage, unit: QueueUnit) -> Row:
    at, size = message.queue_offset * UNIT_BYTES, store.config.consume_queue_file_bytes
    return {**_unit(unit), "position": str(at), "file": f"{at - at % size:020}", "position_in_file": str(at % size)}


def _index_entries(store: MessageStore, message: StoredMessage) -> list[Row]:
    """Return the index entries of each key of the message: the unique key first, then KEYS in their order."""
    unique, keys = message.properties.get(properties.UNIQ_KEY), message.properties.get(properties.KEYS, "")
    named = [(unique, True)] if unique else []
    named += [(key, False) for key in dict.fromkeys(keys.split(properties.KEY_SEPARATOR)) if key]
    rows: list[Row] = []
    for key, is_unique in named[:KEYS_SHOWN]:
        walk = store.index.walk(message.topic, key, message.store_ms - AROUND_MS, message.store_ms + AROUND_MS)
        rows += [
            {
                "key": key,
                "unique": is_unique,
                "file": file.name,
                "no": step.no,
                "slot": file.slot,
                "position": step.position,
            }
            for file in walk.files
            for step in file.chain
            if step.physical_offset == message.physical_offset and step.hash == walk.hash
        ][:1]
    return rows
