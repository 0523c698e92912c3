"""Handling of requests that brokers send to clients."""

import logging
from collections import deque
from collections.abc import Callable, Mapping

from sandbox.client.connections import answer
from sandbox.client.consume_directly import Listeners
from sandbox.client.members import Consumer, Publisher
from sandbox.client.received import message_of
from sandbox.client.request_reply import ReplyFutures, pushed
from sandbox.client.tasks import Tasks
from sandbox.kernel.errors import CorruptRecord, SandboxError
from sandbox.kernel.process_clock import ProcessClock
from sandbox.message import properties, record
from sandbox.message.message import Message
from sandbox.message.queue import MessageQueue
from sandbox.remoting.bodies import ConsumerStatusBody, ResetOffsetBody
from sandbox.remoting.channel import Channel
from sandbox.remoting.codes import RequestCode, ResponseCode
from sandbox.remoting.command import RemotingCommand
from sandbox.remoting.fields import text, text_or_none
from sandbox.remoting.headers import (
    CheckTransactionHeader,
    PushReplyHeader,
    ResetOffsetHeader,
    RunningInfoHeader,
    TopicGroupHeader,
)

log = logging.getLogger(__name__)

MAX_DIRECT = 64  # direct consumptions at the same time

Answerer = Callable[[RemotingCommand, Channel], RemotingCommand | None]


class Incoming:
    """Handler of broker requests for one client instance.  RocketMQ: `ClientRemotingProcessor` (spec remoting 2.3).

    Resets take ten seconds and run one after the other, as they would in Java's one thread for broker requests.
    """

    def __init__(
        self,
        consumers: Mapping[str, Consumer],
        producers: Mapping[str, Publisher],
        requests: ReplyFutures,
        *,
        clock: ProcessClock,
        tasks: Tasks,
        wake_rebalance: Callable[[str], None],
        body_bytes: int,
    ) -> None:
        self._consumers = consumers
        self._producers = producers
        self._requests = requests
        self._clock = clock
        self._tasks = tasks
        self._wake_rebalance = wake_rebalance
        self._body_bytes = body_bytes
        self._resets: deque[tuple[ResetOffsetHeader, dict[MessageQueue, int]]] = deque()
        self._resetting = False
        self._direct = 0  # messages being consumed on request
        self._served: dict[int, Answerer] = {
            RequestCode.NOTIFY_CONSUMER_IDS_CHANGED: self._members_changed,
            RequestCode.RESET_CONSUMER_CLIENT_OFFSET: self._reset,
            RequestCode.GET_CONSUMER_STATUS_FROM_CLIENT: self._status,
            RequestCode.GET_CONSUMER_RUNNING_INFO: self._running_info,
            RequestCode.CHECK_TRANSACTION_STATE: self._check_transaction,
            RequestCode.CONSUME_MESSAGE_DIRECTLY: self._consume_directly,
            RequestCode.PUSH_REPLY_MESSAGE_TO_CLIENT: self._reply_arrived,
        }

    def serves(self, code: int) -> bool:
        """Return True if this client handles requests with this code."""
        return code in self._served

    def handle(self, command: RemotingCommand, channel: Channel) -> None:
        """Handle one request and send its reply.  An invalid request is answered with SYSTEM_ERROR."""
        serve = self._served.get(command.code)
        if serve is None:
            reply: RemotingCommand | None = command.reply(
                ResponseCode.REQUEST_CODE_NOT_SUPPORTED, remark=f" request type {command.code} not supported"
            )
        else:
            try:
                reply = serve(command, channel)
            except SandboxError as error:
                log.info("request %d from %s not served: %s", command.code, channel.remote, error)
                reply = command.reply(ResponseCode.SYSTEM_ERROR, remark=str(error))
        if reply is not None and not command.is_oneway:
            answer(reply, channel)

    def _members_changed(self, command: RemotingCommand, channel: Channel) -> None:
        self._wake_rebalance("notified")

    def _reset(self, command: RemotingCommand, channel: Channel) -> None:
        header = ResetOffsetHeader.from_ext(command.ext)
        body = ResetOffsetBody.decode(command.body)
        self._resets.append((header, {MessageQueue(*queue): offset for queue, offset in body.offsets.items()}))
        if not self._resetting:
            self._resetting = True
            self._tasks.spawn(self._reset_in_turn(), "reset offsets")

    async def _reset_in_turn(self) -> None:
        try:
            while self._resets:
                header, offsets = self._resets.popleft()
                consumer = self._consumers.get(header.group)
                if consumer is not None:
                    await consumer.reset_offsets(header.topic, offsets)
        finally:
            self._resetting = False

    def _status(self, command: RemotingCommand, channel: Channel) -> RemotingCommand:
        header = TopicGroupHeader.from_ext(command.ext)
        consumer = self._consumers.get(header.group)
        if consumer is None:
            return command.reply(ResponseCode.SYSTEM_ERROR, remark=_no_member(header.group))
        status = ConsumerStatusBody(dict(consumer.status(header.topic).items()), {})
        return command.reply(ResponseCode.SUCCESS, body=status.encode())

    def _running_info(self, command: RemotingCommand, channel: Channel) -> RemotingCommand:
        header = RunningInfoHeader.from_ext(command.ext)
        consumer = self._consumers.get(header.group)
        if consumer is None:
            return command.reply(ResponseCode.SYSTEM_ERROR, remark=_no_member(header.group))
        return command.reply(ResponseCode.SUCCESS, body=consumer.running_info())

    def _check_transaction(self, command: RemotingCommand, channel: Channel) -> None:
        """Pass a transaction check to the producer of the message's group, if it has a listener for checks."""
        header = CheckTransactionHeader.from_ext(command.ext)
        message = message_of(record.decode(command.body or b""), self._body_bytes)
        producer = self._producers.get(message.properties.get(properties.PGROUP, ""))
        if producer is not None and producer.on_check is not None:
            producer.on_check(header, message, channel.remote)

    def _consume_directly(self, command: RemotingCommand, channel: Channel) -> RemotingCommand | None:
        """Pass one message to the group's listener; the reply follows when the listener returns.

        The broker waits ten seconds for the reply; the listener may take longer.
        """
        group = text(command.ext, "consumerGroup")
        consumer = self._consumers.get(group)
        if consumer is None:
            return command.reply(ResponseCode.SYSTEM_ERROR, remark=_no_member(group))
        if not isinstance(consumer, Listeners):
            return command.reply(ResponseCode.SYSTEM_ERROR, remark=f"The Consumer Group <{group}> has no listener")
        if self._direct >= MAX_DIRECT:
            return command.reply(
                ResponseCode.SYSTEM_BUSY, remark=f"{self._direct} messages are already being consumed directly"
            )
        message = message_of(record.decode(command.body or b""), self._body_bytes)
        broker = text_or_none(command.ext, "brokerName") or ""
        self._direct += 1
        self._tasks.spawn(self._directly(consumer, message, broker, command, channel), "consume directly")
        return None

    async def _directly(
        self, consumer: Listeners, message: Message, broker: str, command: RemotingCommand, channel: Channel
    ) -> None:
        try:
            body = await consumer.consume_directly(message, broker)
            await self._clock.going_on()
        finally:
            self._direct -= 1
        answer(command.reply(ResponseCode.SUCCESS, body=body), channel)

    def _reply_arrived(self, command: RemotingCommand, channel: Channel) -> RemotingCommand:
        """Deliver a reply message to the request that waits for it.

        A reply without a waiting request is also answered with SUCCESS and is not unpacked.
        """
        header = PushReplyHeader.from_ext(command.ext)
        decoded = properties.decode(header.properties)
        correlation_id = decoded.get(properties.CORRELATION_ID, "")
        if not self._requests.waits_for(correlation_id):
            log.info("no request waits for the reply %s", correlation_id)
            return command.reply(ResponseCode.SUCCESS)
        try:
            reply = pushed(header, decoded, command.body or b"", self._clock.now_ms(), self._body_bytes)
        except CorruptRecord as error:
            log.info("a reply cannot be decompressed: %s", error)
            return command.reply(ResponseCode.SYSTEM_ERROR, remark="process reply message fail")
        self._requests.arrived(reply)
        return command.reply(ResponseCode.SUCCESS)


def _no_member(group: str) -> str:
    return f"The Consumer Group <{group}> not exist in this consumer"
