"""Processor of administrators' requests for topics."""

from sandbox.broker import remarks
from sandbox.broker.parts import Answer, BrokerParts, Handler
from sandbox.broker.processors.master_only import refuse_on_a_slave
from sandbox.broker.topics import MAX_QUEUES
from sandbox.kernel.errors import BrokerRefused
from sandbox.message import topic_names as names
from sandbox.remoting.bodies import GroupList, TopicConfig, TopicConfigTable, TopicList
from sandbox.remoting.channel import Channel
from sandbox.remoting.codes import RequestCode, ResponseCode
from sandbox.remoting.command import RemotingCommand
from sandbox.remoting.headers import CreateTopicHeader, TopicHeader


class TopicAdminProcessor:
    """Handlers of topic requests: the topic part of `AdminBrokerProcessor` (spec broker-behaviour 9)."""

    def __init__(self, parts: BrokerParts) -> None:
        self._parts = parts

    def handlers(self) -> dict[int, Handler]:
        return {
            RequestCode.UPDATE_AND_CREATE_TOPIC: self.update,
            RequestCode.DELETE_TOPIC_IN_BROKER: self.delete,
            RequestCode.GET_ALL_TOPIC_CONFIG: self.all,
            RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_BROKER: self.system,
            RequestCode.QUERY_TOPIC_CONSUME_BY_WHO: self.consumed_by,
        }

    def update(self, c: RemotingCommand, _: Channel) -> Answer:
        topic, read, write, permission, kind, sys_flag, *_unread = CreateTopicHeader.from_ext(c.ext)
        self.put(TopicConfig(topic, read, write, permission, kind, sys_flag), "broker")
        return c.reply(ResponseCode.SUCCESS, remark=remarks.NOT_SET)

    def delete(self, c: RemotingCommand, _: Channel) -> Answer:
        self.remove(TopicHeader.from_ext(c.ext).topic)
        return c.reply(ResponseCode.SUCCESS)

    def all(self, c: RemotingCommand, _: Channel) -> Answer:
        topics = self._parts.topics
        return c.reply(ResponseCode.SUCCESS, {}, TopicConfigTable(topics.version, topics.table).encode())

    def system(self, c: RemotingCommand, _: Channel) -> Answer:
        return c.reply(ResponseCode.SUCCESS, body=TopicList(tuple(sorted(self._parts.topics.system))).encode())

    def consumed_by(self, c: RemotingCommand, _: Channel) -> Answer:
        """Answer with the groups that are online with the topic and those that have committed in it."""
        topic = TopicHeader.from_ext(c.ext).topic
        groups = {*self._parts.consumers.groups_of_topic(topic), *self._parts.consumer_offsets.groups_of(topic)}
        return c.reply(ResponseCode.SUCCESS, body=GroupList(tuple(sorted(groups))).encode())

    def put(self, topic: TopicConfig, how: str) -> None:
        """Create or change a topic.  A smaller queue count deletes no data.  Raises BrokerRefused."""
        refuse_on_a_slave(self._parts.config)
        self._named(topic.topic)
        wrong = [queues for queues in (topic.read_queues, topic.write_queues) if not 0 <= queues <= MAX_QUEUES]
        if wrong:
            raise BrokerRefused(ResponseCode.SYSTEM_ERROR, f"a topic has 0 to {MAX_QUEUES} queues, not {wrong[0]}")
        refusal = self._parts.topics.refusal(topic)
        if refusal is not None:
            raise BrokerRefused(ResponseCode.SYSTEM_ERROR, refusal)
        self._parts.topics.update(topic, how)

    def remove(self, topic: str) -> None:
        """Delete the topic and its queues; its messages stay in the log until their files are deleted."""
        refuse_on_a_slave(self._parts.config)
        self._named(topic)
        if self._parts.topics.delete(topic):
            self._parts.store.delete_topic(topic)
            self._parts.pulls.forget_topic(topic)
            self._parts.stats.forget_topic(topic)

    def _named(self, topic: str) -> None:
        complaint = names.complaint(topic)
        if complaint is None and self._parts.topics.is_system(topic):
            complaint = f"The topic[{topic}] is conflict with system topic."
        if complaint is not None:
            raise BrokerRefused(ResponseCode.SYSTEM_ERROR, complaint)
