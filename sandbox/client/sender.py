"""The state shared by all sends of one producer: routes to brokers, brokers to avoid, and the counts."""

from sandbox.client.client_api import ClientApi
from sandbox.client.config import ProducerConfig
from sandbox.client.fault_strategy import FaultStrategy
from sandbox.client.name_servers import NameServers
from sandbox.client.routes import RouteTable
from sandbox.journal.events import SendFailed
from sandbox.journal.journal import Journal
from sandbox.kernel.clock import Clock
from sandbox.kernel.errors import ClientError
from sandbox.message.namespaces import with_namespace
from sandbox.message.queue import MessageQueue


class Sender:
    """Shared state of a producer's sends: routes, fault strategy, and counts of attempts by result."""

    def __init__(
        self,
        config: ProducerConfig,
        faults: FaultStrategy,
        *,
        client_id: str,
        clock: Clock,
        journal: Journal,
        api: ClientApi,
        routes: RouteTable,
        name_servers: NameServers,
    ) -> None:
        self.config = config
        self.faults = faults
        self.clock = clock
        self.api = api
        self.sent = 0
        self.failed = 0
        self.retried = 0  # attempts that were followed by another one
        self.answers: dict[str, int] = {}  # attempts by result: a status, a response code, an error
        self.topics: dict[str, None] = {config.create_topic_key: None}  # for a heartbeat before the first send
        self._client_id = client_id
        self._journal = journal
        self._routes = routes
        self._name_servers = name_servers

    async def publish_queues(self, topic: str) -> list[MessageQueue]:
        """Return the queues to which a message of the topic may be sent.  Raises ClientError if no route is known.

        An unknown topic uses the route of the template topic (TBW102), which lets the broker create it.
        """
        topic = with_namespace(self.config.namespace, topic)
        routes = self._routes
        if topic not in self.topics or not routes.publish_queues(topic):
            self.topics[topic] = None
            await self._name_servers.learn_route(topic)
        if not routes.publish_queues(topic) and not routes.knows(topic):
            await self._name_servers.learn_default_route(
                topic, self.config.create_topic_key, self.config.default_topic_queues
            )
        queues = routes.publish_queues(topic)
        if not queues:
            raise ClientError(f"No route info of this topic: {topic}")
        return queues

    async def queues(self, topic: str) -> list[MessageQueue]:
        """Return `publish_queues`; a topic without queues counts as a failed send."""
        try:
            return await self.publish_queues(topic)
        except ClientError:
            self.failed += 1
            raise

    async def master(self, topic: str, broker: str) -> str:
        """Return the address of the broker's master.  Raises ClientError if no master of that name is known."""
        address = self._routes.master(broker)
        if address is None:
            await self.publish_queues(topic)
            address = self._routes.master(broker)
        if address is None:
            raise ClientError(f"The broker[{broker}] not exist")
        return address

    def count(self, status: str) -> None:
        self.answers[status] = self.answers.get(status, 0) + 1

    def note_failure(self, topic: str, broker: str, status: str, attempt: int, *, retried: bool) -> None:
        """Count and record an attempt that did not succeed; `retried`: another attempt follows."""
        self.retried += retried
        if self._journal.tracing:
            self._journal.write(
                SendFailed(
                    client_id=self._client_id,
                    topic=topic,
                    broker=broker,
                    status=status,
                    attempt=attempt,
                    retried=retried,
                )
            )
