"""Processor of 5.x administrators' requests for one topic or one group, instead of whole tables."""

from sandbox.broker.parts import Answer, BrokerParts, Handler
from sandbox.remoting.bodies import TopicList
from sandbox.remoting.channel import Channel
from sandbox.remoting.codes import RequestCode, ResponseCode
from sandbox.remoting.command import RemotingCommand
from sandbox.remoting.fields import text
from sandbox.remoting.headers import TopicGroupHeader, TopicHeader
from sandbox.remoting.json_body import dumps


class DetailsProcessor:
    """Handlers of single topics and groups.

    RocketMQ 5.3: `AdminBrokerProcessor.getTopicConfig` and similar ones (spec remoting 2.2, 8).
    """

    def __init__(self, parts: BrokerParts) -> None:
        self._parts = parts

    def handlers(self) -> dict[int, Handler]:
        return {
            RequestCode.GET_TOPIC_CONFIG: self.topic,
            RequestCode.GET_SUBSCRIPTIONGROUP_CONFIG: self.group,
            RequestCode.QUERY_TOPICS_BY_CONSUMER: self.topics_of_group,
            RequestCode.QUERY_SUBSCRIPTION_BY_CONSUMER: self.subscription,
        }

    def topic(self, c: RemotingCommand, _: Channel) -> Answer:
        name = TopicHeader.from_ext(c.ext).topic
        config = self._parts.topics.get(name)
        if config is None:
            return c.reply(ResponseCode.TOPIC_NOT_EXIST, remark=f"No topic in this broker. topic: {name}")
        return c.reply(ResponseCode.SUCCESS, body=dumps(config.to_json()))

    def group(self, c: RemotingCommand, _: Channel) -> Answer:
        """Answer with a group's configuration.

        If groups are created automatically, this creates it, as in RocketMQ.
        """
        config = self._parts.subscription_groups.find(text(c.ext, "group"))
        if config is None:
            return c.reply(ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, remark="No group in this broker")
        return c.reply(ResponseCode.SUCCESS, body=dumps(config.to_json()))

    def topics_of_group(self, c: RemotingCommand, _: Channel) -> Answer:
        """Answer with the topics in which the group has committed."""
        topics = self._parts.consumer_offsets.topics_of(text(c.ext, "group"))
        return c.reply(ResponseCode.SUCCESS, body=TopicList(tuple(topics), self._parts.config.address).encode())

    def subscription(self, c: RemotingCommand, _: Channel) -> Answer:
        """Answer with an online group's subscription to a topic; the body of an offline group has none."""
        header = TopicGroupHeader.from_ext(c.ext)
        body: dict[str, object] = {"group": header.group, "topic": header.topic}
        sub = self._parts.consumers.subscription(header.group, header.topic)
        if sub is not None:
            body["subscriptionData"] = sub.to_json()
        return c.reply(ResponseCode.SUCCESS, body=dumps(body))
