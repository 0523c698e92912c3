"""Processor of administrators' requests for lag, throughput counters and queue entries."""

from collections.abc import Iterable, Iterator

from sandbox.broker import remarks
from sandbox.broker.parts import Answer, BrokerParts, Handler
from sandbox.message.queue import MessageQueue
from sandbox.remoting.bodies import (
    ConsumeStats,
    ConsumeStatsList,
    ConsumeTimeSpans,
    CorrectionOffsets,
    GroupOffset,
    QueueEntries,
    QueueEntry,
    QueueTimeSpan,
    TopicConfig,
)
from sandbox.remoting.channel import Channel
from sandbox.remoting.codes import RequestCode, ResponseCode
from sandbox.remoting.command import RemotingCommand
from sandbox.remoting.fields import INT64_END
from sandbox.remoting.headers import (
    AllConsumeStatsHeader,
    ConsumeStatsHeader,
    CorrectionOffsetHeader,
    QueueEntriesHeader,
    StatsHeader,
    TopicGroupHeader,
)
from sandbox.remoting.json_body import Queue, dumps

MAX_QUEUE_ENTRIES = 4_096  # in one answer; RocketMQ reads to the end of the queue's file
NO_TIME_MS = -1
NEVER = INT64_END - 1  # Java's Long.MAX_VALUE


class StatisticsProcessor:
    """Handlers of statistics requests of `AdminBrokerProcessor` (spec broker-behaviour 9, remoting 2.2)."""

    def __init__(self, parts: BrokerParts) -> None:
        self._parts = parts
        self._store = parts.store

    def handlers(self) -> dict[int, Handler]:
        return {
            RequestCode.GET_CONSUME_STATS: self.consume_stats,
            RequestCode.GET_BROKER_CONSUME_STATS: self.all_consume_stats,
            RequestCode.QUERY_CONSUME_TIME_SPAN: self.time_spans,
            RequestCode.QUERY_CORRECTION_OFFSET: self.corrections,
            RequestCode.VIEW_BROKER_STATS_DATA: self.counter,
            RequestCode.QUERY_CONSUME_QUEUE: self.queue_entries,
        }

    def consume_stats(self, c: RemotingCommand, _: Channel) -> Answer:
        """Answer with a group's offsets in every read queue of its topics.

        The topics are those in which the group has committed.  If it is online, it must also subscribe to them.
        """
        header = ConsumeStatsHeader.from_ext(c.ext)
        rows: dict[Queue, GroupOffset] = {}
        tps = 0.0
        topics = [header.topic] if header.topic else self._parts.consumer_offsets.topics_of(header.group)
        for topic in self._consumed(header.group, topics):
            rows.update(self._offsets(header.group, topic.topic, topic.read_queues))
            tps += self._parts.stats.items.group_tps(header.group, topic.topic)
        return c.reply(ResponseCode.SUCCESS, body=ConsumeStats(rows, tps).encode())

    def all_consume_stats(self, c: RemotingCommand, _: Channel) -> Answer:
        """Answer with the offsets of every configured group, by topic, in the write queues (as RocketMQ does)."""
        header = AllConsumeStatsHeader.from_ext(c.ext)
        groups: list[tuple[str, tuple[ConsumeStats, ...]]] = []
        lag = 0
        topics = self._parts.consumer_offsets.topics_by_group()
        for group in sorted(self._parts.subscription_groups.table):
            stats: list[ConsumeStats] = []
            for topic in self._consumed(group, topics.get(group, ())):
                if header.order and not topic.order:
                    continue
                rows = dict(self._offsets(group, topic.topic, topic.write_queues))
                lag += sum(row.broker_offset - row.consumer_offset for row in rows.values())
                stats.append(ConsumeStats(rows, self._parts.stats.items.group_tps(group, topic.topic)))
            groups.append((group, tuple(stats)))
        body = ConsumeStatsList(self._parts.config.address, tuple(groups), lag)
        return c.reply(ResponseCode.SUCCESS, body=body.encode())

    def time_spans(self, c: RemotingCommand, _: Channel) -> Answer:
        """Answer with the time span of each write queue: store times of the oldest, newest and last consumed
        message.

        It also has the delay: the time for which the next message waits.
        """
        header = TopicGroupHeader.from_ext(c.ext)
        topic = self._parts.topics.get(header.topic)
        if topic is None:
            return c.reply(ResponseCode.TOPIC_NOT_EXIST, remark=f"topic[{header.topic}] not exist")
        spans = tuple(self._span(header.group, header.topic, queue_id) for queue_id in range(topic.write_queues))
        body = ConsumeTimeSpans(spans).encode(self._store.config.utc_offset_minutes)
        return c.reply(ResponseCode.SUCCESS, body=body)

    def corrections(self, c: RemotingCommand, _: Channel) -> Answer:
        """Answer with the smallest offset of all groups per queue; Long.MAX_VALUE if `compareGroup` is before it.

        RocketMQ permanently deletes the offsets of `filterGroups` while it answers; here they are only omitted from
        the answer.
        """
        header = CorrectionOffsetHeader.from_ext(c.ext)
        smallest: dict[int, int] = {}
        for (topic, group), queues in self._parts.consumer_offsets.table.items():
            if topic != header.topic or group in header.filter_groups:
                continue
            for queue_id, offset in queues.items():
                if offset >= self._store.min_offset(topic, queue_id):
                    smallest[queue_id] = min(offset, smallest.get(queue_id, offset))
        for queue_id, offset in self._parts.consumer_offsets.queues_of(header.compare_group, header.topic):
            if smallest.get(queue_id, offset) > offset:
                smallest[queue_id] = NEVER
        return c.reply(ResponseCode.SUCCESS, body=CorrectionOffsets(smallest).encode())

    def counter(self, c: RemotingCommand, _: Channel) -> Answer:
        header = StatsHeader.from_ext(c.ext)
        data = self._parts.stats.items.get(header.name, header.key)
        if data is None:
            return c.reply(ResponseCode.SYSTEM_ERROR, remark=f"The stats <{header.name}> <{header.key}> not exist")
        return c.reply(ResponseCode.SUCCESS, body=data.encode())

    def queue_entries(self, c: RemotingCommand, _: Channel) -> Answer:
        """Answer with entries of a consume queue; if the first is missing, with code 0 and no body."""
        header = QueueEntriesHeader.from_ext(c.ext)
        name, queue_id = header.topic, header.queue_id
        if (name, queue_id) not in self._store.queues():
            return c.reply(ResponseCode.SYSTEM_ERROR, remark=f"{queue_id}@{name} is not exist!")
        low, high = self._store.min_offset(name, queue_id), self._store.max_offset(name, queue_id)
        if not low <= header.first < high:
            return c.reply(ResponseCode.SUCCESS, remark=f"Index {header.first} of {queue_id}@{name} is not exist!")
        count = max(0, min(header.most, high - header.first, MAX_QUEUE_ENTRIES))
        units = (self._store.unit(name, queue_id, offset) for offset in range(header.first, header.first + count))
        entries = tuple(QueueEntry(*unit) for unit in units if unit is not None)
        body = QueueEntries(low, high, entries)
        if header.group is not None:
            body = self._with_subscription(body, header.group, name)
        return c.reply(ResponseCode.SUCCESS, body=body.encode(), remark=remarks.NOT_SET)

    def _with_subscription(self, body: QueueEntries, group: str, topic: str) -> QueueEntries:
        sub = self._parts.consumers.subscription(group, topic)
        if sub is None:
            return body._replace(filter_data=f"{group}@{topic} is not online!")
        data = self._parts.filters.get(topic, group)
        return body._replace(subscription=sub, filter_data=dumps(data.to_json() if data else None).decode())

    def _consumed(self, group: str, topics: Iterable[str]) -> Iterator[TopicConfig]:
        """Yield the topics that exist here and, if the group is online, that the group subscribes to."""
        parts = self._parts
        online = parts.consumers.groups.get(group)
        for name in topics:
            known = parts.topics.get(name)
            if known is not None and not (online and online.subscriptions and name not in online.subscriptions):
                yield known

    def _offsets(self, group: str, topic: str, queues: int) -> Iterator[tuple[Queue, GroupOffset]]:
        for queue_id in range(queues):
            consumed = max(0, self._parts.consumer_offsets.get(group, topic, queue_id) or 0)
            last_ms = self._store.store_time(topic, queue_id, consumed - 1) if consumed > 0 else None
            yield (
                MessageQueue(topic, self._parts.config.name, queue_id),
                GroupOffset(self._store.max_offset(topic, queue_id), consumed, max(0, last_ms or 0)),
            )

    def _span(self, group: str, topic: str, queue_id: int) -> QueueTimeSpan:
        high = self._store.max_offset(topic, queue_id)
        stored = self._parts.consumer_offsets.get(group, topic, queue_id)
        consumed = -1 if stored is None else stored
        earliest = self._store.earliest_store_time(topic, queue_id)
        min_ms = NO_TIME_MS if earliest is None else earliest
        delay_ms = 0
        if consumed < high:
            delay_ms = self._parts.clock.now_ms() - self._time(topic, queue_id, consumed)
        consumed_ms = self._time(topic, queue_id, consumed - 1) if consumed > 0 else min_ms
        return QueueTimeSpan(
            MessageQueue(topic, self._parts.config.name, queue_id),
            min_ms,
            self._time(topic, queue_id, high - 1),
            consumed_ms,
            delay_ms,
        )

    def _time(self, topic: str, queue_id: int, offset: int) -> int:
        stored_ms = self._store.store_time(topic, queue_id, offset) if offset >= 0 else None
        return NO_TIME_MS if stored_ms is None else stored_ms
