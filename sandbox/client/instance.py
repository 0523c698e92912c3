"""Client process: the connections, routes and timers that its producers and consumers share."""

import logging
from collections.abc import Iterable
from contextlib import nullcontext

from sandbox.client.client_api import ClientApi
from sandbox.client.config import INNER_PRODUCER_GROUP, ClientConfig, ProducerConfig
from sandbox.client.connections import Connections
from sandbox.client.incoming import Incoming
from sandbox.client.lifecycle import LifeCycle, Steps
from sandbox.client.local_offset_store import FileStore
from sandbox.client.members import Consumer, Member
from sandbox.client.name_servers import NameServers
from sandbox.client.producer import Producer
from sandbox.client.request_reply import ReplyFutures
from sandbox.client.routes import MASTER_ID, RouteTable
from sandbox.client.subscription import Subscription
from sandbox.client.tasks import Alarm, Job, Periodic, Tasks, TimerRow
from sandbox.journal.journal import Journal
from sandbox.kernel.chance import Chance
from sandbox.kernel.clock import Clock
from sandbox.kernel.errors import ClientError, ConnectFailed, SandboxError
from sandbox.kernel.ids import UniqueKeys
from sandbox.kernel.process_clock import ProcessClock
from sandbox.message.filter import TAG
from sandbox.message.queue import MessageQueue
from sandbox.message.string_hash import java_hash
from sandbox.remoting.bodies import HeartbeatData
from sandbox.remoting.channel import Connector

log = logging.getLogger(__name__)

FIRST_ROUTE_MS = 10
ADJUST_POOL_MS = 60_000


class ClientInstance:
    """Client process with everything its producers and consumers share.  RocketMQ: `MQClientInstance`.

    The caller passes clock, chance and connector.  `files` stores the offsets of broadcasting members.
    """

    def __init__(
        self,
        config: ClientConfig,
        *,
        clock: Clock,
        chance: Chance,
        connector: Connector,
        journal: Journal,
        files: FileStore | None = None,
    ) -> None:
        self.config = config
        self.client_id = config.client_id
        self.clock = ProcessClock(clock)
        self.chance = chance.fork(self.client_id)
        self.journal = journal
        self.files = files
        self.consumers: dict[str, Consumer] = {}
        self.producers: dict[str, Producer] = {}
        self.state = "created"  # running, stopped, crashed
        self.tasks = Tasks(self.client_id)
        self._rebalance_task = Tasks(self.client_id)  # separate, because it ends last
        self._rebalance_alarm = Alarm(self.clock)
        self.requests = ReplyFutures(self.chance.fork("requests"))
        self.incoming = Incoming(
            self.consumers,
            self.producers,
            self.requests,
            clock=self.clock,
            tasks=self.tasks,
            wake_rebalance=self.wake_rebalance,
            body_bytes=config.body_bytes,
        )
        self.connections = Connections(connector, self.clock, config, self.incoming.handle)
        self.api = ClientApi(self.connections, config)
        self.routes = RouteTable(self.chance.fork("routes"))
        self.name_servers = NameServers(
            config.name_servers,
            self.api,
            self.routes,
            self.chance.fork("name servers"),
            journal,
            client_id=self.client_id,
        )
        self.keys = UniqueKeys(bytes(map(int, config.ip.split("."))), config.pid, java_hash(self.client_id))
        self.inner_producer = Producer(ProducerConfig(group=INNER_PRODUCER_GROUP), self)
        self.dropped: dict[tuple[str, str], int] = {}  # (group, topic) → messages dropped by their tag's text
        self._periodic: dict[str, Periodic] = {}
        self._beating = False

    # Life.

    async def start(self) -> None:
        """Start the timers; do nothing if they run already.  Raises ClientError after a stop or crash."""
        if self.state == "running":
            return
        if self.state != "created":
            raise ClientError(f"client instance {self.client_id} is {self.state} and cannot start again")
        if not self.config.name_servers:
            raise ClientError("no name server address is configured")
        self.state = "running"
        config = self.config
        self._every("route", FIRST_ROUTE_MS, config.poll_name_server_ms, self.update_routes)
        self._every("heartbeat", config.first_heartbeat_ms, config.heartbeat_ms, self._heartbeat_round)
        self._every("commit", config.first_persist_ms, config.persist_offsets_ms, self._persist_offsets)
        self._every("adjust pool", ADJUST_POOL_MS, ADJUST_POOL_MS, self._adjust_thread_pools)
        self._rebalance_task.spawn(self._rebalance_service(), "rebalance")
        self.producers[INNER_PRODUCER_GROUP] = self.inner_producer

    async def shutdown(self, steps: Steps | None = None) -> None:
        """Stop the process, service by service, unless another member still lives in it (spec client-behaviour 2.3).

        `steps`: the phase of the member that stops; each service is one of its steps.  RocketMQ also stops the pull
        thread here; in this library each member runs its own pulls and stops them itself.
        """
        if self.state != "running" or self.consumers or set(self.producers) - {INNER_PRODUCER_GROUP}:
            return
        self.state = "stopped"
        step = steps.step if steps is not None else nullcontext
        with step("stop inner producer"):
            self.producers.pop(INNER_PRODUCER_GROUP, None)
            self.requests.close()
            await self.unregister(producer_group=INNER_PRODUCER_GROUP)
        with step("stop timers"):
            await self.tasks.close()
        with step("close connections"):
            self.connections.close()
        with step("stop rebalance"):
            await self._rebalance_task.close()

    def crash(self) -> None:
        """Kill the process as `kill -9` does: all work ends in this turn, nothing is sent, the connections close."""
        self.state = "crashed"
        self.clock.stop()  # no timer of this process may run any more
        self.tasks.cancel()
        self._rebalance_task.cancel()
        self.requests.close()
        self.connections.close()
        for member in self._members():
            member.life.process_became("crashed")
        self.consumers.clear()
        self.producers.clear()

    def hang(self) -> None:
        """Stop the process as SIGSTOP does: no heartbeat, no pull, no answer; the connections stay open."""
        if self.state == "running" and not self.clock.stopped:
            self.clock.stop()
            for member in self._members():
                member.life.process_became("hung")

    def resume(self) -> None:
        """Resume the process as SIGCONT does: handle the commands that arrived, then run the timers that are due."""
        if self.state == "running" and self.clock.stopped:
            self.clock.wake()
            for member in self._members():
                member.life.process_became("running")
            self.connections.deliver_held()
            self.clock.ring_late()

    def register_consumer(self, consumer: Consumer) -> None:
        """Add a consumer to the process.  Raises ClientError if its group has a consumer here already."""
        if consumer.group in self.consumers:
            raise ClientError(f"the consumer group {consumer.group} has been created before in {self.client_id}")
        self.consumers[consumer.group] = consumer

    def register_producer(self, producer: Producer) -> None:
        """Add a producer to the process.  Raises ClientError if its group has a producer here already."""
        if producer.group in self.producers:
            raise ClientError(f"the producer group {producer.group} has been created before in {self.client_id}")
        self.producers[producer.group] = producer

    async def leave(self, consumer: Consumer, steps: Steps) -> None:
        """Commit a stopping consumer's offsets, then unregister its group at the brokers."""
        with steps.step("persist offsets"):
            await self._persist(consumer, "shutdown")
        with steps.step("unregister"):
            self.consumers.pop(consumer.group, None)
            await self.unregister(consumer_group=consumer.group)

    async def withdraw(self, life: LifeCycle) -> None:
        """Remove a member whose start was refused; stop the process if it has no other member."""
        for group, consumer in list(self.consumers.items()):
            if consumer.life is life:
                del self.consumers[group]
        for group, producer in list(self.producers.items()):
            if producer.life is life:
                del self.producers[group]
        await self.shutdown()

    @property
    def timers(self) -> dict[str, int]:
        """Return when each job of the timer table runs next, in ms.

        The thread pool job, which does nothing, is omitted.
        """
        due = {name: self.clock.ms_at(job.due_s) for name, job in self._periodic.items() if name != "adjust pool"}
        if (rebalance_s := self._rebalance_alarm.due_s) is not None:
            due["rebalance"] = self.clock.ms_at(rebalance_s)
        return due

    def timer_rows(self) -> dict[str, TimerRow]:
        """Return the timer table of this process (spec client-behaviour 2.2), without its consumers' own timers."""
        rows = {name: self.row_of(job) for name, job in self._periodic.items()}
        due_s, period_ms = self._rebalance_alarm.due_s, self.config.rebalance_ms
        due_ms = None if due_s is None else self.clock.ms_at(due_s)
        return rows | {"rebalance": TimerRow(due_ms, period_ms, period_ms, self._rebalance_alarm.rounds)}

    def row_of(self, job: Periodic) -> TimerRow:
        """Return the row of the timer table for one job of this process."""
        return TimerRow(self.clock.ms_at(job.due_s), job.first_ms, job.period_ms, job.runs)

    # Routes and addresses.

    async def update_routes(self) -> None:
        """Refresh the routes of all topics that a member of this process subscribes to or publishes on."""
        topics = {topic for consumer in self.consumers.values() for topic in consumer.topics()}
        topics |= {topic for producer in self.producers.values() for topic in producer.topics()}
        for topic in sorted(topics):
            await self.name_servers.learn_route(topic)

    async def master_or_any(self, mq: MessageQueue) -> str:
        """Return the address of the queue's master, which stores the offsets.

        If the master is unknown after one route request, return any node of that broker.  Raises ConnectFailed if no
        address is known.
        """
        address = self.routes.address(mq.broker, MASTER_ID, only_this=True)
        if address is None:
            await self.name_servers.learn_route(mq.topic)
            address = self.routes.address(mq.broker, MASTER_ID, only_this=False)
        if address is None:
            raise ConnectFailed(f"the broker {mq.broker} has no known address")
        return address[0]

    async def query_offset(self, group: str, mq: MessageQueue) -> int:
        return await self.api.query_offset(await self.master_or_any(mq), group, mq)

    async def commit_offset(self, group: str, mq: MessageQueue, offset: int, *, oneway: bool = True) -> None:
        await self.api.update_offset(await self.master_or_any(mq), group, mq, offset, oneway=oneway)

    async def max_offset(self, mq: MessageQueue) -> int:
        return await self.api.max_offset(await self.master_or_any(mq), mq)

    async def min_offset(self, mq: MessageQueue) -> int:
        return await self.api.min_offset(await self.master_or_any(mq), mq)

    async def search_offset(self, mq: MessageQueue, timestamp_ms: int) -> int:
        return await self.api.search_offset(await self.master_or_any(mq), mq, timestamp_ms)

    async def fetch_readable_queues(self, topic: str) -> list[MessageQueue]:
        """Return all readable queues of the topic from a fresh route.  Raises ClientError if the topic is unknown."""
        await self.name_servers.learn_route(topic)
        queues = self.routes.subscribe_queues(topic)
        if queues is None:
            raise ClientError(f"No route info of this topic: {topic}")
        return queues

    async def consumer_ids(self, topic: str, group: str) -> list[str] | None:
        """Return the group's client ids as one random broker of the topic lists them; None if it cannot be asked."""
        address = self.routes.broker_of_topic(topic)
        if address is None:
            await self.name_servers.learn_route(topic)
            address = self.routes.broker_of_topic(topic)
        if address is None:
            return None
        try:
            return await self.api.consumer_ids(address, group)
        except SandboxError as error:
            log.info("no member list of %s from %s: %s", group, address, error)
            return None

    # Membership.

    async def heartbeat(self) -> None:
        """Send the groups of this client to every known broker; do nothing while another heartbeat round runs."""
        if self._beating:
            return
        self._beating = True
        try:
            data = HeartbeatData(
                client_id=self.client_id,
                producers=tuple(sorted(self.producers)),
                consumers=tuple(consumer.data() for consumer in self.consumers.values()),
            )
            for _, _, address in self.routes.all_addresses(masters_only=not self.consumers):
                try:
                    await self.api.heartbeat(address, data)
                except SandboxError as error:
                    log.info("no heartbeat to %s: %s", address, error)
        finally:
            self._beating = False

    async def unregister(self, *, producer_group: str | None = None, consumer_group: str | None = None) -> None:
        """Unregister one group at every known broker."""
        for _, _, address in self.routes.all_addresses(masters_only=False):
            try:
                await self.api.unregister(
                    address, self.client_id, producer_group=producer_group, consumer_group=consumer_group
                )
            except SandboxError as error:
                log.info("not unregistered at %s: %s", address, error)

    async def check_subscriptions(self, group: str, subscriptions: list[Subscription]) -> None:
        """Ask one random broker to compile each expression that is not a tag expression (46).

        Raises BrokerRefused if it cannot.  RocketMQ: `checkClientInBroker`.
        """
        for subscription in subscriptions:
            if subscription.expression_type == TAG:
                continue
            address = self.routes.broker_of_topic(subscription.topic)
            if address is not None:
                await self.api.check_client_config(address, self.client_id, group, subscription.data())

    def wake_rebalance(self, reason: str) -> None:
        self._rebalance_alarm.wake(reason)

    # The jobs of the timer table.

    def _every(self, name: str, first_ms: int, period_ms: int, job: Job) -> None:
        periodic = Periodic(self.clock, first_ms=first_ms, period_ms=period_ms, job=job)
        self._periodic[name] = periodic
        self.tasks.spawn(periodic.run(), name)

    async def _heartbeat_round(self) -> None:
        self.routes.drop_offline()
        await self.heartbeat()

    async def _persist_offsets(self) -> None:
        for consumer in list(self.consumers.values()):
            await self._persist(consumer, "timer")

    async def _persist(self, consumer: Consumer, by: str) -> None:
        try:
            await consumer.offset_store.persist_all(list(consumer.process_queues), by=by)
        except SandboxError as error:
            log.info("offsets of %s not persisted: %s", consumer.group, error)

    async def _adjust_thread_pools(self) -> None:
        """Do nothing, once a minute.

        Java's client compares the backlog with a threshold and calls an empty method.
        """

    async def _rebalance_service(self) -> None:
        while True:
            trigger = await self._rebalance_alarm.wait(self.config.rebalance_ms / 1000, "timer")
            for consumer in list(self.consumers.values()):
                try:
                    await consumer.rebalance(trigger)
                except SandboxError as error:
                    log.warning("rebalance of %s failed: %s", consumer.group, error)

    def _members(self) -> Iterable[Member]:
        """Return all members of the process except the inner producer, which has no life cycle of its own."""
        return [*self.consumers.values(), *(p for p in self.producers.values() if p is not self.inner_producer)]
