"""Processor of SEND_REPLY_MESSAGE and SEND_REPLY_MESSAGE_V2: forwards a reply to its requester and stores it."""

import logging

from sandbox.broker.parts import Answer, BrokerParts, Handler
from sandbox.broker.processors.send_checks import SendChecks
from sandbox.broker.stored_text import host_of
from sandbox.message import msg_id
from sandbox.message import properties as props
from sandbox.message.message import InboundMessage
from sandbox.message.sys_flag import BORN_HOST_V6, STORE_HOST_V6
from sandbox.remoting.channel import Channel
from sandbox.remoting.codes import RequestCode, ResponseCode
from sandbox.remoting.command import FLAG_ONEWAY, RemotingCommand
from sandbox.remoting.headers import PushReplyHeader, SendHeader, SendResponseHeader
from sandbox.store.results import PutMessageStatus

log = logging.getLogger(__name__)

PUSH_S = 10.0
IPV4_HOST_BYTES = 8


class ReplyProcessor:
    """Handler of reply messages.  RocketMQ: `ReplyMessageProcessor` (spec remoting 6).

    The requester receives the reply over the connection of its last heartbeat as a producer, on this broker only.
    So a reply must go to a broker to which the requester is connected.  Delivered or not, the reply is stored
    unchanged.
    """

    def __init__(self, parts: BrokerParts, checks: SendChecks) -> None:
        self._parts = parts
        self._checks = checks
        self._store_host = host_of(parts.config.stored_address)

    def handlers(self) -> dict[int, Handler]:
        return {RequestCode.SEND_REPLY_MESSAGE: self.reply, RequestCode.SEND_REPLY_MESSAGE_V2: self.reply}

    def reply(self, c: RemotingCommand, channel: Channel) -> Answer:
        """Check a reply like a send and forward it; answer after the requester's answer, or after ten seconds."""
        header = SendHeader.from_ext(c.ext)
        queue_id = self._checks.queue_for(header, channel)
        properties = props.decode(header.properties)
        asker_id = properties.get(props.REPLY_TO_CLIENT)
        if asker_id is None:
            reason = f"reply message properties[{props.REPLY_TO_CLIENT}] is null"
            return self._finish(c, channel, header, queue_id, reason)
        asker = self._parts.producers.channel_of(asker_id)
        if asker is None:
            reason = f"push reply message fail, channel of <{asker_id}> not found."
            return self._finish(c, channel, header, queue_id, reason)
        now_ms = self._parts.clock.now_ms()
        text = props.encode({**properties, props.PUSH_REPLY_TIME: str(now_ms)})
        push = PushReplyHeader.of(
            header, text, born_host=channel.remote, store_host=self._parts.config.stored_address, store_ms=now_ms
        )

        def heard(answer: RemotingCommand | None) -> None:
            done = answer is not None and answer.code == ResponseCode.SUCCESS
            reason = None if done else f"push reply message to {asker_id}fail."  # no blank there in RocketMQ either
            late = self._finish(c, channel, header, queue_id, reason)
            self._parts.store.dispatch()
            self._parts.stats.settle()
            if late is not None and not c.flag & FLAG_ONEWAY:
                self._parts.connections.send(channel, late)

        self._parts.broker_to_client.call(
            asker, RequestCode.PUSH_REPLY_MESSAGE_TO_CLIENT, push.to_ext(), c.body, PUSH_S, heard
        )
        return None

    def _finish(
        self, c: RemotingCommand, channel: Channel, header: SendHeader, queue_id: int, why_not: str | None
    ) -> Answer:
        """Store the reply, if configured, and return the answer; None if it waits for the disk or a slave.

        If the reply could not be stored, the answer still has the result of the delivery, as RocketMQ's does.
        """
        config = self._parts.config
        ext = {"MSG_REGION": config.region, "TRACE_ON": "true" if config.trace_on else "false"}
        code = ResponseCode.SUCCESS if why_not is None else ResponseCode.SYSTEM_ERROR
        if why_not is None:
            ext.update(SendResponseHeader("0", queue_id, 0).to_ext())
        if not config.store_reply:
            return c.reply(code, ext, remark=why_not)
        message = self._message(c, channel, header, queue_id)
        result = self._parts.store.put_message(message)
        if result.status is not PutMessageStatus.PUT_OK:
            log.debug("a reply to %s is not stored: %s", header.topic, result.status.value)
            return c.reply(code, ext, remark=why_not)
        self._parts.stats.put(header.topic, result.count, result.store_bytes)
        message_id = msg_id.encode(self._store_host, result.physical_offset)
        ext.update(SendResponseHeader(message_id, queue_id, result.queue_offset).to_ext())
        answer = c.reply(code, ext, remark=why_not)
        safety = self._parts.store.safety
        if not (message.wait_store_ok and safety.waits):
            return answer
        oneway = bool(c.flag & FLAG_ONEWAY)
        safety.when_safe(
            result.physical_end, lambda _: None if oneway else self._parts.connections.send(channel, answer)
        )
        return None

    def _message(self, c: RemotingCommand, channel: Channel, header: SendHeader, queue_id: int) -> InboundMessage:
        """Build the stored reply with unchanged properties.  Its sys flag is dropped (RocketMQ sets none)."""
        host, wait = host_of(channel.remote), props.decode(header.properties).get(props.WAIT, "true")
        sys_flag = BORN_HOST_V6 if len(host) > IPV4_HOST_BYTES else 0
        sys_flag |= STORE_HOST_V6 if len(self._store_host) > IPV4_HOST_BYTES else 0
        return InboundMessage(
            header.topic,
            queue_id,
            c.body or b"",
            header.properties.encode(),
            0,
            sys_flag,
            header.flag,
            header.born_ms,
            host,
            header.reconsume_times,
            0,
            wait.lower() == "true",
        )
