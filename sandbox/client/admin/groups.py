"""Administrative requests about one consumer group: its data on a broker, its members and their running info."""

from sandbox.client.requests import Fields, Requests
from sandbox.message.queue import MessageQueue
from sandbox.remoting.bodies import (
    Connection,
    ConsumerConnection,
    ConsumerList,
    ConsumerStatusBody,
    ConsumeStats,
    ConsumeTimeSpans,
    GroupOffset,
    ProducerConnection,
    QueueRunningInfo,
    QueueTimeSpan,
    RunningInfo,
    SubscriptionGroupConfig,
    TopicList,
)
from sandbox.remoting.codes import RequestCode
from sandbox.remoting.headers import (
    ConsumeStatsHeader,
    DeleteGroupHeader,
    GroupHeader,
    RunningInfoHeader,
    TopicGroupHeader,
)


class GroupQuestions:
    """Administrative requests about a group; each method sends one to the broker at `address`."""

    def __init__(self, requests: Requests) -> None:
        self._requests = requests

    async def stats(self, address: str, group: str, topic: str | None = None) -> dict[MessageQueue, GroupOffset]:
        """Return the group's offsets in every queue of a topic, or of all topics (208).

        The broker omits topics that no online member has subscribed to.  With a `topic`, it also omits the group's
        retry
        topic, unless `topic` is that one.  A queue without a committed offset counts as 0.
        """
        stats = await self._requests.read(
            address,
            RequestCode.GET_CONSUME_STATS,
            ConsumeStatsHeader(group, topic),
            lambda c: ConsumeStats.decode(c.body),
        )
        return {MessageQueue(*queue): row for queue, row in stats.queues.items()}

    async def members(self, address: str, group: str) -> ConsumerConnection:
        """Return the group's members and their subscriptions (203).

        Raises BrokerRefused with code 206 if no member is online.
        """
        return await self._requests.read(
            address,
            RequestCode.GET_CONSUMER_CONNECTION_LIST,
            GroupHeader(group),
            lambda c: ConsumerConnection.decode(c.body),
        )

    async def member_ids(self, address: str, group: str) -> tuple[str, ...]:
        """Return the client ids of the group (38), with the request that members send before they assign queues."""
        return await self._requests.read(
            address,
            RequestCode.GET_CONSUMER_LIST_BY_GROUP,
            GroupHeader(group),
            lambda c: ConsumerList.decode(c.body).client_ids,
        )

    async def producers(self, address: str, group: str) -> tuple[Connection, ...]:
        """Return the producers of that group (204).  Raises BrokerRefused with code 1 if the group has none."""
        return await self._requests.read(
            address,
            RequestCode.GET_PRODUCER_CONNECTION_LIST,
            Fields(producerGroup=group),
            lambda c: ProducerConnection.decode(c.body).connections,
        )

    async def running_info(self, address: str, group: str, client_id: str, *, stacks: bool = False) -> RunningInfo:
        """Return a member's state in memory (307); the broker forwards the request to the member.

        Raises BrokerRefused with code 207 if the member does not answer, with 1 if it is not connected to this broker.
        """
        return await self._requests.read(
            address,
            RequestCode.GET_CONSUMER_RUNNING_INFO,
            RunningInfoHeader(group, client_id, stacks),
            lambda c: RunningInfo.decode(c.body),
        )

    async def queues_in_memory(self, address: str, group: str, client_id: str) -> dict[MessageQueue, QueueRunningInfo]:
        """Return the queue table of a member's running info: locks, cached messages, last pull times (307)."""
        info = await self.running_info(address, group, client_id)
        return {MessageQueue(*queue): row for queue, row in info.queues.items()}

    async def offsets_in_memory(
        self, address: str, group: str, topic: str, *, client_id: str | None = None
    ) -> dict[str, dict[MessageQueue, int]]:
        """Return the offsets that members would commit now, by client id (223).

        The broker asks each member with 221.  Raises BrokerRefused with code 1 if no member is online, or if one of
        them is not a Java client.
        """
        body = await self._requests.read(
            address,
            RequestCode.INVOKE_BROKER_TO_GET_CONSUMER_STATUS,
            TopicGroupHeader(topic, group, client_id or ""),
            lambda c: ConsumerStatusBody.decode(c.body),
        )
        return {
            member: {MessageQueue(*queue): offset for queue, offset in offsets.items()}
            for member, offsets in body.clients.items()
        }

    async def time_spans(self, address: str, group: str, topic: str) -> tuple[QueueTimeSpan, ...]:
        """Return per queue the store times of its messages and of the group's position (303)."""
        return await self._requests.read(
            address,
            RequestCode.QUERY_CONSUME_TIME_SPAN,
            TopicGroupHeader(topic, group),
            lambda c: ConsumeTimeSpans.decode(c.body).spans,
        )

    async def topics(self, address: str, group: str) -> tuple[str, ...]:
        """Return the topics in which the group has committed (343).

        5.x and our broker answer; 4.9 raises NotKnownThere.
        """
        return await self._requests.read(
            address,
            RequestCode.QUERY_TOPICS_BY_CONSUMER,
            Fields(group=group),
            lambda c: TopicList.decode(c.body).topics,
        )

    async def config(self, address: str, group: str) -> SubscriptionGroupConfig:
        """Return the group's configuration on the broker (352).

        5.x and our broker answer; 4.9 raises NotKnownThere.  If groups are created automatically, the request
        creates a missing group.  To avoid that, look into `brokers.subscription_groups` first.
        """
        return await self._requests.read(
            address,
            RequestCode.GET_SUBSCRIPTIONGROUP_CONFIG,
            Fields(group=group),
            lambda c: SubscriptionGroupConfig.decode(c.body),
        )

    async def create(self, address: str, config: SubscriptionGroupConfig) -> None:
        """Create the group or change its configuration (200)."""
        await self._requests.ask(address, RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, body=config.encode())

    async def delete(self, address: str, group: str, *, with_offsets: bool = False) -> None:
        """Delete the group (207), and its committed offsets if `with_offsets`."""
        await self._requests.ask(address, RequestCode.DELETE_SUBSCRIPTIONGROUP, DeleteGroupHeader(group, with_offsets))
