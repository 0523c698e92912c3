"""Processor of administrators' requests for groups."""

from sandbox.broker.parts import Answer, BrokerParts, Handler
from sandbox.broker.processors.master_only import refuse_on_a_slave
from sandbox.broker.topics import MAX_QUEUES
from sandbox.kernel.errors import BrokerRefused
from sandbox.remoting.bodies import Connection, ConsumerConnection, ProducerConnection, SubscriptionGroupConfig
from sandbox.remoting.channel import Channel
from sandbox.remoting.codes import RequestCode, ResponseCode
from sandbox.remoting.command import RemotingCommand
from sandbox.remoting.fields import text
from sandbox.remoting.headers import DeleteGroupHeader, GroupHeader
from sandbox.remoting.json_body import dumps, loads, reading


class GroupAdminProcessor:
    """Handlers of group requests: the group part of `AdminBrokerProcessor`."""

    def __init__(self, parts: BrokerParts) -> None:
        self._parts = parts

    def handlers(self) -> dict[int, Handler]:
        return {
            RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP: self.update,
            RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG: self.all,
            RequestCode.DELETE_SUBSCRIPTIONGROUP: self.delete,
            RequestCode.GET_CONSUMER_CONNECTION_LIST: self.consumers,
            RequestCode.GET_PRODUCER_CONNECTION_LIST: self.producers,
        }

    def update(self, c: RemotingCommand, _: Channel) -> Answer:
        refuse_on_a_slave(self._parts.config)
        with reading("subscription group"):
            config = SubscriptionGroupConfig.from_json(loads(c.body))
        allowed = self._parts.config.limits.queues_per_topic or MAX_QUEUES
        if config.retry_queues > allowed:
            raise BrokerRefused(
                ResponseCode.SYSTEM_ERROR, f"a retry topic has at most {allowed} queues, not {config.retry_queues}"
            )
        refusal = self._parts.subscription_groups.refusal(config.group)
        if refusal is not None:
            raise BrokerRefused(ResponseCode.SYSTEM_ERROR, refusal)
        self._parts.subscription_groups.update(config)
        return c.reply(ResponseCode.SUCCESS)

    def all(self, c: RemotingCommand, _: Channel) -> Answer:
        return c.reply(ResponseCode.SUCCESS, body=dumps(self._parts.subscription_groups.to_json()))

    def delete(self, c: RemotingCommand, _: Channel) -> Answer:
        refuse_on_a_slave(self._parts.config)
        header = DeleteGroupHeader.from_ext(c.ext)
        self._parts.subscription_groups.delete(header.group)
        self._parts.pulls.forget_group(header.group)
        self._parts.stats.forget_group(header.group)
        if header.remove_offset:
            self._parts.consumer_offsets.remove_group(header.group)
        return c.reply(ResponseCode.SUCCESS)

    def consumers(self, c: RemotingCommand, _: Channel) -> Answer:
        name = GroupHeader.from_ext(c.ext).group
        group = self._parts.consumers.groups.get(name)
        if group is None:
            return c.reply(ResponseCode.CONSUMER_NOT_ONLINE, remark=f"the consumer group[{name}] not online")
        connections = tuple(
            Connection(info.client_id, info.channel.remote, info.language, info.version)
            for info in group.channels.values()
        )
        subscriptions = tuple(group.subscriptions[topic] for topic in sorted(group.subscriptions))
        body = ConsumerConnection(connections, group.consume_type, group.model, group.from_where, subscriptions)
        return c.reply(ResponseCode.SUCCESS, body=body.encode())

    def producers(self, c: RemotingCommand, _: Channel) -> Answer:
        name = text(c.ext, "producerGroup")
        channels = self._parts.producers.groups.get(name)
        if not channels:
            return c.reply(ResponseCode.SYSTEM_ERROR, remark=f"the producer group[{name}] not exist")
        body = ProducerConnection(
            tuple(
                Connection(info.client_id, info.channel.remote, info.language, info.version)
                for info in channels.values()
            )
        )
        return c.reply(ResponseCode.SUCCESS, body=body.encode())
