"""Search for messages of a real cluster by id, key, position or time, and the bytes of one record."""

from sandbox.attached.picture import Picture
from sandbox.attached.reach import Reach
from sandbox.attached.topic_places import brokers_with
from sandbox.control.limits import AttachedLimits
from sandbox.control.questions import FOREVER_MS, FindMessages, ReadEntry, ReadRecord, WalkIndex
from sandbox.control.queue_row import row_parts
from sandbox.kernel.errors import ActionRefused, BrokerRefused, CorruptRecord
from sandbox.message import msg_id, properties, record
from sandbox.message.message import StoredMessage
from sandbox.message.queue import MessageQueue
from sandbox.message.string_hash import index_key_hash, java_hash
from sandbox.queries.questions.search import Cursor, check_field, fits
from sandbox.queries.rows.messages import full_row, message_row, record_fields, record_parts
from sandbox.remoting.codes import ResponseCode

Row = dict[str, object]

PULLED = 32  # a broker returns no more at once
SCANNED = 640  # entries read by one answer


class Search:
    """Questions about messages.  Only brokers that name servers list are asked, whatever address an id contains."""

    def __init__(self, reach: Reach, picture: Picture, limits: AttachedLimits) -> None:
        self._reach = reach
        self._picture = picture
        self._most = limits.found_messages

    async def find(self, question: FindMessages) -> Row:
        """Return the messages that match, as `queries.questions.search.find`.

        Without a topic only an offset id finds a message.  Raises ActionRefused (422).
        """
        if question.id:
            return await self._by_id(question.id.strip(), question.topic)
        if not question.topic:
            raise ActionRefused(422, "The topic is missing.", "Choose a topic, or enter a message ID.", field="topic")
        if question.key:
            matches = await self._with_key(
                question.topic,
                question.key,
                question.from_ms or 0,
                FOREVER_MS if question.to_ms is None else question.to_ms,
            )
            return self._all("key", [message_row(message, broker) for broker, message in matches])
        if question.offset is not None:
            return await self._by_place(question)
        return await self._by_time(question)

    async def _by_id(self, text: str, topic: str | None) -> Row:
        try:
            message_id = msg_id.decode(text)
        except ValueError:
            message_id = None
        if message_id is not None:
            address = msg_id.host_text(message_id.host)
            known = self._picture.brokers.get(address)
            if known is not None:
                message = _decoded(await self._raw(address, message_id.physical_offset))
                if message is not None:
                    return self._all("id", [full_row(message, known.name)])
        if not topic:
            raise ActionRefused(
                422, "The topic is missing.", "A unique key is searched in the index of one topic.", field="topic"
            )
        matches = [
            (name, message)
            for name, address in (await self._masters(topic)).items()
            for message in await self._reach.by_unique_key(address, topic, text)
        ]
        return self._all("id", [full_row(message, broker) for broker, message in _in_order(matches)])

    async def _with_key(self, topic: str, key: str, from_ms: int, to_ms: int) -> list[tuple[str, StoredMessage]]:
        return _in_order(
            [
                (name, message)
                for name, address in (await self._masters(topic)).items()
                for message in await self._reach.by_key(address, topic, key, from_ms, to_ms)
            ]
        )

    async def _by_place(self, question: FindMessages) -> Row:
        if question.queue is None:
            raise ActionRefused(
                422,
                "The queue is missing.",
                "An offset is valid within one queue: choose a broker and a queue number.",
                field="queue",
            )
        assert question.topic is not None
        assert question.offset is not None
        broker, queue_id = row_parts("queue", question.queue)
        mq = MessageQueue(question.topic, broker, queue_id)
        pulled = await self._reach.pull(self._address(broker), mq, question.offset, 1)
        messages = [message for message in pulled.records if message.queue_offset == question.offset]
        if not messages:
            raise ActionRefused(
                404,
                "{queue} has no entry {offset}.",
                "The queue has entries {low} to {high}.",
                field="offset",
                queue=mq.row,
                offset=question.offset,
                low=max(0, pulled.min_offset),
                high=pulled.max_offset - 1,
            )
        return self._all("place", [full_row(messages[0], broker)])

    async def _by_time(self, question: FindMessages) -> Row:
        """Return messages from `from_ms` on, queue by queue, the oldest first.

        The cursor has a sandbox's format.
        """
        assert question.topic is not None
        await brokers_with(self._reach, self._picture, question.topic)
        queues = [mq for mq in self._picture.read_queues(question.topic) if question.queue in (None, mq.row)]
        cursor = Cursor.of(question.cursor)
        check_field(question)
        rows: list[Row] = []
        scanned, not_compared = 0, cursor.not_compared

        def answer(going_on: Cursor | None) -> Row:
            return {
                "by": "time",
                "rows": rows,
                "scanned": scanned,
                "scanned_in_all": cursor.scanned + scanned,
                "found_in_all": cursor.found + len(rows),
                "of": None,
                "not_compared": not_compared,
                "more": False,
                "cursor": None if going_on is None else str(going_on),
            }

        for position in range(cursor.place, len(queues)):
            mq = queues[position]
            resumed = cursor.offset if position == cursor.place and question.cursor else None
            offset = resumed if resumed is not None else await self._first(mq, question.from_ms)
            while True:
                pulled = await self._reach.pull(self._address(mq.broker), mq, offset, PULLED)
                for message in pulled.records:
                    if question.to_ms is not None and message.store_ms > question.to_ms:
                        break
                    scanned, offset = scanned + 1, message.queue_offset + 1
                    match = fits(message, question)
                    not_compared += match is None
                    if match:
                        rows.append(message_row(message, mq.broker))
                    if len(rows) >= self._most or scanned >= SCANNED:
                        counts = cursor.scanned + scanned, cursor.found + len(rows), not_compared
                        return answer(Cursor(position, offset, *counts))
                else:
                    if pulled.records:
                        continue
                    if offset < pulled.next_offset < pulled.max_offset:
                        offset = pulled.next_offset  # older ones were deleted meanwhile
                        continue
                break
        return answer(None)

    async def _first(self, mq: MessageQueue, from_ms: int | None) -> int:
        if from_ms is not None:
            return await self._reach.at_time(self._address(mq.broker), mq, from_ms)
        end = self._picture.end(mq)
        return 0 if end is None else max(0, end.min_offset)

    async def read_record(self, question: ReadRecord) -> Row:
        """Return a record as of a sandbox.  Its files, its queue entries and its deliveries are unknown."""
        raw = await self._raw(self._address(question.broker), question.physical_offset)
        message = _decoded(raw)
        if raw is None or message is None:
            raise ActionRefused(
                404,
                "No record begins at {offset}.",
                "Choose a position from a queue entry.",
                field="physical_offset",
                offset=question.physical_offset,
            )
        life = {
            "chain": None,
            "linked": message.properties.get(properties.UNIQ_KEY) is not None,
            "groups": None,
            "known_from_ms": None,
            "known_from_seq": None,
            "complete": False,
            "skipped": None,
        }
        return {
            "broker": question.broker,
            "physical_offset": str(question.physical_offset),
            "bytes": len(raw),
            "hex": raw.hex(),
            "message": full_row(message, question.broker),
            "fields": record_fields(message),
            "parts": record_parts(raw),
            "position": None,
            "entry": None,
            "index": None,
            "life": life,
        }

    async def read_entry(self, question: ReadEntry) -> Row:
        """Return the 20 bytes of a queue entry (321), with their fields."""
        mq = MessageQueue(question.topic, question.broker, question.queue_id)
        reported = await self._reach.queue_entries(self._address(question.broker), mq, question.offset, 1)
        if not reported.entries:
            raise ActionRefused(
                404,
                "{queue} has no entry {offset}.",
                "The queue has entries {low} to {high}.",
                field="offset",
                queue=mq.row,
                offset=question.offset,
                low=reported.min_offset,
                high=reported.max_offset - 1,
            )
        unit = reported.entries[0]
        raw = (
            unit.physical_offset.to_bytes(8, "big")
            + unit.store_bytes.to_bytes(4, "big")
            + unit.tags_code.to_bytes(8, "big", signed=True)
        )
        message = _decoded(await self._raw(self._address(question.broker), unit.physical_offset))
        return {
            "topic": mq.topic,
            "broker": mq.broker,
            "queue_id": mq.queue_id,
            "offset": str(question.offset),
            "hex": raw.hex(),
            "physical_offset": str(unit.physical_offset),
            "bytes": unit.store_bytes,
            "tags_code": str(unit.tags_code),
            "message": None if message is None else message_row(message, mq.broker),
        }

    async def walk(self, question: WalkIndex) -> Row:
        """Return the walk of a key through the index, as far as known.

        Only the response of QUERY_MESSAGE is known: text and hash are computed here; `files`, the lookup steps, are
        unknown (`told` False).
        """
        matches = await self._with_key(question.topic, question.key, question.from_ms, question.to_ms)
        if question.broker is not None:
            matches = [match for match in matches if match[0] == question.broker]
        text = f"{question.topic}#{question.key}"
        return {
            "broker": matches[0][0] if matches else question.broker,
            "topic": question.topic,
            "key": question.key,
            "text": text,
            "hash_signed": java_hash(text),
            "hash": index_key_hash(text),
            "from_ms": question.from_ms,
            "to_ms": question.to_ms,
            "files": [],
            "told": False,
            "found": [message_row(message, broker) for broker, message in matches],
            "ended": {"code": "found" if matches else "not_told", "values": {}},
            "scanned_instead": None,
        }

    async def _masters(self, topic: str) -> dict[str, str]:
        """Return the addresses of the brokers that have the topic, by name.

        Lost brokers are left out, since they would end every search.
        """
        configs, masters = await brokers_with(self._reach, self._picture, topic), self._picture.masters()
        return {name: masters[name].address for name in configs if name in masters and not masters[name].lost}

    def _address(self, broker: str) -> str:
        """Return the address of a master by its name, or of any node (`broker-a.1`).  Raises ActionRefused (404)."""
        for process in self._picture.in_order():
            if process.node == broker:
                return process.address
        raise ActionRefused(
            404, "Broker {name} does not exist.", "Choose a broker of the cluster.", field="broker", name=broker
        )

    async def _raw(self, address: str, physical_offset: int) -> bytes | None:
        """Return the bytes of the record that begins at the offset, or None if none does."""
        try:
            return await self._reach.record(address, physical_offset)
        except BrokerRefused as error:
            if error.code != ResponseCode.SYSTEM_ERROR:
                raise
            return None

    def _all(self, by: str, rows: list[Row]) -> Row:
        shown = rows[: self._most]
        return {
            "by": by,
            "rows": shown,
            "scanned": len(rows),
            "scanned_in_all": len(rows),
            "found_in_all": len(shown),
            "of": len(rows),
            "cursor": None,
            "more": len(rows) > len(shown),
        }


def _decoded(raw: bytes | None) -> StoredMessage | None:
    """Return the decoded record, or None for other bytes: 4.9 answers with any bytes at the offset."""
    try:
        return None if not raw else record.decode(raw)
    except CorruptRecord:
        return None


def _in_order(matches: list[tuple[str, StoredMessage]]) -> list[tuple[str, StoredMessage]]:
    return sorted(matches, key=lambda match: (match[1].store_ms, match[0], match[1].physical_offset))
