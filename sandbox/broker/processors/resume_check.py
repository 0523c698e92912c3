"""Processor of RESUME_CHECK_HALF_MESSAGE: checks a discarded transaction again."""

from sandbox.broker.parts import Answer, BrokerParts, Handler
from sandbox.broker.stored_text import host_of
from sandbox.broker.transaction.half_messages import HALF_QUEUE_ID, HalfMessage
from sandbox.kernel.errors import BrokerRefused
from sandbox.message import msg_id
from sandbox.message import properties as names
from sandbox.message import topic_names as topics
from sandbox.message.message import InboundMessage, StoredMessage
from sandbox.remoting.channel import Channel
from sandbox.remoting.codes import RequestCode, ResponseCode
from sandbox.remoting.command import RemotingCommand
from sandbox.remoting.fields import text
from sandbox.store.results import PutMessageStatus

FAILED = "Put message back to RMQ_SYS_TRANS_HALF_TOPIC failed."
NOT_FOUND = "Exception was thrown when putting message back to RMQ_SYS_TRANS_HALF_TOPIC."


class ResumeCheckProcessor:
    """Handler that puts a message back to the half queue.  RocketMQ: `AdminBrokerProcessor.resumeCheckHalfMessage`.

    As there, the named message may be any message.
    """

    def __init__(self, parts: BrokerParts) -> None:
        self._parts = parts

    def handlers(self) -> dict[int, Handler]:
        return {RequestCode.RESUME_CHECK_HALF_MESSAGE: self.resume}

    def resume(self, c: RemotingCommand, _: Channel) -> Answer:
        """Store the named message in the half queue with a check count of 0."""
        stored = self._named(text(c.ext, "msgId"))
        properties = {**stored.properties, names.TRANSACTION_CHECK_TIMES: "0"}
        result = self._parts.store.put_quietly(
            InboundMessage(
                topics.HALF_TOPIC,
                HALF_QUEUE_ID,
                stored.body,
                names.encode(properties).encode(),
                0,
                stored.sys_flag,
                stored.flag,
                stored.born_ms,
                host_of(stored.born_host),
                stored.reconsume_times,
                wait_store_ok=False,
            )
        )
        if result.status is not PutMessageStatus.PUT_OK:
            raise BrokerRefused(ResponseCode.SYSTEM_ERROR, FAILED)
        self._parts.transactions.prepared(
            HalfMessage.of_properties(
                properties,
                result.queue_offset,
                result.physical_offset,
                stored.born_ms,
                host_of(self._parts.config.stored_address),
            )
        )
        return c.reply(ResponseCode.SUCCESS)

    def _named(self, message_id: str) -> StoredMessage:
        """Return the message with this id.  Raises BrokerRefused (1) if the id is invalid or the message is deleted."""
        try:
            stored = self._parts.store.read_message(msg_id.decode(message_id).physical_offset)
        except ValueError:
            stored = None
        if stored is None:
            raise BrokerRefused(ResponseCode.SYSTEM_ERROR, NOT_FOUND)
        return stored
