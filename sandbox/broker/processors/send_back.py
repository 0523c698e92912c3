"""Processor of CONSUMER_SEND_MSG_BACK: stores failed messages for a later delivery."""

from sandbox.broker import remarks
from sandbox.broker.delay import postpone
from sandbox.broker.parts import Answer, BrokerParts, Handler
from sandbox.broker.processors.send_checks import VERSION_WITH_MAX_RECONSUME
from sandbox.broker.stored_text import host_of
from sandbox.broker.topics import DEAD_LETTER_QUEUES
from sandbox.journal.events import MessageDeadLettered, MessageRetried
from sandbox.kernel.errors import BrokerRefused
from sandbox.message import msg_id
from sandbox.message import properties as props
from sandbox.message import topic_names as names
from sandbox.message.message import InboundMessage, StoredMessage
from sandbox.remoting.channel import Channel
from sandbox.remoting.codes import RequestCode, ResponseCode
from sandbox.remoting.command import RemotingCommand
from sandbox.remoting.headers import SendBackHeader
from sandbox.store.results import PutMessageStatus

FIRST_RETRY_LEVEL = 3


class SendBackProcessor:
    """Handler of sent-back messages.

    RocketMQ: `SendMessageProcessor.asyncConsumerSendMsgBack` (spec broker-behaviour 2.2).
    """

    def __init__(self, parts: BrokerParts) -> None:
        self._parts = parts

    def handlers(self) -> dict[int, Handler]:
        return {RequestCode.CONSUMER_SEND_MSG_BACK: self.send_back}

    def send_back(self, c: RemotingCommand, _: Channel) -> Answer:
        """Store a copy for the group only: in its retry topic after a delay, or in its dead-letter queue."""
        header, parts = SendBackHeader.from_ext(c.ext), self._parts
        config = parts.subscription_groups.find(header.group)
        if config is None:
            raise BrokerRefused(ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, remarks.send_group_missing(header.group))
        if not parts.config.writable:
            raise BrokerRefused(
                ResponseCode.NO_PERMISSION, f"the broker[{parts.config.ip}] sending message is forbidden"
            )
        if config.retry_queues <= 0:
            return c.reply(ResponseCode.SUCCESS)
        if len(names.retry_topic(header.group).encode()) > names.MAX_TOPIC_LENGTH:
            raise BrokerRefused(
                ResponseCode.MESSAGE_ILLEGAL, f"the retry topic of {header.group} is longer than topic max length."
            )
        topic = parts.topics.create_for_group(names.retry_topic(header.group), config.retry_queues, "retry")
        if not topic.permission & 2:
            raise BrokerRefused(ResponseCode.NO_PERMISSION, f"the topic[{topic.topic}] sending message is forbidden")
        stored = parts.store.read_message(header.physical_offset)
        if stored is None:
            raise BrokerRefused(ResponseCode.SYSTEM_ERROR, f"look message by offset failed, {header.physical_offset}")
        allowed = config.retry_max_times
        if c.version >= VERSION_WITH_MAX_RECONSUME and header.max_reconsume_times is not None:
            allowed = header.max_reconsume_times
        dead = stored.reconsume_times >= allowed or header.delay_level < 0
        queue_id = parts.chance.below(config.retry_queues)
        self._put(header, stored, dead=dead, queue_id=queue_id)
        return c.reply(ResponseCode.SUCCESS)

    def _put(self, header: SendBackHeader, stored: StoredMessage, *, dead: bool, queue_id: int) -> None:
        parts, properties = self._parts, dict(stored.properties)
        properties.setdefault(props.RETRY_TOPIC, stored.topic)
        properties[props.WAIT] = "false"
        level = 0 if dead else header.delay_level or FIRST_RETRY_LEVEL + stored.reconsume_times
        properties[props.DELAY] = str(level)
        own_id = msg_id.encode(host_of(stored.store_host), stored.physical_offset)
        properties.setdefault(props.ORIGIN_MESSAGE_ID, own_id)
        if dead:
            topic, queue_id = names.dead_letter_topic(header.group), 0
            parts.topics.create_for_group(topic, DEAD_LETTER_QUEUES, "dead_letter")
        else:
            level = postpone(properties, names.retry_topic(header.group), queue_id, level, parts.delay.max_level)
            topic, queue_id = names.SCHEDULE_TOPIC, level - 1
        result = parts.store.put_message(
            InboundMessage(
                topic,
                queue_id,
                stored.body,
                props.encode(properties).encode(),
                0,
                stored.sys_flag,
                stored.flag,
                stored.born_ms,
                host_of(stored.born_host),
                stored.reconsume_times + 1,
                0,
                wait_store_ok=False,
            )
        )
        if result.status is not PutMessageStatus.PUT_OK:
            raise BrokerRefused(ResponseCode.SYSTEM_ERROR, result.status.name)  # not the codes of a send
        parts.stats.sent_back(header.group, properties[props.RETRY_TOPIC], level, result.store_bytes)
        self._report(header, stored, level, dead=dead)

    def _report(self, header: SendBackHeader, stored: StoredMessage, level: int, *, dead: bool) -> None:
        parts = self._parts
        if dead:
            parts.journal.write(
                MessageDeadLettered(
                    group=header.group,
                    topic=stored.topic,
                    broker=parts.config.name,
                    queue_id=stored.queue_id,
                    offset=stored.queue_offset,
                    reconsume_times=stored.reconsume_times,
                )
            )
        elif parts.journal.tracing:
            parts.journal.write(
                MessageRetried(
                    group=header.group,
                    topic=stored.topic,
                    broker=parts.config.name,
                    queue_id=stored.queue_id,
                    offset=stored.queue_offset,
                    delay_level=level,
                    reconsume_times=stored.reconsume_times + 1,
                    why="result",
                    target="broker",
                )
            )
