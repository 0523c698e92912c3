"""Administrator client, the counterpart of RocketMQ's `DefaultMQAdminExt`."""

from collections.abc import Sequence

from sandbox.client.admin.brokers import BrokerQuestions
from sandbox.client.admin.groups import GroupQuestions
from sandbox.client.admin.messages import MessageQuestions
from sandbox.client.admin.names import NameServerQuestions
from sandbox.client.admin.offsets import OffsetQuestions
from sandbox.client.admin.topics import TopicQuestions
from sandbox.client.config import ClientConfig
from sandbox.client.connections import Connections
from sandbox.client.requests import Requests
from sandbox.kernel.clock import Clock
from sandbox.kernel.process_clock import ProcessClock
from sandbox.remoting.channel import Channel, Connector
from sandbox.remoting.command import RemotingCommand

CONNECT_TIMEOUT_MS = 3_000  # RocketMQ: connectTimeoutMillis
TIMEOUT_MS = 5_000  # RocketMQ: DefaultMQAdminExt.timeoutMillis
GROUP = "TOOLS_CONSUMER"  # group of the administrator's pulls; every broker has it
MAX_PENDING = 1_024


class Admin:
    """Client that sends administrative requests to name servers and brokers, over one connection to each.

    RocketMQ: `DefaultMQAdminExt`.  `connector` is any transport.  If both keys are set, every request is signed.  A
    request waits `timeout_ms` for its answer; opening a connection takes as long, but 3 s at most.  `within` returns
    the same administrator with another timeout.  There is nothing to start; `close` closes the connections.
    """

    def __init__(
        self,
        name_servers: Sequence[str],
        *,
        clock: Clock,
        connector: Connector,
        access_key: str | None = None,
        secret_key: str | None = None,
        timeout_ms: int = TIMEOUT_MS,
    ) -> None:
        config = ClientConfig(
            name_servers=tuple(name_servers),
            instance_name="admin",
            api_timeout_ms=timeout_ms,
            connect_timeout_ms=min(CONNECT_TIMEOUT_MS, timeout_ms),
            max_pending_requests=MAX_PENDING,
            access_key=access_key or "",
            secret_key=secret_key or "",
        )
        self.connections = Connections(connector, ProcessClock(clock), config, _not_for_us)
        self._take(NameServerQuestions(Requests(self.connections, timeout_ms), tuple(name_servers)))

    def _take(self, names: NameServerQuestions) -> None:
        requests = names.requests
        self.timeout_ms = requests.timeout_ms
        self.names = names
        self.brokers = BrokerQuestions(requests)
        self.topics = TopicQuestions(requests)
        self.groups = GroupQuestions(requests)
        self.offsets = OffsetQuestions(requests)
        self.messages = MessageQuestions(requests, GROUP)

    def within(self, timeout_ms: int) -> "Admin":
        """Return an administrator that shares these connections and waits `timeout_ms` for each answer."""
        other = object.__new__(Admin)
        other.connections = self.connections
        other._take(self.names.within(timeout_ms))
        return other

    def close(self) -> None:
        """Close every connection.  Requests that wait for an answer fail with RemotingError."""
        self.connections.close()


def _not_for_us(command: RemotingCommand, channel: Channel) -> None:
    """Ignore a request from a broker: those requests are meant for clients, not for an administrator."""
