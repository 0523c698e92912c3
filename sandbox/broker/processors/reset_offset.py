"""Processor of INVOKE_BROKER_TO_RESET_OFFSET, which resets an online group."""

from sandbox.broker import remarks
from sandbox.broker.consumers import ConsumerGroup
from sandbox.broker.parts import Answer, BrokerParts, Handler
from sandbox.kernel.errors import BrokerRefused
from sandbox.message.queue import MessageQueue
from sandbox.remoting.bodies import ResetOffsetBody
from sandbox.remoting.channel import Channel
from sandbox.remoting.codes import RequestCode, ResponseCode
from sandbox.remoting.command import Language, RemotingCommand
from sandbox.remoting.headers import ResetOffsetHeader
from sandbox.remoting.json_body import Queue

TO_THE_END = -1
VERSION_WITH_RESET = 28  # V3_0_7_SNAPSHOT


class ResetOffsetProcessor:
    """Handler of online resets.  RocketMQ 4.9: `Broker2Client.resetOffset` (spec broker-behaviour 8).

    The broker's own offset table stays unchanged.
    """

    def __init__(self, parts: BrokerParts) -> None:
        self._parts = parts

    def handlers(self) -> dict[int, Handler]:
        return {RequestCode.INVOKE_BROKER_TO_RESET_OFFSET: self.reset}

    def reset(self, c: RemotingCommand, _: Channel) -> Answer:
        """Reset a group and answer with the map of new offsets.

        The administrator's language decides the form of the message to the members, not the form of the answer.
        """
        offsets = self.send_to_members(ResetOffsetHeader.from_ext(c.ext), for_c=c.language == Language.CPP)
        return c.reply(ResponseCode.SUCCESS, body=ResetOffsetBody(offsets).encode(), remark=remarks.NOT_SET)

    def send_to_members(self, header: ResetOffsetHeader, *, for_c: bool = False) -> dict[Queue, int]:
        """Send every member its new offsets; return the new offset of each queue.  Raises BrokerRefused."""
        offsets = self.targets(header)
        group = self._parts.consumers.groups.get(header.group)
        if group is None:
            raise BrokerRefused(
                ResponseCode.CONSUMER_NOT_ONLINE,
                f"Consumer not online, so can not reset offset, Group: {header.group} "
                f"Topic: {header.topic} Timestamp: {header.timestamp_ms}",
            )
        self._send(group, header, ResetOffsetBody(offsets), for_c=for_c)
        return offsets

    def targets(self, header: ResetOffsetHeader) -> dict[Queue, int]:
        """Return the new offset of each write queue.

        Raises BrokerRefused if the topic does not exist or one queue has no committed offset.
        """
        parts, name = self._parts, header.topic
        topic = parts.topics.get(name)
        if topic is None:
            raise BrokerRefused(
                ResponseCode.SYSTEM_ERROR, f"[reset-offset] reset offset failed, no topic in this broker. topic={name}"
            )
        offsets: dict[Queue, int] = {}
        for queue_id in range(topic.write_queues):
            stored = parts.consumer_offsets.get(header.group, name, queue_id)
            if stored is None or stored < 0:
                raise BrokerRefused(ResponseCode.SYSTEM_ERROR, f"THe consumer group <{header.group}> not exist")
            target = self._target(name, queue_id, header.timestamp_ms)
            chosen = target if header.force or target < stored else stored
            offsets[MessageQueue(name, parts.config.name, queue_id)] = chosen
        return offsets

    def _target(self, topic: str, queue_id: int, timestamp_ms: int) -> int:
        if timestamp_ms == TO_THE_END:
            return self._parts.store.max_offset(topic, queue_id)
        return max(0, self._parts.store.offset_by_time(topic, queue_id, timestamp_ms))

    def _send(self, group: ConsumerGroup, header: ResetOffsetHeader, body: ResetOffsetBody, *, for_c: bool) -> None:
        encoded = body.encode_for_c() if for_c else body.encode()
        for channel, info in group.channels.items():
            if info.version < VERSION_WITH_RESET:
                raise BrokerRefused(
                    ResponseCode.SYSTEM_ERROR, f"the client does not support this feature. version={info.version}"
                )
            self._parts.broker_to_client.reset_offset(channel, header, encoded)
