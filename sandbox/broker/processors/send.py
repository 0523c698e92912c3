"""Processor of SEND_MESSAGE, SEND_MESSAGE_V2 and SEND_BATCH_MESSAGE."""

from sandbox.broker.delay import delay_level, postpone
from sandbox.broker.parts import Answer, BrokerParts, Handler
from sandbox.broker.processors.send_checks import SendChecks, why_not_put
from sandbox.broker.stored_text import batch_text, host_of, plain_text
from sandbox.broker.transaction.half_messages import HALF_QUEUE_ID, HalfMessage, prepare
from sandbox.kernel.errors import BrokerRefused, CorruptRecord
from sandbox.message import batch
from sandbox.message import properties as props
from sandbox.message import topic_names as names
from sandbox.message.message import InboundBatch, InboundMessage
from sandbox.message.sys_flag import BORN_HOST_V6, HOSTS_V6, MULTI_TAGS, STORE_HOST_V6
from sandbox.remoting.channel import Channel
from sandbox.remoting.codes import RequestCode, ResponseCode
from sandbox.remoting.command import FLAG_ONEWAY, FLAG_RESPONSE, RemotingCommand
from sandbox.remoting.headers import SendHeader
from sandbox.store.results import PutMessageStatus, PutResult

IPV4_HOST_BYTES = 8
NOT_SAFE = {
    PutMessageStatus.FLUSH_DISK_TIMEOUT: ResponseCode.FLUSH_DISK_TIMEOUT,
    PutMessageStatus.FLUSH_SLAVE_TIMEOUT: ResponseCode.FLUSH_SLAVE_TIMEOUT,
    PutMessageStatus.SLAVE_NOT_AVAILABLE: ResponseCode.SLAVE_NOT_AVAILABLE,
}
_inbound = tuple.__new__  # takes half the time of the NamedTuple's constructor, for every message
MAX_BATCH_MESSAGES = 1_900  # their ids, 33 characters each, must fit the header of the answer


class SendProcessor:
    """Handler of sends.  RocketMQ: `SendMessageProcessor` (spec broker-behaviour 2)."""

    def __init__(self, parts: BrokerParts, checks: SendChecks) -> None:
        self._parts = parts
        self._checks = checks
        self._store = parts.store
        self._stats = parts.stats
        self._topics = parts.topics.table
        self._cluster = parts.config.cluster
        self._waits = parts.store.safety.waits
        store_host = host_of(parts.config.stored_address)
        self._store_host_flag = STORE_HOST_V6 if len(store_host) > IPV4_HOST_BYTES else 0
        self._id_prefix = store_host.hex().upper()
        self.settings_changed()

    def settings_changed(self) -> None:
        config = self._parts.config
        self._region = {"MSG_REGION": config.region, "TRACE_ON": "true" if config.trace_on else "false"}
        self._checks.settings_changed()

    def handlers(self) -> dict[int, Handler]:
        return {
            RequestCode.SEND_MESSAGE: self.send,
            RequestCode.SEND_MESSAGE_V2: self.send,
            RequestCode.SEND_BATCH_MESSAGE: self.send,
        }

    def send(self, c: RemotingCommand, channel: Channel) -> Answer:
        """Check and store a message or batch; answer now, or after flush and replication if these are requested.

        A batch is recognised by its header, whatever the code (spec remoting 2.4).
        """
        header = SendHeader.from_ext(c.ext)
        try:
            queue_id = self._checks.queue_for(header, channel)
            if header.batch:
                messages = self._batch(c, header, queue_id, channel)
                self._checks.count(len(messages.bodies) - 1)
                result, wait = self._store.put_batch(messages), plain_text(header.properties, self._cluster)[1]
                topic = messages.topic
            else:
                message = self._message(c, header, queue_id, channel)
                result, wait = self._store.put_message(message), message.wait_store_ok
                topic = message.topic
            if result.status is not PutMessageStatus.PUT_OK:
                raise BrokerRefused(*why_not_put(result.status, self._store))
            if topic is names.HALF_TOPIC:
                self._prepared(message, result)
        except BrokerRefused as no:
            self._stats.puts_failed += 1
            return c.reply(no.code, dict(self._region), remark=no.remark)
        self._stats.put(topic, result.count, result.store_bytes)
        if topic is names.SCHEDULE_TOPIC:
            self._stats.postponed(message.queue_id + 1, result.store_bytes)
        if c.flag & FLAG_ONEWAY:
            if wait and self._waits:
                self._store.safety.when_safe(result.physical_end, lambda status: None)  # the slave gets it at once
            self._store.unanswered.add(result.offsets, self._store.flushed_offset)
            return None
        answer = self._success(c, queue_id, result)
        if wait and self._waits:
            self._answer_when_safe(answer, channel, result)
            return None
        return answer

    def _success(self, c: RemotingCommand, queue_id: int, result: PutResult) -> RemotingCommand:
        """Build the answer to a stored send.

        `queueId` is the requested one, also if the record went to a delay queue or the dead-letter queue.
        """
        prefix, (_, first, _, _, queue_offset, _, physicals) = self._id_prefix, result
        if physicals:
            msg_id = ",".join([f"{prefix}{offset:016X}" for offset in physicals])
        else:
            msg_id = f"{prefix}{first:016X}"
        ext = {"msgId": msg_id, "queueId": str(queue_id), "queueOffset": str(queue_offset), **self._region}
        return RemotingCommand(0, ext, None, flag=FLAG_RESPONSE, opaque=c.opaque, serialize_type=c.serialize_type)

    def _answer_when_safe(self, answer: RemotingCommand, channel: Channel, result: PutResult) -> None:
        """Send the answer after the requested flush and replication; if one fails, its code names that one."""
        unanswered = self._store.unanswered
        unanswered.add(result.offsets, self._store.flushed_offset)

        def settled(status: PutMessageStatus) -> None:
            if status is PutMessageStatus.PUT_OK:
                unanswered.answered(result.offsets)
            else:  # the message is stored all the same
                answer.code = NOT_SAFE[status]
            self._parts.connections.send(channel, answer)

        self._store.safety.when_safe(result.physical_end, settled)

    def _message(self, c: RemotingCommand, header: SendHeader, queue_id: int, channel: Channel) -> InboundMessage:
        """Build the record of one plain message, on the hot path."""
        topic, text, host = header.topic, header.properties, host_of(channel.remote)
        if "TIMER_DEL" in text:
            self._checks.say_delay_is_ignored(topic, text, channel.remote)
        sys_flag = self._sys_flag(header, host)
        if self._topics[topic].filter_type == "MULTI_TAG":
            sys_flag |= MULTI_TAGS
        if topic[0] == "%" or "DELAY\x01" in text or "TRAN_MSG\x01" in text:
            return self._special(c, header, queue_id, sys_flag, host)
        stored, wait = plain_text(text, self._cluster)
        return _inbound(
            InboundMessage,
            (
                topic,
                queue_id,
                c.body or b"",
                stored,
                0,
                sys_flag,
                header.flag,
                header.born_ms,
                host,
                header.reconsume_times,
                0,
                wait,
            ),
        )

    def _sys_flag(self, header: SendHeader, host: bytes) -> int:
        """Return the sender's flag with the address bits set by the broker."""
        sys_flag = header.sys_flag & ~HOSTS_V6 | self._store_host_flag
        return sys_flag | BORN_HOST_V6 if len(host) > IPV4_HOST_BYTES else sys_flag

    def _special(
        self, c: RemotingCommand, header: SendHeader, queue_id: int, sys_flag: int, host: bytes
    ) -> InboundMessage:
        """Build the record of a retry, delayed or half message, which is stored in another topic."""
        properties, topic = props.decode(header.properties), header.topic
        if topic.startswith(names.RETRY_PREFIX):
            topic, queue_id = self._checks.retry_or_dead_letter(c, header, queue_id, properties)
        properties[props.CLUSTER] = self._cluster
        wait = properties.get(props.WAIT, "true").lower() == "true"
        if self._checks.is_transaction(header, properties):
            sys_flag = prepare(properties, topic, queue_id, sys_flag)
            topic, queue_id = names.HALF_TOPIC, HALF_QUEUE_ID
        level = delay_level(properties)
        if level > 0:  # also of a half message, which has no effect when it is due
            level = postpone(properties, topic, queue_id, level, self._parts.delay.max_level)
            topic, queue_id = names.SCHEDULE_TOPIC, level - 1
        elif topic[0] != "%" and topic is not names.HALF_TOPIC:
            properties.pop(props.WAIT, None)
        return InboundMessage(
            topic,
            queue_id,
            c.body or b"",
            props.encode(properties).encode(),
            0,
            sys_flag,
            header.flag,
            header.born_ms,
            host,
            header.reconsume_times,
            0,
            wait,
        )

    def _prepared(self, message: InboundMessage, result: PutResult) -> None:
        """Register a stored half message as an open transaction."""
        properties = props.decode(message.properties.decode())
        self._parts.transactions.prepared(
            HalfMessage.of_properties(
                properties,
                result.queue_offset,
                result.physical_offset,
                message.born_ms,
                host_of(self._parts.config.stored_address),
            )
        )

    def _batch(self, c: RemotingCommand, header: SendHeader, queue_id: int, channel: Channel) -> InboundBatch:
        topic = header.topic
        if topic.startswith(names.RETRY_PREFIX):
            raise BrokerRefused(ResponseCode.MESSAGE_ILLEGAL, f"batch request does not support retry group {topic}")
        try:
            items = batch.decode(c.body or b"", MAX_BATCH_MESSAGES)
        except CorruptRecord as error:
            raise BrokerRefused(ResponseCode.SYSTEM_ERROR, str(error)) from None
        if not items:
            raise BrokerRefused(ResponseCode.MESSAGE_ILLEGAL, "the batch holds no message")
        if len(items) > MAX_BATCH_MESSAGES:
            raise BrokerRefused(ResponseCode.MESSAGE_ILLEGAL, f"a batch holds at most {MAX_BATCH_MESSAGES} messages")
        host = host_of(channel.remote)
        sys_flag = self._sys_flag(header, host)
        shared = batch_text(header.properties, self._cluster)
        flags, bodies, own = zip(*items, strict=True)
        texts = [batch.join_properties(text, shared) for text in own]
        return InboundBatch(
            topic, queue_id, bodies, texts, flags, sys_flag, header.born_ms, host, header.reconsume_times
        )
