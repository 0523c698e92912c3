"""Administrative requests that find messages by their position in the log or queue, by key or by id."""

from typing import NamedTuple

from sandbox.client.client_api import PULL_ANSWERED, SYS_SUBSCRIPTION
from sandbox.client.requests import Fields, Requests, refusal
from sandbox.kernel.errors import BrokerRefused, ClientError, CorruptRecord, UnreadableAnswer
from sandbox.message import msg_id, properties, record
from sandbox.message.filter import ALL, TAG
from sandbox.message.message import StoredMessage
from sandbox.message.queue import MessageQueue
from sandbox.remoting.bodies import QueueEntries
from sandbox.remoting.codes import RequestCode, ResponseCode
from sandbox.remoting.command import RemotingCommand
from sandbox.remoting.fields import Malformed
from sandbox.remoting.headers import (
    PullHeader,
    PullResponseHeader,
    QueryMessageHeader,
    QueueEntriesHeader,
    ViewMessageHeader,
)
from sandbox.remoting.signature import UNIQUE_KEY_QUERY

END_OF_TIME_MS = 2**63 - 1
MAX_FOUND = 64  # messages found by key; RocketMQ's tools request as many
MAX_PULLED = 32  # brokers return no more at once from memory
KEY_SEPARATOR = " "


class PulledRecords(NamedTuple):
    """Answer to one pull.  `records` are as stored: `client.received.message_of` decompresses their bodies.

    `next_offset` follows the records.  If the requested offset is outside the queue, it is the queue's first or end
    offset.
    """

    code: int  # 0 found, 19 nothing there yet, 20 filtered out, 21 outside the queue
    next_offset: int
    min_offset: int
    max_offset: int
    records: tuple[StoredMessage, ...]


class PulledBytes(NamedTuple):
    """Answer to one pull, with the stored records joined in `body`.  `remark` is the name of the store's status."""

    code: int
    remark: str
    next_offset: int
    min_offset: int
    max_offset: int
    body: bytes


class MessageQuestions:
    """Administrative requests about messages; each method sends one to the broker at `address`."""

    def __init__(self, requests: Requests, group: str) -> None:
        self._requests = requests
        self._group = group

    async def view(self, message_id: str, *, address: str | None = None, topic: str | None = None) -> StoredMessage:
        """Return the message with this offset message id (33), from `address` or else the broker named in the id.

        Raises ClientError if the text is no such id, BrokerRefused with code 1 if no message begins at its position.
        """
        try:
            position = msg_id.decode(message_id)
        except ValueError as error:
            raise ClientError(f"{message_id} is not an offset message id: {error}") from error
        return await self.at_place(address or msg_id.host_text(position.host), position.physical_offset, topic=topic)

    async def at_place(self, address: str, physical_offset: int, *, topic: str | None = None) -> StoredMessage:
        """Return the message at a physical offset of the broker's commit log (33)."""
        header = ViewMessageHeader(physical_offset, topic)
        return await self._requests.read(
            address, RequestCode.VIEW_MESSAGE_BY_ID, header, lambda c: record.decode(c.body or b"")
        )

    async def by_key(
        self,
        address: str,
        topic: str,
        key: str,
        *,
        begin_ms: int = 0,
        end_ms: int = END_OF_TIME_MS,
        most: int = MAX_FOUND,
    ) -> tuple[StoredMessage, ...]:
        """Return the newest `most` messages with this key, in the broker's order (12).

        Only messages stored from `begin_ms` to `end_ms` are returned.  The broker's index keeps hashes of keys.
        This method removes messages whose hash collides but whose keys differ.
        """
        messages = await self._query(address, QueryMessageHeader(topic, key, most, begin_ms, end_ms))
        return tuple(
            m
            for m in messages
            if m.topic == topic and key in m.properties.get(properties.KEYS, "").split(KEY_SEPARATOR)
        )

    async def by_unique_key(
        self, address: str, topic: str, key: str, *, begin_ms: int = 0, end_ms: int = END_OF_TIME_MS
    ) -> tuple[StoredMessage, ...]:
        """Return the messages with that UNIQ_KEY, which clients call the message id (12).

        Several messages have the same one if a producer retried the send, or the message was sent back for a retry.
        """
        messages = await self._query(address, QueryMessageHeader(topic, key, MAX_FOUND, begin_ms, end_ms, unique=True))
        return tuple(m for m in messages if m.properties.get(properties.UNIQ_KEY) == key)

    async def pull(
        self, address: str, mq: MessageQueue, offset: int, *, count: int = 1, expression: str = ALL
    ) -> PulledRecords:
        """Return up to `count` records from an offset on (11).

        The pull uses the tools' own group, so no other group's offset changes.
        """
        answer = await self.pull_bytes(address, mq, offset, count=count, expression=expression)
        try:
            return PulledRecords(
                answer.code,
                answer.next_offset,
                answer.min_offset,
                answer.max_offset,
                tuple(record.decode_all(answer.body)),
            )
        except CorruptRecord as error:
            raise UnreadableAnswer(f"the pull response of {address} is not readable: {error}") from error

    async def pull_bytes(
        self, address: str, mq: MessageQueue, offset: int, *, count: int = 1, expression: str = ALL
    ) -> PulledBytes:
        """Pull like `pull`, but return the records as undecoded bytes."""
        header = PullHeader(
            group=self._group,
            topic=mq.topic,
            queue_id=mq.queue_id,
            queue_offset=offset,
            max_messages=min(count, MAX_PULLED),
            sys_flag=SYS_SUBSCRIPTION,
            commit_offset=0,
            suspend_timeout_ms=0,
            subscription=expression,
            sub_version=0,
            expression_type=TAG,
            broker=mq.broker,
        )
        command = RemotingCommand(RequestCode.PULL_MESSAGE, header.to_ext())
        answer = await self._requests.connections.invoke(address, command, self._requests.timeout_ms)
        if answer.code not in PULL_ANSWERED:
            raise refusal(answer)
        try:
            ends = PullResponseHeader.from_ext(answer.ext)
        except Malformed as error:
            raise UnreadableAnswer(f"the pull response of {address} is not readable: {error}") from error
        body = answer.body or b"" if answer.code == ResponseCode.SUCCESS else b""
        return PulledBytes(
            int(answer.code), answer.remark or "", ends.next_offset, ends.min_offset, ends.max_offset, body
        )

    async def queue_entries(
        self, address: str, mq: MessageQueue, first: int, *, count: int = MAX_PULLED, group: str | None = None
    ) -> QueueEntries:
        """Return entries of a consume queue from index `first` on (321), and the subscription of `group` if set."""
        return await self._requests.read(
            address,
            RequestCode.QUERY_CONSUME_QUEUE,
            QueueEntriesHeader(mq.topic, mq.queue_id, first, count, group or ""),
            lambda c: QueueEntries.decode(c.body),
        )

    async def _query(self, address: str, header: QueryMessageHeader) -> tuple[StoredMessage, ...]:
        """Send a message query and return the messages found; an empty tuple if the broker finds none.

        A signed query omits the unique-key field, because 4.9 and 5.x sign that field differently (signature.py).
        The field only limits the number of results.
        """
        ext = header.to_ext()
        if self._requests.connections.signs:
            del ext[UNIQUE_KEY_QUERY]
        try:
            return await self._requests.read(address, RequestCode.QUERY_MESSAGE, Fields(**ext), _records)
        except BrokerRefused as no:
            if no.code == ResponseCode.QUERY_NOT_FOUND:
                return ()
            raise


def _records(answer: RemotingCommand) -> tuple[StoredMessage, ...]:
    return tuple(record.decode_all(answer.body or b""))
