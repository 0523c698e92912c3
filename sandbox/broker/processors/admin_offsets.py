"""Processor of administrators' requests for queue ranges, group offsets and whole tables."""

from sandbox.broker.parts import Answer, BrokerParts, Handler
from sandbox.message.queue import MessageQueue
from sandbox.remoting.bodies import TopicOffset, TopicStats
from sandbox.remoting.channel import Channel
from sandbox.remoting.codes import RequestCode, ResponseCode
from sandbox.remoting.command import RemotingCommand
from sandbox.remoting.headers import CloneOffsetsHeader, QueueHeader, SearchOffsetHeader, TopicHeader
from sandbox.remoting.json_body import Queue, dumps


class OffsetAdminProcessor:
    """Handlers of offset requests: the offset part of `AdminBrokerProcessor` (spec broker-behaviour 7, 9)."""

    def __init__(self, parts: BrokerParts) -> None:
        self._parts = parts
        self._store = parts.store

    def handlers(self) -> dict[int, Handler]:
        return {
            RequestCode.SEARCH_OFFSET_BY_TIMESTAMP: self.search,
            RequestCode.GET_MAX_OFFSET: self.largest,
            RequestCode.GET_MIN_OFFSET: self.smallest,
            RequestCode.GET_EARLIEST_MSG_STORETIME: self.earliest,
            RequestCode.GET_ALL_CONSUMER_OFFSET: self.all_consumer_offsets,
            RequestCode.GET_ALL_DELAY_OFFSET: self.all_delay_offsets,
            RequestCode.GET_TOPIC_STATS_INFO: self.topic_stats,
            RequestCode.CLONE_GROUP_OFFSET: self.clone,
        }

    def search(self, c: RemotingCommand, _: Channel) -> Answer:
        header = SearchOffsetHeader.from_ext(c.ext)
        return _offset(c, self._store.offset_by_time(header.topic, header.queue_id, header.timestamp_ms))

    def largest(self, c: RemotingCommand, _: Channel) -> Answer:
        header = QueueHeader.from_ext(c.ext)
        return _offset(c, self._store.max_offset(header.topic, header.queue_id))

    def smallest(self, c: RemotingCommand, _: Channel) -> Answer:
        header = QueueHeader.from_ext(c.ext)
        return _offset(c, self._store.min_offset(header.topic, header.queue_id))

    def earliest(self, c: RemotingCommand, _: Channel) -> Answer:
        header = QueueHeader.from_ext(c.ext)
        stored_ms = self._store.earliest_store_time(header.topic, header.queue_id)
        return c.reply(ResponseCode.SUCCESS, {"timestamp": str(-1 if stored_ms is None else stored_ms)})

    def all_consumer_offsets(self, c: RemotingCommand, _: Channel) -> Answer:
        return c.reply(ResponseCode.SUCCESS, body=dumps(self._parts.consumer_offsets.to_json()))

    def all_delay_offsets(self, c: RemotingCommand, _: Channel) -> Answer:
        return c.reply(ResponseCode.SUCCESS, body=dumps(self._parts.delay.to_json()))

    def topic_stats(self, c: RemotingCommand, _: Channel) -> Answer:
        name = TopicHeader.from_ext(c.ext).topic
        topic = self._parts.topics.get(name)
        if topic is None:
            return c.reply(ResponseCode.TOPIC_NOT_EXIST, remark=f"topic[{name}] not exist")
        rows: dict[Queue, TopicOffset] = {}
        for queue_id in range(topic.write_queues):
            low, high = self._store.min_offset(name, queue_id), self._store.max_offset(name, queue_id)
            newest_ms = self._store.store_time(name, queue_id, high - 1) if high > 0 else None
            rows[MessageQueue(name, self._parts.config.name, queue_id)] = TopicOffset(max(0, low), high, newest_ms or 0)
        return c.reply(ResponseCode.SUCCESS, body=TopicStats(rows).encode())

    def clone(self, c: RemotingCommand, _: Channel) -> Answer:
        """Copy the offsets of one group to another, in one topic or in all topics of this broker.

        Unless `offline`, topics that an online source group does not subscribe to are omitted.  (RocketMQ 4.9.8
        copies nothing if no topic is named, by mistake.)
        """
        source, target, topic, offline = CloneOffsetsHeader.from_ext(c.ext)
        online = None if offline else self._parts.consumers.groups.get(source)
        for name in [topic] if topic else self._parts.consumer_offsets.topics_of(source):
            left = online is not None and online.subscriptions and name not in online.subscriptions
            if name in self._parts.topics.table and not left:
                self._parts.consumer_offsets.clone(source, target, name)
        return c.reply(ResponseCode.SUCCESS)


def _offset(c: RemotingCommand, offset: int) -> Answer:
    return c.reply(ResponseCode.SUCCESS, {"offset": str(offset)})
