"""Checks of a send: the permission to store the message, and its queue."""

from sandbox.broker import remarks
from sandbox.broker.delay import delay_level
from sandbox.broker.parts import BrokerParts
from sandbox.broker.topics import DEAD_LETTER_QUEUES
from sandbox.journal.events import DelayIgnored, LimitReached
from sandbox.kernel.errors import BrokerRefused
from sandbox.message import properties as props
from sandbox.message import topic_names as names
from sandbox.remoting.bodies import TopicConfig
from sandbox.remoting.channel import LOOPBACK, Channel
from sandbox.remoting.codes import ResponseCode
from sandbox.remoting.command import RemotingCommand
from sandbox.remoting.headers import SendHeader
from sandbox.store.message_store import MessageStore
from sandbox.store.results import PutMessageStatus

VERSION_WITH_MAX_RECONSUME = 121  # V3_4_9: from this version on the header's maxReconsumeTimes counts


class SendChecks:
    """Checks of a send, in the order of `AbstractSendMessageProcessor.msgCheck` and `handleRetryAndDLQ`.

    A topic's write permission is not checked here, as in 4.9: clients read it in their routes.
    """

    def __init__(self, parts: BrokerParts) -> None:
        self._parts = parts
        self._config = parts.config
        self._topics = parts.topics.table
        self._passed: set[str] = set()  # checked names, all of them topics at that time
        self.settings_changed()
        self._second = 0
        self._in_second = 0
        self._said = 0  # the second in which the limit was last reported
        self._said_delay = 0

    def settings_changed(self) -> None:
        """Apply changed settings, so that every topic is checked again if needed."""
        self._unusual = not self._config.writable or self._config.start_accept_send_ms > 0

    def queue_for(self, header: SendHeader, channel: Channel) -> int:
        """Check a send and return the id of its queue.  Raises BrokerRefused."""
        name = header.topic
        if self._unusual or name not in self._passed or name not in self._topics:
            self._look_at(header, channel)
        topic = self._topics[name]
        queue_id = header.queue_id
        if queue_id >= topic.write_queues and queue_id >= topic.read_queues:
            remark = f"request queueId[{queue_id}] is illegal, {describe(topic)} Producer: {channel.remote}"
            raise BrokerRefused(ResponseCode.SYSTEM_ERROR, remark)
        if self._config.limits.messages_per_s is not None and channel.transport_kind != LOOPBACK:
            self._admit(self._config.limits.messages_per_s, channel)
        if queue_id < 0:
            queue_id = self._parts.chance.below(max(1, topic.write_queues))
        return queue_id

    def count(self, more: int) -> None:
        """Add `more` messages to the current second's count: the rest of a batch, which was counted as one."""
        self._in_second += more

    def retry_or_dead_letter(
        self, c: RemotingCommand, header: SendHeader, queue_id: int, properties: dict[str, str]
    ) -> tuple[str, int]:
        """Return topic and queue id for a message sent to a retry topic.

        After too many retries this is the dead-letter topic.
        """
        group = header.topic[len(names.RETRY_PREFIX) :]
        config = self._parts.subscription_groups.find(group)
        if config is None:
            raise BrokerRefused(ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, remarks.send_group_missing(group))
        allowed = config.retry_max_times
        if c.version >= VERSION_WITH_MAX_RECONSUME and header.max_reconsume_times is not None:
            allowed = header.max_reconsume_times
        if header.reconsume_times < allowed:
            return header.topic, queue_id
        topic = self._parts.topics.create_for_group(names.dead_letter_topic(group), DEAD_LETTER_QUEUES, "dead_letter")
        properties[props.DELAY] = "0"
        return topic.topic, 0

    def is_transaction(self, header: SendHeader, properties: dict[str, str]) -> bool:
        """Return True if this is a half message.

        Raises BrokerRefused (16) if the configuration forbids transactions.  A delayed retry is no half message,
        whatever its flag: clients before 4.6.1 left the flag set in retries.
        """
        if properties.get(props.TRAN_MSG, "").lower() != "true" or (
            header.reconsume_times > 0 and delay_level(properties) > 0
        ):
            return False
        if self._config.reject_transaction:
            raise BrokerRefused(
                ResponseCode.NO_PERMISSION, f"the broker[{self._config.ip}] sending transaction message is forbidden"
            )
        return True

    def _look_at(self, header: SendHeader, channel: Channel) -> None:
        """Check service start, permissions and topic name, and create a missing topic if allowed.

        A topic that has passed is not checked again.
        """
        config, name = self._config, header.topic
        if self._parts.clock.now_ms() < config.start_accept_send_ms:
            raise BrokerRefused(
                ResponseCode.SYSTEM_ERROR, f"broker unable to service, until {config.start_accept_send_ms} ms"
            )
        known = self._topics.get(name)
        if not config.writable and known is not None and known.order:
            raise BrokerRefused(ResponseCode.NO_PERMISSION, f"the broker[{config.ip}] sending message is forbidden")
        complaint = names.complaint(name)
        if complaint is not None:
            raise BrokerRefused(ResponseCode.SYSTEM_ERROR, complaint)
        if name in names.NOT_FOR_SENDING:
            raise BrokerRefused(ResponseCode.NO_PERMISSION, f"Sending message to topic[{name}] is forbidden.")
        if known is None and not self._create(header):
            raise BrokerRefused(ResponseCode.TOPIC_NOT_EXIST, remarks.apply_topic_first(name))
        self._passed.add(name)

    def _create(self, header: SendHeader) -> bool:
        """Create the topic if topics are created automatically; return False if not.

        Topics of groups need an existing group, because the number of groups is limited.
        """
        topics, name = self._parts.topics, header.topic
        for prefix in (names.RETRY_PREFIX, names.DEAD_LETTER_PREFIX):
            group = name.removeprefix(prefix)
            if group != name and self._parts.subscription_groups.find(group) is None:
                raise BrokerRefused(ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, remarks.send_group_missing(group))
        if name.startswith(names.RETRY_PREFIX):
            topics.create_for_group(name, 1, "retry")
            return True
        queues = header.default_topic_queues or 0
        return topics.create_for_send(name, header.default_topic or "", queues) is not None

    def _admit(self, allowed: int, channel: Channel) -> None:
        """Count a send over a real connection towards the limit of messages per second (of the sandbox's clock).

        Raises BrokerRefused above the limit.  In-process producers are slowed down by their host instead.
        """
        second = self._parts.clock.now_ms() // 1000
        if second != self._second:
            self._second, self._in_second = second, 0
        self._in_second += 1
        if self._in_second <= allowed:
            return
        if second != self._said:
            self._said = second
            self._parts.journal.write(
                LimitReached(limit="stored_messages_per_s", value=self._in_second, allowed=allowed, who=channel.remote)
            )
        raise BrokerRefused(
            ResponseCode.SYSTEM_BUSY,
            f"[REJECTREQUEST]system busy, start flow control for a while: {allowed} messages a second are allowed here",
        )

    def say_delay_is_ignored(self, topic: str, properties: str, remote: str) -> None:
        """Write DelayIgnored, at most once a second: a 4.9 broker stores these properties and does not read them."""
        decoded = props.decode(properties)
        name = next((name for name in props.DELAYS_BY_TIME if name in decoded), None)
        second = self._parts.clock.now_ms() // 1000
        if name is None or second == self._said_delay:
            return
        self._said_delay = second
        self._parts.journal.write(DelayIgnored(topic, self._parts.config.node, name, decoded[name][:40], remote))


def describe(topic: TopicConfig) -> str:
    """Return a topic's configuration as Java prints it."""
    rights = ("R" if topic.permission & 4 else "-") + ("W" if topic.permission & 2 else "-")
    rights += "X" if topic.permission & 1 else "-"
    return (
        f"TopicConfig [topicName={topic.topic}, readQueueNums={topic.read_queues}, "
        f"writeQueueNums={topic.write_queues}, perm={rights}, topicFilterType={topic.filter_type}, "
        f"topicSysFlag={topic.sys_flag}, order={'true' if topic.order else 'false'}]"
    )


def why_not_put(status: PutMessageStatus, store: MessageStore) -> tuple[int, str]:
    """Return the code and remark for a refused put.  RocketMQ: `handlePutMessageResult`."""
    if status in (PutMessageStatus.MESSAGE_ILLEGAL, PutMessageStatus.PROPERTIES_SIZE_EXCEEDED):
        return ResponseCode.MESSAGE_ILLEGAL, remarks.message_illegal(store.config.max_message_bytes)
    if status is PutMessageStatus.SERVICE_NOT_AVAILABLE:
        return ResponseCode.SERVICE_NOT_AVAILABLE, remarks.store_unavailable(store.disk_state)
    if status is PutMessageStatus.CREATE_MAPEDFILE_FAILED:
        return ResponseCode.SYSTEM_ERROR, remarks.CREATE_FILE_FAILED
    if status is PutMessageStatus.OS_PAGECACHE_BUSY:
        return ResponseCode.SYSTEM_ERROR, remarks.PAGE_CACHE_BUSY
    return ResponseCode.SYSTEM_ERROR, "UNKNOWN_ERROR"
