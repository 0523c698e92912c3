"""Requests to one broker about one topic: its data, creating, deleting."""

from sandbox.client.requests import Fields, Requests
from sandbox.message.queue import MessageQueue
from sandbox.remoting.bodies import GroupList, TopicConfig, TopicOffset, TopicStats
from sandbox.remoting.codes import RequestCode
from sandbox.remoting.headers import CreateTopicHeader, TopicHeader
from sandbox.remoting.json_body import loads, reading


class TopicQuestions:
    """Each to the broker at `address`; code 17 (BrokerRefused) for a topic it does not have."""

    def __init__(self, requests: Requests) -> None:
        self._requests = requests

    async def stats(self, address: str, topic: str) -> dict[MessageQueue, TopicOffset]:
        """Both ends of every queue, and when the last message came (202): 0 or -1 when none is there."""
        stats = await self._requests.read(
            address, RequestCode.GET_TOPIC_STATS_INFO, TopicHeader(topic), lambda c: TopicStats.decode(c.body)
        )
        return {MessageQueue(*queue): row for queue, row in stats.queues.items()}

    async def config(self, address: str, topic: str) -> TopicConfig:
        """Queues and permission (351): 5.x, and ours; NotKnownThere from 4.9."""
        return await self._requests.read(
            address, RequestCode.GET_TOPIC_CONFIG, TopicHeader(topic), lambda c: _config(c.body)
        )

    async def groups(self, address: str, topic: str) -> tuple[str, ...]:
        """List the groups that have subscribed to the topic while online, or committed in it (300).

        5.3.3 stores the topic's name instead of the subscriber's.  It misses a group that has not committed, and lists
        the topic among its own groups.
        """
        return await self._requests.read(
            address,
            RequestCode.QUERY_TOPIC_CONSUME_BY_WHO,
            TopicHeader(topic),
            lambda c: GroupList.decode(c.body).groups,
        )

    async def create(
        self, address: str, topic: str, *, queues: int = 4, permission: int = 6, order: bool = False
    ) -> None:
        """Make it, or change it (17): so many queues to write and to read.  The broker registers it at once."""
        await self._requests.ask(
            address,
            RequestCode.UPDATE_AND_CREATE_TOPIC,
            CreateTopicHeader(topic, queues, queues, permission, order=order),
        )

    async def delete(self, address: str, topic: str) -> None:
        """Delete it here (215); name servers forget it by `names.delete_topic`."""
        await self._requests.ask(address, RequestCode.DELETE_TOPIC_IN_BROKER, Fields(topic=topic))


def _config(body: bytes | None) -> TopicConfig:
    """5.x wraps nothing around it."""
    with reading("topic"):
        return TopicConfig.from_json(loads(body))
