"""END_TRANSACTION: a producer says what became of a transaction."""

from sandbox.broker import remarks
from sandbox.broker.parts import Answer, BrokerParts, Handler
from sandbox.broker.stored_text import host_of
from sandbox.broker.transaction.half_messages import HalfMessage, committed, op_message
from sandbox.kernel.errors import BrokerRefused
from sandbox.message import properties as names
from sandbox.message.message import StoredMessage
from sandbox.message.sys_flag import TRANSACTION_COMMIT, TRANSACTION_ROLLBACK
from sandbox.remoting.channel import Channel
from sandbox.remoting.codes import RequestCode, ResponseCode
from sandbox.remoting.command import RemotingCommand
from sandbox.remoting.headers import EndTransactionHeader
from sandbox.store.results import PutMessageStatus

STORED = (PutMessageStatus.PUT_OK, PutMessageStatus.FLUSH_DISK_TIMEOUT, PutMessageStatus.FLUSH_SLAVE_TIMEOUT,
          PutMessageStatus.SLAVE_NOT_AVAILABLE)
NOT_STORED = {
    PutMessageStatus.CREATE_MAPEDFILE_FAILED: (ResponseCode.SYSTEM_ERROR, "Create mapped file failed."),
    PutMessageStatus.SERVICE_NOT_AVAILABLE: (ResponseCode.SERVICE_NOT_AVAILABLE, "Service not available now."),
    PutMessageStatus.OS_PAGECACHE_BUSY: (ResponseCode.SYSTEM_ERROR, "OS page cache busy, please try another machine"),
}


class EndTransactionProcessor:
    """RocketMQ: `EndTransactionProcessor` (spec broker-behaviour 2.3).

    Ending twice stores twice, as there.  A commit is answered once it is in the log, also where sends wait for the
    flush: a flush that fails counts as stored here.
    """

    def __init__(self, parts: BrokerParts) -> None:
        self._parts = parts
        self._store_host = host_of(parts.config.address)

    def handlers(self) -> dict[int, Handler]:
        return {RequestCode.END_TRANSACTION: self.end}

    def end(self, c: RemotingCommand, _: Channel) -> Answer:
        """Commit or roll back; "I do not know" has no answer and changes nothing."""
        header = EndTransactionHeader.from_ext(c.ext)
        if not self._parts.config.is_master:
            return c.reply(ResponseCode.SLAVE_NOT_AVAILABLE, remark=remarks.NOT_SET)
        if header.decision not in (TRANSACTION_COMMIT, TRANSACTION_ROLLBACK):
            return None
        half = self._half_of(header)
        if header.decision == TRANSACTION_COMMIT:
            self._store(half)
        self._parts.store.put_quietly(op_message(half, self._parts.clock.now_ms(), self._store_host))
        commit = header.decision == TRANSACTION_COMMIT
        self._parts.transactions.ended(HalfMessage.of(half), "commit" if commit else "rollback",
                                       "check" if header.from_check else "producer")
        return c.reply(ResponseCode.SUCCESS, remark=None if commit else remarks.NOT_SET)

    def _half_of(self, header: EndTransactionHeader) -> StoredMessage:
        """The record both offsets lead to.  Raises BrokerRefused (1)."""
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

    def _store(self, half: StoredMessage) -> None:
        """Give the message to its topic.  Raises BrokerRefused when it cannot be stored: the half message waits on."""
        try:
            message = committed(half)
        except ValueError as why:
            raise BrokerRefused(ResponseCode.SYSTEM_ERROR, f"the prepared message has no destination: {why}") from None
        status = self._parts.store.put_quietly(message).status
        if status in STORED:
            return
        if status in (PutMessageStatus.MESSAGE_ILLEGAL, PutMessageStatus.PROPERTIES_SIZE_EXCEEDED):
            most = self._parts.store.config.max_message_bytes
            raise BrokerRefused(ResponseCode.MESSAGE_ILLEGAL, remarks.message_illegal(most))
        raise BrokerRefused(*NOT_STORED.get(status, (ResponseCode.SYSTEM_ERROR, "UNKNOWN_ERROR")))
