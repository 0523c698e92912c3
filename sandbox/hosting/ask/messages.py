"""Messages and bytes, found by place, by id, by key, by time."""

from typing import TYPE_CHECKING, Any

from sandbox.control.questions import FindMessages, Locate, ReadEntry, ReadRecord
from sandbox.kernel.errors import ActionRefused
from sandbox.message import msg_id, record
from sandbox.message.compression import decompress
from sandbox.message.message import StoredMessage
from sandbox.message.queue import MessageQueue
from sandbox.message.sys_flag import COMPRESSED
from sandbox.store.message_store import MessageStore

if TYPE_CHECKING:
    from sandbox.hosting.sandbox import Sandbox

Row = dict[str, Any]

ROWS = 50  # of one answer
BODY_BYTES = 4_096  # shown of a body
ID_CHARS = (32, 56)


def read_record(sandbox: "Sandbox", question: ReadRecord) -> Row:
    """The bytes that begin there, and every field they hold."""
    store = sandbox.nodes.broker(question.broker).running.store
    raw = store.read(question.physical_offset)
    message = store.read_message(question.physical_offset)
    if raw is None or message is None:
        raise ActionRefused(404, "No record begins at {offset}.", "Choose a position from a queue entry.",
                            field="physical_offset", offset=question.physical_offset)
    return {"broker": question.broker, "physical_offset": str(question.physical_offset), "bytes": len(raw),
            "hex": raw.hex(), "message": full_row(message), "fields": record_fields(message),
            "position": _position(store, question.physical_offset)}


def read_entry(sandbox: "Sandbox", question: ReadEntry) -> Row:
    """The 20 bytes of a queue entry and what they mean."""
    store = sandbox.nodes.broker(question.broker).running.store
    unit = store.unit(question.topic, question.queue_id, question.offset)
    if unit is None and store.max_offset(question.topic, question.queue_id) == 0:
        raise ActionRefused(404, "Queue {queue} of {topic} holds nothing.", "Choose a queue with messages.",
                            field="queue_id", queue=f"{question.broker}:{question.queue_id}", topic=question.topic)
    if unit is None:
        raise ActionRefused(404, "{queue} has no entry {offset}.", "It has entries {low} to {high}.", field="offset",
                            queue=f"{question.broker}:{question.queue_id}", offset=question.offset,
                            low=store.min_offset(question.topic, question.queue_id),
                            high=store.max_offset(question.topic, question.queue_id) - 1)
    raw = unit.physical_offset.to_bytes(8, "big") + unit.store_bytes.to_bytes(4, "big") + unit.tags_code.to_bytes(
        8, "big", signed=True)
    message = store.read_message(unit.physical_offset)
    return {"topic": question.topic, "broker": question.broker, "queue_id": question.queue_id,
            "offset": str(question.offset), "hex": raw.hex(), "physical_offset": str(unit.physical_offset),
            "bytes": unit.store_bytes, "tags_code": str(unit.tags_code),
            "message": None if message is None else message_row(message)}


def locate(sandbox: "Sandbox", question: Locate) -> Row:
    """Which file holds the position (spec store-format 1).  Files of another size are sums only: nobody has them."""
    store = sandbox.nodes.broker(question.broker).running.store
    return {"broker": question.broker, "physical_offset": str(question.physical_offset),
            **_position(store, question.physical_offset, question.file_bytes)}


def _position(store: MessageStore, physical: int, file_bytes: int | None = None) -> Row:
    """`file_number` counts from 1, from the first file there ever was; `exists` is None for files nobody has."""
    own = store.config.commit_log_file_bytes
    size = file_bytes or own
    base = physical - physical % size
    exists = store.min_physical_offset <= physical < store.max_physical_offset if size == own else None
    return {"file": f"{base:020}", "file_number": str(base // size + 1), "file_begin": str(base),
            "file_bytes": str(size), "position": str(physical - base), "exists": exists}


def find(sandbox: "Sandbox", question: FindMessages) -> Row:
    """At most 50 rows; `cursor` goes on.  By id first, else by key, else the topic in order of time."""
    if question.id:
        rows = _by_id(sandbox, question)
        return {"rows": rows, "scanned": len(rows), "of": len(rows), "cursor": None}
    if not question.topic:
        raise ActionRefused(422, "Which topic?", "Choose one, or give a message id.", field="topic")
    if question.key:
        return _by_key(sandbox, question)
    return _by_time(sandbox, question)


def _by_id(sandbox: "Sandbox", question: FindMessages) -> list[Row]:
    """An offset id names its place; a unique id is looked up as a key."""
    assert question.id is not None
    text = question.id.strip()
    for node in sandbox.nodes.masters():
        store = node.running.store
        if len(text) in ID_CHARS:
            try:
                place = msg_id.decode(text)
            except ValueError:
                place = None
            message = store.read_message(place.physical_offset) if place is not None else None
            if message is not None and msg_id.host_text(place.host) == node.record.address:  # type: ignore[union-attr]
                return [full_row(message)]
        found = _query(store, question.topic, text)
        if found:
            return [full_row(message) for message in found]
    return []


def _by_key(sandbox: "Sandbox", question: FindMessages) -> Row:
    assert question.key is not None
    found = [message for node in sandbox.nodes.masters()
             for message in _query(node.running.store, question.topic, question.key)
             if question.key in message.properties.get("KEYS", "").split(" ")]
    rows = [message_row(message) for message in sorted(found, key=lambda message: message.store_ms)[:ROWS]]
    return {"rows": rows, "scanned": len(found), "of": len(found), "cursor": None}


def _query(store: MessageStore, topic: str | None, key: str) -> list[StoredMessage]:
    topics = [topic] if topic else sorted({name for name, _ in store.queues()})
    found: list[StoredMessage] = []
    for name in topics:
        for raw in store.query(name, key, 64, 0, 2**62).records:
            found.append(record.decode(raw))
    return [message for message in found if message.topic in topics]


def _by_time(sandbox: "Sandbox", question: FindMessages) -> Row:
    """Queue by queue from `from_ms` on.  One question looks at so many entries or works so long, then says where."""
    assert question.topic is not None
    queues = [(node.running.store, MessageQueue(topic, node.name, queue_id)) for node in sandbox.nodes.masters()
              for topic, queue_id in node.running.store.queues() if topic == question.topic]
    place, start = _cursor(question.cursor)
    rows: list[Row] = []
    scanned = 0
    until_s = sandbox.ground.wall.monotonic() + sandbox.limits.scan_ms / 1000
    total = sum(store.max_offset(mq.topic, mq.queue_id) - max(0, store.min_offset(mq.topic, mq.queue_id))
                for store, mq in queues)
    for index in range(place, len(queues)):
        store, mq = queues[index]
        offset = start if start is not None and index == place else _first(store, mq, question.from_ms)
        while offset < store.max_offset(mq.topic, mq.queue_id):
            if len(rows) >= ROWS or scanned >= sandbox.limits.scan_entries or sandbox.ground.wall.monotonic() > until_s:
                return {"rows": rows, "scanned": scanned, "of": total, "cursor": f"{index}:{offset}"}
            unit = store.unit(mq.topic, mq.queue_id, offset)
            message = store.read_message(unit.physical_offset) if unit is not None else None
            scanned += 1
            offset += 1
            if message is None:
                continue
            if question.to_ms is not None and message.store_ms > question.to_ms:
                break
            if _fits(message, question):
                rows.append(message_row(message))
    return {"rows": rows, "scanned": scanned, "of": total, "cursor": None}


def _fits(message: StoredMessage, question: FindMessages) -> bool:
    if question.from_ms is not None and message.store_ms < question.from_ms:
        return False
    return question.tag is None or message.properties.get("TAGS") == question.tag


def _first(store: MessageStore, mq: MessageQueue, from_ms: int | None) -> int:
    low = max(0, store.min_offset(mq.topic, mq.queue_id))
    return low if from_ms is None else max(low, store.offset_by_time(mq.topic, mq.queue_id, from_ms))


def _cursor(text: str | None) -> tuple[int, int | None]:
    if not text:
        return 0, None
    place, mark, offset = text.partition(":")
    if not (mark and place.isdecimal() and offset.isdecimal()):
        raise ActionRefused(422, "This cursor cannot be read.", "Start the search again.", field="cursor")
    return int(place), int(offset)


def message_row(message: StoredMessage) -> Row:
    """A message as lists show it."""
    ip, _, port = message.store_host.rpartition(":")
    return {"topic": message.topic, "queue_id": message.queue_id, "queue_offset": str(message.queue_offset),
            "physical_offset": str(message.physical_offset), "bytes": message.store_bytes,
            "keys": message.properties.get("KEYS"), "tags": message.properties.get("TAGS"),
            "msg_id": msg_id.encode(msg_id.host_bytes(ip, int(port)), message.physical_offset),
            "unique_key": message.properties.get("UNIQ_KEY"), "born_ms": message.born_ms,
            "store_ms": message.store_ms, "reconsume_times": message.reconsume_times}


def full_row(message: StoredMessage) -> Row:
    """The same with properties and body."""
    body = message.body
    if message.sys_flag & COMPRESSED:
        body = decompress(body, message.sys_flag)
    return {**message_row(message), "properties": message.properties, "body_bytes": len(body),
            "stored_body_bytes": len(message.body), "body": body[:BODY_BYTES].decode("utf-8", "replace"),
            "body_hex": body[:BODY_BYTES].hex(), "born_host": message.born_host, "store_host": message.store_host}


def record_fields(message: StoredMessage) -> Row:
    """Every fixed field of the record by its name (spec store-format 2.1)."""
    fields = message._asdict()
    del fields["body"], fields["properties"]
    return {name: str(value) if name in ("queue_offset", "physical_offset", "prepared_offset") else value
            for name, value in fields.items()}
