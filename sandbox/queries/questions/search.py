"""The search for messages by id, key, position or time (question `find-messages`)."""

from typing import NamedTuple

from sandbox.cluster.cluster import Cluster
from sandbox.control.questions import FindMessages
from sandbox.control.queue_row import row_parts
from sandbox.kernel.errors import ActionRefused
from sandbox.message import msg_id, properties
from sandbox.message.message import StoredMessage
from sandbox.message.queue import MessageQueue
from sandbox.message.string_hash import tags_code
from sandbox.message.topic_names import SCHEDULE_TOPIC
from sandbox.queries.questions.answers import answers
from sandbox.queries.questions.keys import FOREVER_MS, FOUND_BY_KEY, records_by_key
from sandbox.queries.questions.messages import message_at
from sandbox.queries.rows.body_json import has_field, is_pointer
from sandbox.queries.rows.messages import full_row, message_row
from sandbox.store.message_store import MessageStore

Row = dict[str, object]

ROWS = 50  # of one answer


class Found(NamedTuple):
    """A message, and the broker that stores it."""

    broker: str
    message: StoredMessage


class Cursor(NamedTuple):
    """The position where a search continues: the queue's index, the offset in it, and the counts so far."""

    place: int
    offset: int | None
    scanned: int
    found: int
    not_compared: int = 0

    @classmethod
    def of(cls, text: str | None) -> "Cursor":
        """Return the cursor in a text; the start without one.  Raises ActionRefused (422) if it is invalid."""
        if not text:
            return cls(0, None, 0, 0)
        parts = text.split(":")
        if len(parts) != len(cls._fields) or not all(part.isdecimal() and len(part) < 20 for part in parts):
            raise ActionRefused(422, "This cursor is not valid.", "Start the search again.", field="cursor")
        return cls(*map(int, parts))

    def __str__(self) -> str:
        return ":".join(str(part or 0) for part in self)


@answers(FindMessages)
def find(cluster: Cluster, question: FindMessages) -> Row:
    """Return at most 50 matching messages, and the progress of the search.

    {"by": "id" | "key" | "place" | "time", "rows": [`rows.messages.message_row`; by id and by place
    `rows.messages.full_row`], "scanned": entries that this answer read, "scanned_in_all" and "found_in_all": with
    the answers before it, "of": entries to read in total (None: unknown), "not_compared": by time, with the answers
    before it, messages whose bodies are too long or damaged to compare `field`, "cursor": the value that continues
    the search (None: complete), "more": by key, a broker may have more messages than it returns}.

    `id` is an offset id, which names a broker and a position in its log, or a unique key, which the index has.  A
    search by time reads queue by queue, oldest first, from `from_ms` on; one answer ends after `scan_entries`
    entries or `scan_ms` milliseconds.  Raises ActionRefused: 422 for fields that exclude each other, 404 for a
    position without a message.
    """
    if question.id:
        rows = [full_row(match.message, match.broker) for match in by_id(cluster, question.id, question.topic)]
        return _all("id", rows)
    if not question.topic:
        raise ActionRefused(422, "The topic is missing.", "Choose a topic, or enter a message ID.", field="topic")
    if question.key:
        return _by_key(cluster, question)
    if question.offset is not None:
        return _by_place(cluster, question)
    return _by_time(cluster, question)


def by_id(cluster: Cluster, text: str, topic: str | None = None) -> list[Found]:
    """Return the messages with an id.

    An offset id names its position.  Any other text is looked up as a unique key, in one topic or in all, oldest first.
    """
    text = text.strip()
    message_id = _place(text)
    for node in cluster.nodes.masters() if message_id is not None else ():
        assert message_id is not None
        message = node.running.store.read_message(message_id.physical_offset)
        if message is not None and node.record.is_named(msg_id.host_text(message_id.host)):
            return [Found(node.name, message)]
    met = _query(cluster, topic, text)
    return [match for match in met if match.message.properties.get(properties.UNIQ_KEY) == text]


def why_not(cluster: Cluster, text: str) -> Row:
    """Return the reason why `by_id` finds nothing: {"code", and the values for the sentence}.

    `not_indexed`: no offset id, and no unique key of the index; `other_broker` (`address`); `broker_down`
    (`broker`); `deleted` and `beyond_end` (`broker`, `physical_offset`, `low`, `high` of its log); `no_record` (the
    same): the id points between two records.
    """
    message_id = _place(text.strip())
    if message_id is None:
        return {"code": "not_indexed"}
    address = msg_id.host_text(message_id.host)
    node = next((node for node in cluster.nodes.brokers if node.record.is_named(address)), None)
    if node is None:
        known = cluster.nodes.masters()
        return {"code": "other_broker", "address": address, "known": ", ".join(node.record.address for node in known)}
    if node.broker is None:
        return {"code": "broker_down", "broker": node.node}
    store, physical = node.running.store, message_id.physical_offset
    values = {
        "broker": node.node,
        "physical_offset": str(physical),
        "low": str(store.min_physical_offset),
        "high": str(store.max_physical_offset),
    }
    if physical < store.min_physical_offset:
        return {"code": "deleted", **values}
    return {"code": "beyond_end" if physical >= store.max_physical_offset else "no_record", **values}


def _place(text: str) -> msg_id.OffsetId | None:
    try:
        return msg_id.decode(text)
    except ValueError:
        return None


def _all(by: str, rows: list[Row], *, more: bool = False) -> Row:
    return {
        "by": by,
        "rows": rows[:ROWS],
        "scanned": len(rows),
        "scanned_in_all": len(rows),
        "found_in_all": len(rows[:ROWS]),
        "of": len(rows),
        "cursor": None,
        "more": more or len(rows) > ROWS,
    }


def _by_key(cluster: Cluster, question: FindMessages) -> Row:
    """Return the messages that the index has for the key.

    Other keys with the same hash are removed, as a client does.
    """
    assert question.key is not None
    begin_ms, end_ms = question.from_ms or 0, FOREVER_MS if question.to_ms is None else question.to_ms
    met = _query(cluster, question.topic, question.key, begin_ms, end_ms)
    rows = [message_row(match.message, match.broker) for match in met if _has_key(match.message, question.key)]
    return _all("key", rows, more=len(met) >= FOUND_BY_KEY)


def _has_key(message: StoredMessage, key: str) -> bool:
    return (
        key in message.properties.get(properties.KEYS, "").split(properties.KEY_SEPARATOR)
        or message.properties.get(properties.UNIQ_KEY) == key
    )


def _query(cluster: Cluster, topic: str | None, key: str, begin_ms: int = 0, end_ms: int = FOREVER_MS) -> list[Found]:
    """Return the messages with the key by store time; without a topic, those of all topics."""
    matches: list[Found] = []
    for node in cluster.nodes.masters():
        store = node.running.store
        for name in [topic] if topic else sorted({name for name, _ in store.queues()}):
            matches += [Found(node.name, message) for message in records_by_key(store, name, key, begin_ms, end_ms)]
    return sorted(matches, key=lambda each: (each.message.store_ms, each.broker, each.message.physical_offset))


def _by_place(cluster: Cluster, question: FindMessages) -> Row:
    assert question.topic is not None
    assert question.offset is not None
    if question.queue is None:
        raise ActionRefused(
            422,
            "The queue is missing.",
            "An offset is valid within one queue: choose a broker and a queue number.",
            field="queue",
        )
    broker, queue_id = row_parts("queue", question.queue)
    _, message = message_at(cluster, question.topic, broker, queue_id, question.offset, queue_field="queue")
    return _all("place", [full_row(message, broker)])


def _by_time(cluster: Cluster, question: FindMessages) -> Row:
    """Search queue by queue from `from_ms` on.

    One answer reads a limited number of entries for a limited time, then returns the cursor of its position.
    """
    queues = _queues(cluster, question)
    cursor = Cursor.of(question.cursor)
    begins = [_first(store, mq, question.from_ms) for store, mq in queues]
    of = sum(
        max(0, store.max_offset(mq.topic, mq.queue_id) - first)
        for (store, mq), first in zip(queues, begins, strict=True)
    )
    check_field(question)
    rows: list[Row] = []
    scanned, not_compared, wall = 0, cursor.not_compared, cluster.environment.outside
    until_s = wall.monotonic() + cluster.limits.scan_ms / 1000
    by_hash = question.tag is not None and question.topic != SCHEDULE_TOPIC  # its entries have a time, no hash
    wanted_code = tags_code(question.tag or "") if by_hash else None

    def answer(going_on: Cursor | None) -> Row:
        return {
            "by": "time",
            "rows": rows,
            "scanned": scanned,
            "scanned_in_all": cursor.scanned + scanned,
            "found_in_all": cursor.found + len(rows),
            "of": of,
            "not_compared": not_compared,
            "more": False,
            "cursor": None if going_on is None else str(going_on),
        }

    for position in range(cursor.place, len(queues)):
        store, mq = queues[position]
        resumed = cursor.offset if position == cursor.place else None
        offset = begins[position] if resumed is None else max(resumed, begins[position])
        while offset < store.max_offset(mq.topic, mq.queue_id):
            if len(rows) >= ROWS or scanned >= cluster.limits.scan_entries or wall.monotonic() > until_s:
                counts = cursor.scanned + scanned, cursor.found + len(rows), not_compared
                return answer(Cursor(position, offset, *counts))
            unit = store.unit(mq.topic, mq.queue_id, offset)
            scanned += 1
            offset += 1
            if unit is None or (wanted_code is not None and unit.tags_code != wanted_code):
                continue
            message = store.read_message(unit.physical_offset)
            if message is None:
                continue
            if question.to_ms is not None and message.store_ms > question.to_ms:
                break
            match = fits(message, question)
            not_compared += match is None
            if match:
                rows.append(message_row(message, mq.broker))
    return answer(None)


def _queues(cluster: Cluster, question: FindMessages) -> list[tuple[MessageStore, MessageQueue]]:
    """Return the queues of the topic, or only the named one.  Raises ActionRefused (404) if that does not exist."""
    queues = [
        (node.running.store, MessageQueue(topic, node.name, queue_id))
        for node in cluster.nodes.masters()
        for topic, queue_id in node.running.store.queues()
        if topic == question.topic
    ]
    if question.queue is None:
        return queues
    row_parts("queue", question.queue)
    chosen = [pair for pair in queues if pair[1].row == question.queue]
    if not chosen:
        raise ActionRefused(
            404,
            "Queue {queue} of {topic} is empty.",
            "Choose a queue with messages.",
            field="queue",
            queue=question.queue,
            topic=question.topic,
        )
    return chosen


def check_field(question: FindMessages) -> None:
    """Raises ActionRefused (422) if the field is no JSON Pointer."""
    if question.value is not None and question.field is None:
        raise ActionRefused(422, "The field is missing.", "Write a path such as /customer/id.", field="field")
    if question.field is not None and not is_pointer(question.field):
        raise ActionRefused(422, "This field is not a path.", "Write a path such as /customer/id.", field="field")


def fits(message: StoredMessage, question: FindMessages) -> bool | None:
    """Return True if a message is as a search by time asks.  None: unknown, its body was not compared."""
    if question.from_ms is not None and message.store_ms < question.from_ms:
        return False
    if question.tag is not None and message.properties.get(properties.TAGS) != question.tag:
        return False
    if question.field is None:
        return True
    return has_field(message.body, message.sys_flag, question.field, question.value)


def _first(store: MessageStore, mq: MessageQueue, from_ms: int | None) -> int:
    low = max(0, store.min_offset(mq.topic, mq.queue_id))
    return low if from_ms is None else max(low, store.offset_by_time(mq.topic, mq.queue_id, from_ms))
