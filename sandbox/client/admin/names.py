"""Administrative requests to name servers."""

from collections.abc import Callable, Iterable
from typing import TypeVar

from sandbox.client.requests import Fields, RequestHeader, Requests
from sandbox.client.routes import MASTER_ID
from sandbox.kernel.errors import ConnectFailed, RemotingError, UnreadableAnswer
from sandbox.remoting.bodies import BrokerData, ClusterInfo, TopicList, TopicRouteData
from sandbox.remoting.codes import RequestCode
from sandbox.remoting.command import RemotingCommand
from sandbox.remoting.headers import DeleteTopicInNamesrvHeader, RouteHeader

T = TypeVar("T")


class NameServerQuestions:
    """Administrative requests to the name server that answered last, and to the others in turn if it fails.

    A name server does not answer a request code that its release does not support: that request ends with SendTimeout.
    """

    def __init__(self, requests: Requests, addresses: tuple[str, ...], *, at: int = 0) -> None:
        self.requests = requests
        self.addresses = addresses
        self._at = at

    def within(self, timeout_ms: int) -> "NameServerQuestions":
        return NameServerQuestions(Requests(self.requests.connections, timeout_ms), self.addresses, at=self._at)

    async def cluster(self) -> ClusterInfo:
        """Return every broker with its node addresses, and the brokers of each cluster (106)."""
        return await self._read(RequestCode.GET_BROKER_CLUSTER_INFO, lambda c: ClusterInfo.decode(c.body))

    async def masters(self) -> dict[str, str]:
        """Return the master address of each broker that has one, by broker name."""
        return _masters((await self.cluster()).brokers.values())

    async def topics(self) -> tuple[str, ...]:
        """Return the names of all registered topics, system topics included (206)."""
        return (await self._read(RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER, _topics)).topics

    async def topics_of(self, cluster: str) -> tuple[str, ...]:
        """Return the topics on the brokers of one cluster (224)."""
        return (await self._read(RequestCode.GET_TOPICS_BY_CLUSTER, _topics, Fields(cluster=cluster))).topics

    async def system_topics(self) -> tuple[str, ...]:
        """Return the names of clusters and brokers, which are topics, too (304)."""
        return (await self._read(RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_NS, _topics)).topics

    async def route(self, topic: str) -> TopicRouteData:
        """Return the brokers and queues of a topic (105).

        Raises BrokerRefused with code 17 if the topic is unknown.
        """
        return await self._read(
            RequestCode.GET_ROUTEINFO_BY_TOPIC,
            lambda c: TopicRouteData.decode(c.body),
            RouteHeader(topic, standard_json=True),
        )

    async def masters_of(self, topic: str) -> dict[str, str]:
        """Return the master addresses of the brokers that have queues of the topic, by broker name."""
        return _masters((await self.route(topic)).brokers)

    async def delete_topic(self, topic: str, *, cluster: str | None = None) -> None:
        """Delete the topic's registrations at every name server (216).

        A broker that still has the topic registers it again.
        """
        for address in self.addresses:
            await self.requests.ask(
                address, RequestCode.DELETE_TOPIC_IN_NAMESRV, DeleteTopicInNamesrvHeader(topic, cluster)
            )

    async def _read(
        self, code: RequestCode, of: Callable[[RemotingCommand], T], header: RequestHeader | None = None
    ) -> T:
        failures: list[RemotingError] = []
        for _ in self.addresses:
            try:
                return await self.requests.read(self.addresses[self._at], code, header, of)
            except UnreadableAnswer:
                raise
            except RemotingError as error:
                failures.append(error)
                self._at = (self._at + 1) % len(self.addresses)
        if len(failures) == 1:
            raise failures[0]
        raise ConnectFailed("no name server answers: " + ("; ".join(map(str, failures)) or "none is configured"))


def _topics(answer: RemotingCommand) -> TopicList:
    return TopicList.decode(answer.body)


def _masters(brokers: Iterable[BrokerData]) -> dict[str, str]:
    return {broker.name: broker.addresses[MASTER_ID] for broker in brokers if MASTER_ID in broker.addresses}
