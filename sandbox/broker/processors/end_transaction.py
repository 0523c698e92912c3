"""Processor of END_TRANSACTION, with which a producer commits or rolls back."""

import logging

from sandbox.broker import remarks
from sandbox.broker.parts import Answer, BrokerParts, Handler
from sandbox.broker.stored_text import host_of
from sandbox.broker.transaction.half_messages import HalfMessage, committed, op_message
from sandbox.kernel.errors import BrokerRefused
from sandbox.message import properties as names
from sandbox.message.message import InboundMessage, StoredMessage
from sandbox.message.sys_flag import TRANSACTION_COMMIT, TRANSACTION_ROLLBACK
from sandbox.remoting.channel import Channel
from sandbox.remoting.codes import RequestCode, ResponseCode
from sandbox.remoting.command import FLAG_ONEWAY, RemotingCommand
from sandbox.remoting.headers import EndTransactionHeader
from sandbox.store.results import PutMessageStatus

log = logging.getLogger(__name__)

NOT_STORED = {
    PutMessageStatus.CREATE_MAPEDFILE_FAILED: (ResponseCode.SYSTEM_ERROR, "Create mapped file failed."),
    PutMessageStatus.SERVICE_NOT_AVAILABLE: (ResponseCode.SERVICE_NOT_AVAILABLE, "Service not available now."),
    PutMessageStatus.OS_PAGECACHE_BUSY: (ResponseCode.SYSTEM_ERROR, "OS page cache busy, please try another machine"),
}


class EndTransactionProcessor:
    """Handler of transaction ends.  RocketMQ: `EndTransactionProcessor` (spec broker-behaviour 2.3).

    Two commits store the message twice, as in RocketMQ.  If sends wait for the disk or a slave, so does a commit.
    Only after this wait, with any result, does the half message count as ended: a broker that crashes earlier checks
    its producer again.
    """

    def __init__(self, parts: BrokerParts) -> None:
        self._parts = parts
        self._store_host = host_of(parts.config.stored_address)

    def handlers(self) -> dict[int, Handler]:
        return {RequestCode.END_TRANSACTION: self.end}

    def end(self, c: RemotingCommand, channel: Channel) -> Answer:
        """Commit or roll back a half message; an unknown decision changes nothing and gets no answer."""
        header = EndTransactionHeader.from_ext(c.ext)
        if not self._parts.config.is_master:
            return c.reply(ResponseCode.SLAVE_NOT_AVAILABLE, remark=remarks.NOT_SET)
        if header.decision not in (TRANSACTION_COMMIT, TRANSACTION_ROLLBACK):
            return None
        half = self._half_of(header)
        if header.decision == TRANSACTION_ROLLBACK:
            self._remove(half, header)
            return c.reply(ResponseCode.SUCCESS, remark=remarks.NOT_SET)
        message = self._final(half)
        end = self._store(message)
        safety = self._parts.store.safety
        if not (message.wait_store_ok and safety.waits):
            self._remove(half, header)
            return c.reply(ResponseCode.SUCCESS)
        safety.when_safe(end, lambda _: self._answer_late(c, channel, half, header))
        return None

    def _answer_late(
        self, c: RemotingCommand, channel: Channel, half: StoredMessage, header: EndTransactionHeader
    ) -> None:
        """Finish a commit after its wait, with any result, because the message is stored in either case."""
        self._remove(half, header)
        self._parts.store.dispatch()
        if not c.flag & FLAG_ONEWAY:
            self._parts.connections.send(channel, c.reply(ResponseCode.SUCCESS))

    def _remove(self, half: StoredMessage, header: EndTransactionHeader) -> None:
        """Store the op message that ends the half message.

        If that fails, the half message stays open, and the sender gets no error.
        """
        done = self._parts.store.put_quietly(op_message(half, self._parts.clock.now_ms(), self._store_host))
        if done.status is not PutMessageStatus.PUT_OK:
            log.error("the end of half message %d not noted: %s", half.queue_offset, done.status.value)
            return
        self._parts.transactions.ended(
            HalfMessage.of(half),
            "commit" if header.decision == TRANSACTION_COMMIT else "rollback",
            "check" if header.from_check else "producer",
        )

    def _half_of(self, header: EndTransactionHeader) -> StoredMessage:
        """Return the half message at the header's offsets.

        Raises BrokerRefused (1) if it does not match the header.
        """
        half = self._parts.store.read_message(header.physical_offset)
        complaint = None
        if half is None:
            complaint = "Find prepared transaction message failed"
        elif half.properties.get(names.PGROUP) != header.group:
            complaint = "The producer group wrong"
        elif half.queue_offset != header.half_queue_offset:
            complaint = "The transaction state table offset wrong"
        if half is None or complaint is not None:
            raise BrokerRefused(ResponseCode.SYSTEM_ERROR, complaint or "")
        return half

    def _final(self, half: StoredMessage) -> InboundMessage:
        """Build the message to commit.

        Raises BrokerRefused (1) if the half message's properties name no destination.
        """
        try:
            return committed(half)
        except ValueError as error:
            raise BrokerRefused(
                ResponseCode.SYSTEM_ERROR, f"the prepared message has no destination: {error}"
            ) from None

    def _store(self, message: InboundMessage) -> int:
        """Store the message in its topic; return the offset of its end in the log.

        Raises BrokerRefused if it cannot be stored: the half message stays open.
        """
        result = self._parts.store.put_quietly(message)
        if result.status is PutMessageStatus.PUT_OK:
            return result.physical_end
        if result.status in (PutMessageStatus.MESSAGE_ILLEGAL, PutMessageStatus.PROPERTIES_SIZE_EXCEEDED):
            most = self._parts.store.config.max_message_bytes
            raise BrokerRefused(ResponseCode.MESSAGE_ILLEGAL, remarks.message_illegal(most))
        raise BrokerRefused(*NOT_STORED.get(result.status, (ResponseCode.SYSTEM_ERROR, "UNKNOWN_ERROR")))
