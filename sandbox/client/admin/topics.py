"""Administrative requests to one broker about one topic: read its data, create, delete."""

from sandbox.client.requests import Fields, Requests
from sandbox.message.queue import MessageQueue
from sandbox.remoting.bodies import GroupList, TopicConfig, TopicOffset, TopicStats
from sandbox.remoting.codes import RequestCode
from sandbox.remoting.headers import CreateTopicHeader, TopicHeader
from sandbox.remoting.json_body import loads, reading


class TopicQuestions:
    """Administrative requests about a topic; each method sends one to the broker at `address`.

    Raises BrokerRefused with code 17 if the broker does not have the topic.
    """

    def __init__(self, requests: Requests) -> None:
        self._requests = requests

    async def stats(self, address: str, topic: str) -> dict[MessageQueue, TopicOffset]:
        """Return each queue's first offset, end offset and last store time (202).

        The time is 0 or -1 if the queue has no message.
        """
        stats = await self._requests.read(
            address, RequestCode.GET_TOPIC_STATS_INFO, TopicHeader(topic), lambda c: TopicStats.decode(c.body)
        )
        return {MessageQueue(*queue): row for queue, row in stats.queues.items()}

    async def config(self, address: str, topic: str) -> TopicConfig:
        """Return the topic's queue counts and permission (351).

        5.x and our broker answer; 4.9 raises NotKnownThere.
        """
        return await self._requests.read(
            address, RequestCode.GET_TOPIC_CONFIG, TopicHeader(topic), lambda c: _config(c.body)
        )

    async def groups(self, address: str, topic: str) -> tuple[str, ...]:
        """Return the groups that have subscribed to the topic while online, or committed in it (300).

        5.3.3 stores the topic's name instead of the subscriber's.  So it omits a group that has not committed, and
        lists the topic among its own groups.
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
        """Create the topic or change it (17), with `queues` write queues and as many read queues.

        The broker registers the topic at the name servers at once.
        """
        await self._requests.ask(
            address,
            RequestCode.UPDATE_AND_CREATE_TOPIC,
            CreateTopicHeader(topic, queues, queues, permission, order=order),
        )

    async def delete(self, address: str, topic: str) -> None:
        """Delete the topic on this broker (215).  `names.delete_topic` removes it from the name servers."""
        await self._requests.ask(address, RequestCode.DELETE_TOPIC_IN_BROKER, Fields(topic=topic))


def _config(body: bytes | None) -> TopicConfig:
    """Decode one topic configuration, which 5.x sends without a wrapper."""
    with reading("topic"):
        return TopicConfig.from_json(loads(body))
