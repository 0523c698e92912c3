"""Processor of HEART_BEAT, UNREGISTER_CLIENT and CHECK_CLIENT_CONFIG."""

from sandbox.broker import remarks
from sandbox.broker.consumer_filters import compiled
from sandbox.broker.parts import Answer, BrokerParts, Handler
from sandbox.kernel.errors import BadExpression, BrokerRefused
from sandbox.message.filter import SQL92, TAG
from sandbox.message.topic_names import group_complaint, retry_topic
from sandbox.remoting.bodies import CheckClientBody, HeartbeatData
from sandbox.remoting.channel import Channel
from sandbox.remoting.codes import RequestCode, ResponseCode
from sandbox.remoting.command import Language, RemotingCommand
from sandbox.remoting.headers import UnregisterClientHeader

MAX_GROUPS_PER_CLIENT = 256  # in one heartbeat


class ClientManageProcessor:
    """Handlers of client registration.  RocketMQ: `ClientManageProcessor` (spec broker-behaviour 5)."""

    def __init__(self, parts: BrokerParts) -> None:
        self._parts = parts

    def handlers(self) -> dict[int, Handler]:
        return {
            RequestCode.HEART_BEAT: self.heartbeat,
            RequestCode.UNREGISTER_CLIENT: self.unregister,
            RequestCode.CHECK_CLIENT_CONFIG: self.check,
        }

    def heartbeat(self, c: RemotingCommand, channel: Channel) -> Answer:
        """Register every group of one client.  A new group gets its configuration and its retry topic."""
        parts = self._parts
        data = HeartbeatData.decode(c.body)
        if len(data.consumers) + len(data.producers) > MAX_GROUPS_PER_CLIENT:
            raise BrokerRefused(ResponseCode.SYSTEM_ERROR, f"a client has at most {MAX_GROUPS_PER_CLIENT} groups")
        language = language_name(c.language)
        parts.connections.named(channel, data.client_id, language, c.version)
        for consumer in data.consumers:
            config = parts.subscription_groups.find(consumer.group_name)
            if config is None and parts.subscription_groups.refusal(consumer.group_name) is not None:
                continue  # one group too many, or an invalid name
            if config is not None:
                parts.topics.create_for_group(retry_topic(consumer.group_name), config.retry_queues, "retry")
            parts.consumers.register(
                consumer,
                channel,
                data.client_id,
                language,
                c.version,
                notify_group=config.notify_ids_changed if config else True,
            )
        for group in data.producers:
            if group_complaint(group) is not None:
                continue
            parts.producers.register(group, channel, data.client_id, language, c.version)
        return c.reply(ResponseCode.SUCCESS)

    def unregister(self, c: RemotingCommand, channel: Channel) -> Answer:
        header = UnregisterClientHeader.from_ext(c.ext)
        if header.producer_group:
            self._parts.producers.unregister(header.producer_group, channel)
        if header.consumer_group:
            config = self._parts.subscription_groups.find(header.consumer_group)
            self._parts.consumers.unregister(
                header.consumer_group, channel, notify_group=config.notify_ids_changed if config else True
            )
        return c.reply(ResponseCode.SUCCESS, {})

    def check(self, c: RemotingCommand, _: Channel) -> Answer:
        """Check if the broker can evaluate a filter expression.

        Tag expressions pass; others must compile, and need property filtering on this broker.
        """
        asked = CheckClientBody.decode(c.body).subscription
        kind = asked.expression_type or TAG
        if kind == TAG:
            return c.reply(ResponseCode.SUCCESS)
        if not self._parts.config.property_filter:
            return c.reply(ResponseCode.SYSTEM_ERROR, remark=f"{remarks.SQL_OFF}{kind}")
        if kind != SQL92:
            return c.reply(ResponseCode.SUBSCRIPTION_PARSE_FAILED, remark=f"no filter for {kind}")
        try:
            compiled(asked.sub_string)
        except BadExpression as error:
            return c.reply(ResponseCode.SUBSCRIPTION_PARSE_FAILED, remark=str(error))
        return c.reply(ResponseCode.SUCCESS)


def language_name(number: int) -> str:
    return Language(number).name if number in Language._value2member_map_ else Language.OTHER.name
