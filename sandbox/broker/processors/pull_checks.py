"""Checks of a pull: the client's permission to read the queue, and the filter of the messages."""

from functools import lru_cache

from sandbox.broker import remarks
from sandbox.broker.consumer_filters import compiled
from sandbox.broker.parts import BrokerParts
from sandbox.kernel.errors import BadExpression, BrokerRefused
from sandbox.message.filter import SQL92, TAG, MessageFilter, parse_tags
from sandbox.remoting.bodies import SubscriptionGroupConfig
from sandbox.remoting.channel import Channel
from sandbox.remoting.codes import ResponseCode
from sandbox.remoting.headers import PullHeader

FLAG_SUBSCRIPTION = 4

MAX_SHORT_CHARS = 1_024  # length of a cached tag expression; a thousand longer ones would fill the memory
MAX_LONG_CHARS = 128 * 1024  # a parsed one may use 10 MB
_short = lru_cache(maxsize=1024)(parse_tags)
_long = lru_cache(maxsize=4)(parse_tags)


class PullChecks:
    """Checks of a pull, in the order of `PullMessageProcessor.processRequest` (spec broker-behaviour 3.1)."""

    def __init__(self, parts: BrokerParts) -> None:
        self._parts = parts
        self._config = parts.config

    def wanted(self, header: PullHeader, channel: Channel) -> tuple[SubscriptionGroupConfig, MessageFilter]:
        """Check a pull; return the group's configuration and its filter of this topic.  Raises BrokerRefused."""
        parts, ip = self._parts, self._config.ip
        if not self._config.readable:
            raise BrokerRefused(ResponseCode.NO_PERMISSION, f"the broker[{ip}] pulling message is forbidden")
        group = parts.subscription_groups.find(header.group)
        if group is None:
            raise BrokerRefused(ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, remarks.group_missing(header.group))
        if not group.consume_enable:
            raise BrokerRefused(ResponseCode.NO_PERMISSION, f"subscription group no permission, {header.group}")
        topic = parts.topics.table.get(header.topic)
        if topic is None:
            raise BrokerRefused(ResponseCode.TOPIC_NOT_EXIST, remarks.pull_topic_missing(header.topic))
        if not topic.permission & 4:
            raise BrokerRefused(ResponseCode.NO_PERMISSION, f"the topic[{header.topic}] pulling message is forbidden")
        if not 0 <= header.queue_id < topic.read_queues:
            raise BrokerRefused(
                ResponseCode.SYSTEM_ERROR,
                f"queueId[{header.queue_id}] is illegal, topic:[{header.topic}] "
                f"topicConfig.readQueueNums:[{topic.read_queues}] consumer:[/{channel.remote}]",
            )
        if header.sys_flag & FLAG_SUBSCRIPTION:
            return group, self._asked(header)
        return group, self._registered(header, group)

    def _asked(self, header: PullHeader) -> MessageFilter:
        """Return the filter of the expression in the pull.

        RocketMQ delivers everything if the expression does not compile; here the pull is refused.
        """
        kind, text = header.expression_type or TAG, header.subscription or ""
        parse_failed = BrokerRefused(ResponseCode.SUBSCRIPTION_PARSE_FAILED, remarks.SUBSCRIPTION_PARSE_FAILED)
        if kind != TAG and not text:
            raise parse_failed
        if kind != TAG:
            self._check_property_filter(kind)
            if kind != SQL92:
                raise parse_failed
        try:
            if kind == SQL92:
                return compiled(text)
            parse = _short if len(text) <= MAX_SHORT_CHARS else _long if len(text) <= MAX_LONG_CHARS else parse_tags
            return parse(text)
        except (ValueError, BadExpression):
            raise parse_failed from None

    def _registered(self, header: PullHeader, config: SubscriptionGroupConfig) -> MessageFilter:
        """Return the filter of the group's last heartbeats."""
        members = self._parts.consumers.groups.get(header.group)
        if members is None:
            raise BrokerRefused(ResponseCode.SUBSCRIPTION_NOT_EXIST, remarks.GROUP_INFO_MISSING)
        if members.model == "BROADCASTING" and not config.consume_broadcast_enable:
            raise BrokerRefused(
                ResponseCode.NO_PERMISSION, f"the consumer group[{header.group}] can not consume by broadcast way"
            )
        sub = members.subscriptions.get(header.topic)
        if sub is None:
            raise BrokerRefused(ResponseCode.SUBSCRIPTION_NOT_EXIST, remarks.SUBSCRIPTION_MISSING)
        if sub.sub_version < header.sub_version:
            raise BrokerRefused(ResponseCode.SUBSCRIPTION_NOT_LATEST, remarks.SUBSCRIPTION_NOT_LATEST)
        if (sub.expression_type or TAG) != TAG:
            return self._compiled_at_heartbeat(header, sub.expression_type)
        return members.tag_filters[header.topic]

    def _compiled_at_heartbeat(self, header: PullHeader, kind: str) -> MessageFilter:
        data = self._parts.filters.get(header.topic, header.group)
        if data is None:
            raise BrokerRefused(ResponseCode.FILTER_DATA_NOT_EXIST, remarks.FILTER_DATA_MISSING)
        if data.version < header.sub_version:
            raise BrokerRefused(ResponseCode.FILTER_DATA_NOT_LATEST, remarks.FILTER_DATA_NOT_LATEST)
        self._check_property_filter(kind)
        return data.filter

    def _check_property_filter(self, kind: str) -> None:
        if not self._config.property_filter:
            raise BrokerRefused(ResponseCode.SYSTEM_ERROR, f"{remarks.SQL_OFF}{kind}")
