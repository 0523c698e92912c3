"""Requests to a cluster, each within its node's limit of concurrent requests."""

from sandbox.attached.lanes import Lanes
from sandbox.attached.picture import Offsets
from sandbox.attached.settings import AttachedSettings
from sandbox.client.admin import Admin, BrokerRuntime, NameServerQuestions
from sandbox.client.admin.messages import PulledRecords
from sandbox.control.limits import AttachedLimits
from sandbox.kernel.clock import Clock
from sandbox.message.message import StoredMessage
from sandbox.message.queue import MessageQueue
from sandbox.remoting.bodies import (
    ClusterInfo,
    Connection,
    ConsumerConnection,
    ConsumeStats,
    QueueEntries,
    RunningInfo,
    TopicConfig,
    TopicOffset,
    TopicRouteData,
)
from sandbox.remoting.channel import Connector
from sandbox.remoting.codes import RequestCode
from sandbox.remoting.headers import ConsumeStatsHeader, ViewMessageHeader
from sandbox.remoting.json_body import loads, number, reading, rows, table, text


class Reach:
    """One administrator's connections to one cluster."""

    def __init__(self, settings: AttachedSettings, connector: Connector, clock: Clock, limits: AttachedLimits) -> None:
        self.admin = Admin(
            settings.name_servers,
            clock=clock,
            connector=connector,
            access_key=settings.access_key,
            secret_key=settings.secret_key,
            timeout_ms=limits.request_timeout_ms,
        )
        self._requests = self.admin.names.requests
        self._patient = self.admin.within(limits.member_timeout_ms)
        self.lanes = Lanes(limits)

    def close(self) -> None:
        self.admin.close()

    def name_server(self, address: str) -> NameServerQuestions:
        """Return a client of this name server only, without failover."""
        return NameServerQuestions(self._requests, (address,))

    async def cluster_info(self, address: str) -> ClusterInfo:
        return await self.lanes.through(address, self.name_server(address).cluster)

    async def runtime(self, address: str) -> BrokerRuntime:
        return await self.lanes.through(address, lambda: self.admin.brokers.runtime(address))

    async def topic_configs(self, address: str) -> dict[str, TopicConfig]:
        return (await self.lanes.through(address, lambda: self.admin.brokers.topic_configs(address))).topics

    async def system_topics(self, address: str) -> tuple[str, ...]:
        return await self.lanes.through(address, lambda: self.admin.brokers.system_topics(address))

    async def group_names(self, address: str) -> frozenset[str]:
        groups = await self.lanes.through(address, lambda: self.admin.brokers.subscription_groups(address))
        return frozenset(groups.groups)

    async def all_offsets(self, address: str) -> Offsets:
        """Return every committed offset of a broker.  Only this table distinguishes a missing offset from 0."""
        reported = await self.lanes.through(address, lambda: self.admin.brokers.consumer_offsets(address))
        offsets: Offsets = {}
        for name, queues in reported.offsets.items():
            topic, mark, group = name.partition("@")
            if mark:
                offsets.setdefault(group, {})[topic] = dict(queues)
        return offsets

    async def topic_ends(self, address: str, topic: str) -> dict[int, TopicOffset]:
        rows_by_queue = await self.lanes.through(address, lambda: self.admin.topics.stats(address, topic))
        return {mq.queue_id: row for mq, row in rows_by_queue.items()}

    async def at_time(self, address: str, mq: MessageQueue, time_ms: int) -> int:
        return await self.lanes.through(address, lambda: self.admin.offsets.at_time(address, mq, time_ms))

    async def reset_by_time(self, address: str, group: str, topic: str, time_ms: int) -> dict[MessageQueue, int]:
        return await self.lanes.through(
            address, lambda: self.admin.offsets.reset_by_time(address, group, topic, time_ms)
        )

    async def reset_queue(self, address: str, group: str, mq: MessageQueue, offset: int) -> None:
        await self.lanes.through(address, lambda: self.admin.offsets.reset_queue(address, group, mq, offset))

    async def commit(self, address: str, group: str, mq: MessageQueue, offset: int) -> None:
        await self.lanes.through(address, lambda: self.admin.offsets.commit(address, group, mq, offset))

    async def config(self, address: str) -> dict[str, str]:
        return await self.lanes.through(address, lambda: self.admin.brokers.config(address))

    async def by_key(self, address: str, topic: str, key: str, from_ms: int, to_ms: int) -> tuple[StoredMessage, ...]:
        return await self.lanes.through(
            address, lambda: self.admin.messages.by_key(address, topic, key, begin_ms=from_ms, end_ms=to_ms)
        )

    async def by_unique_key(self, address: str, topic: str, key: str) -> tuple[StoredMessage, ...]:
        return await self.lanes.through(address, lambda: self.admin.messages.by_unique_key(address, topic, key))

    async def pull(self, address: str, mq: MessageQueue, offset: int, count: int) -> PulledRecords:
        return await self.lanes.through(address, lambda: self.admin.messages.pull(address, mq, offset, count=count))

    async def queue_entries(self, address: str, mq: MessageQueue, first: int, count: int) -> QueueEntries:
        return await self.lanes.through(
            address, lambda: self.admin.messages.queue_entries(address, mq, first, count=count)
        )

    async def record(self, address: str, physical_offset: int) -> bytes | None:
        """Return the bytes of a record (33)."""
        return await self.lanes.through(
            address,
            lambda: self._requests.read(
                address, RequestCode.VIEW_MESSAGE_BY_ID, ViewMessageHeader(physical_offset), lambda answer: answer.body
            ),
        )

    async def route(self, address: str, topic: str) -> TopicRouteData:
        return await self.lanes.through(address, lambda: self.name_server(address).route(topic))

    async def members(self, address: str, group: str) -> ConsumerConnection:
        return await self.lanes.through(address, lambda: self.admin.groups.members(address, group))

    async def consume_stats(self, address: str, group: str) -> ConsumeStats:
        """Return the group's consumption statistics, including the messages pulled per second."""
        return await self.lanes.through(
            address,
            lambda: self._requests.read(
                address,
                RequestCode.GET_CONSUME_STATS,
                ConsumeStatsHeader(group),
                lambda answer: ConsumeStats.decode(answer.body),
            ),
        )

    async def running_info(self, address: str, group: str, client_id: str) -> RunningInfo:
        """Return a member's running info, through its broker.

        The request is outside the broker's limits: a broker waits ten seconds for a member that does not answer.
        """
        return await self.lanes.to_member(lambda: self._patient.groups.running_info(address, group, client_id))

    async def producers(self, address: str) -> dict[str, dict[str, Connection]]:
        """Return the producers by group and client id (request 328; supported from later releases of 4.9 on)."""
        return await self.lanes.through(
            address,
            lambda: self._requests.read(
                address, RequestCode.GET_ALL_PRODUCER_INFO, None, lambda answer: _producers(answer.body)
            ),
        )


def _producers(body: bytes | None) -> dict[str, dict[str, Connection]]:
    """Return the producers by group and client id, from RocketMQ's `ProducerTableInfo`."""
    with reading("table of producers"):
        return {
            group: {
                text(row["clientId"]): Connection(
                    text(row["clientId"]),
                    str(row.get("remoteIP") or ""),
                    str(row.get("language") or "OTHER"),
                    number(row.get("version") or 0),
                )
                for row in rows(producers)
            }
            for group, producers in table(loads(body).get("data")).items()
        }
