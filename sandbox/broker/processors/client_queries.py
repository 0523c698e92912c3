"""Processor of administrators' requests that the broker forwards to a client.

They are: running info, status, and direct consumption of one message.
"""

from functools import partial

from sandbox.broker import remarks
from sandbox.broker.consumers import MemberInfo
from sandbox.broker.parts import Answer, BrokerParts, Handler
from sandbox.kernel.errors import BrokerRefused
from sandbox.message import msg_id
from sandbox.remoting.bodies import ConsumerStatusBody
from sandbox.remoting.body_limits import check_body
from sandbox.remoting.channel import Channel
from sandbox.remoting.codes import RequestCode, ResponseCode
from sandbox.remoting.command import RemotingCommand
from sandbox.remoting.fields import Malformed, text
from sandbox.remoting.headers import TopicGroupHeader
from sandbox.remoting.json_body import Queue

CALL_S = 10.0
STATUS_CALL_S = 5.0
VERSION_WITH_CALLS = 62  # V3_1_8_SNAPSHOT


class ThroughClientsProcessor:
    """Handlers that forward a request to clients.

    RocketMQ: `AdminBrokerProcessor.callConsumer`, `Broker2Client.getConsumeStatus` (spec remoting 2.3).
    """

    def __init__(self, parts: BrokerParts) -> None:
        self._parts = parts

    def handlers(self) -> dict[int, Handler]:
        return {
            RequestCode.GET_CONSUMER_RUNNING_INFO: self.running_info,
            RequestCode.CONSUME_MESSAGE_DIRECTLY: self.consume_directly,
            RequestCode.INVOKE_BROKER_TO_GET_CONSUMER_STATUS: self.status,
        }

    def running_info(self, c: RemotingCommand, channel: Channel) -> Answer:
        return self._call(c, channel, dict(c.ext or {}), c.body)

    def consume_directly(self, c: RemotingCommand, channel: Channel) -> Answer:
        """Send a client one stored record, which it consumes whatever the record's queue."""
        try:
            physical_offset = msg_id.decode(text(c.ext, "msgId")).physical_offset
        except ValueError as error:
            raise Malformed(str(error)) from None
        record = self._parts.store.read(physical_offset)
        if record is None:
            raise BrokerRefused(ResponseCode.SYSTEM_ERROR, f"can not find message by the offset, {physical_offset}")
        return self._call(c, channel, {**(c.ext or {}), "brokerName": self._parts.config.name}, record)

    def status(self, c: RemotingCommand, channel: Channel) -> Answer:
        """Collect the offsets of every member (or one) in a topic; members that do not answer are omitted."""
        header = TopicGroupHeader.from_ext(c.ext)
        group = self._parts.consumers.groups.get(header.group)
        members = [
            info
            for info in (group.channels.values() if group else ())
            if header.client_address in (None, info.client_id)
        ]
        if not members:
            raise BrokerRefused(
                ResponseCode.SYSTEM_ERROR, f"No Any Consumer online in the consumer group: [{header.group}]"
            )
        offsets: dict[str, dict[Queue, int]] = {}
        missing = len(members)

        def heard(info: MemberInfo, answer: RemotingCommand | None) -> None:
            nonlocal missing
            missing -= 1
            if answer is not None and answer.code == ResponseCode.SUCCESS:
                offsets[info.client_id] = _queues_of(answer)
            if missing == 0:
                body = ConsumerStatusBody({}, offsets).encode()
                self._parts.connections.send(channel, c.reply(ResponseCode.SUCCESS, body=body, remark=remarks.NOT_SET))

        ext = TopicGroupHeader(header.topic, header.group).to_ext()
        for info in members:
            self._parts.broker_to_client.call(
                info.channel,
                RequestCode.GET_CONSUMER_STATUS_FROM_CLIENT,
                ext,
                None,
                STATUS_CALL_S,
                partial(heard, info),
            )
        return None

    def _call(self, c: RemotingCommand, channel: Channel, ext: dict[str, str], body: bytes | None) -> Answer:
        """Forward a request to one member and its answer back."""
        group, client_id = text(c.ext, "consumerGroup"), text(c.ext, "clientId")
        known = self._parts.consumers.groups.get(group)
        info = known.members.get(client_id) if known else None
        if info is None:
            raise BrokerRefused(ResponseCode.SYSTEM_ERROR, f"The Consumer <{group}> <{client_id}> not online")
        if info.version < VERSION_WITH_CALLS:
            raise BrokerRefused(
                ResponseCode.SYSTEM_ERROR,
                f"The Consumer <{client_id}> Version <{info.version}> too low to finish, "
                "please upgrade it to V3_1_8_SNAPSHOT",
            )

        def heard(answer: RemotingCommand | None) -> None:
            reply = (
                c.reply(answer.code, answer.ext, answer.body, remark=answer.remark)
                if answer is not None
                else c.reply(
                    ResponseCode.CONSUME_MSG_TIMEOUT,
                    remark=f"consumer <{group}> <{client_id}> Timeout: no answer in {CALL_S:.0f} s",
                )
            )
            self._parts.connections.send(channel, reply)

        self._parts.broker_to_client.call(info.channel, RequestCode(c.code), ext, body, CALL_S, heard)
        return None


def _queues_of(answer: RemotingCommand) -> dict[Queue, int]:
    try:
        check_body(answer.body)
        return ConsumerStatusBody.decode(answer.body).queues
    except Malformed:
        return {}
