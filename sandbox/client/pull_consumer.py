"""Pull consumer: the application chooses queue, offset and number of messages of each pull."""

from collections.abc import Callable
from dataclasses import dataclass, field

from sandbox.client.active_rebalance import ActiveRebalance
from sandbox.client.allocate import AllocateMessageQueueStrategy, strategy
from sandbox.client.client_api import SYS_SUBSCRIPTION, SYS_SUSPEND
from sandbox.client.config import DEFAULT_CONSUMER_GROUP, ConsumeFromWhere, MessageModel, check_group
from sandbox.client.instance import ClientInstance
from sandbox.client.lifecycle import LifeCycle, Startable, Steps
from sandbox.client.offset_store import OffsetStore, WatchedOffsetStore
from sandbox.client.plugged_offset_store import offset_store_for
from sandbox.client.process_queue import ProcessQueue
from sandbox.client.pull_api import PullApi
from sandbox.client.results import PullResult, PullStatus, ReadOffsetType
from sandbox.client.running_info import active_running_info
from sandbox.client.send_back import SendBack
from sandbox.client.start_offset import StartOffset
from sandbox.client.subscription import Subscription
from sandbox.kernel.errors import ClientError
from sandbox.message.filter import TAG
from sandbox.message.message import Message
from sandbox.message.queue import MessageQueue
from sandbox.remoting.bodies import ConsumerData
from sandbox.remoting.codes import ResponseCode

BROKER_SUSPEND_MS = 20_000
BLOCKING_TIMEOUT_MS = 30_000
PLAIN_TIMEOUT_MS = 10_000

STATUS = {
    ResponseCode.SUCCESS: PullStatus.FOUND,
    ResponseCode.PULL_NOT_FOUND: PullStatus.NO_NEW_MSG,
    ResponseCode.PULL_RETRY_IMMEDIATELY: PullStatus.NO_MATCHED_MSG,
    ResponseCode.PULL_OFFSET_MOVED: PullStatus.OFFSET_ILLEGAL,
}

QueueListener = Callable[[str, list[MessageQueue], list[MessageQueue]], None]
"""The share of a topic changed: the topic, all its queues, ours.  RocketMQ: `MessageQueueListener`."""


@dataclass(frozen=True, kw_only=True)
class PullConsumerConfig:
    """Configuration of a pull consumer: the fields of `DefaultMQPullConsumer` (spec client-behaviour 12).

    Its client instance must be a `stream` one (`ClientConfig.stream`).  `offset_store` as in `PushConsumerConfig`.
    """

    group: str
    model: MessageModel = MessageModel.CLUSTERING
    strategy: AllocateMessageQueueStrategy = field(default_factory=lambda: strategy("AVG"))
    offset_store: str | OffsetStore = "default"
    max_reconsume_times: int = 16

    def __post_init__(self) -> None:
        check_group(self.group, forbidden=DEFAULT_CONSUMER_GROUP)


class PullConsumer(Startable):
    """Consumer that pulls and stores offsets on request.  RocketMQ: `DefaultMQPullConsumer`.

    Two activities run by themselves, for topics that were registered or pulled once.  Queues are assigned among the
    group's members (`fetch_queues_in_balance`, and a listener).  Every 5 s the offsets that `update_consume_offset`
    noted for owned queues go to the broker.

    The application may read queues that it does not own.  Their noted offsets are never sent, and acquiring a queue
    removes an older note.  A reset of the group (220) is ignored.
    """

    def __init__(self, config: PullConsumerConfig, instance: ClientInstance) -> None:
        self.config = config
        self.group = config.group
        self.instance = instance
        self.client_id = instance.client_id
        self.strategy = config.strategy
        self.subscriptions: dict[str, Subscription] = {}  # topics whose queues are assigned
        self.registered: dict[str, QueueListener | None] = {}  # topics in heartbeats
        self.process_queues: dict[MessageQueue, ProcessQueue] = {}  # the assigned queues
        self.life = LifeCycle("consumer", config.group, instance, self.process_queues, halt=lambda: None)
        self.offset_store: WatchedOffsetStore = offset_store_for(
            config.offset_store, config.group, config.model, instance
        )
        self.rebalancer = ActiveRebalance(self)
        self._api = PullApi(config.group, instance)
        self._send_back = SendBack(config.group, instance, config.max_reconsume_times)

    # Life.

    def register(self, topic: str, listener: QueueListener | None = None) -> None:
        """Take part in the assignment of the topic's queues, and name the topic in heartbeats from now on.

        RocketMQ: `registerMessageQueueListener`.
        """
        self.registered[topic] = listener
        self._subscribe_by_itself(topic)

    async def _start(self, steps: Steps) -> None:
        with steps.step("load offsets"):
            await self.offset_store.load()
        with steps.step("register in instance"):
            self.instance.register_consumer(self)
        with steps.step("start instance"):
            await self.instance.start()
        self.life.running()

    async def _stop(self, steps: Steps) -> None:
        await self.instance.leave(self, steps)
        await self.instance.shutdown(steps)
        self.rebalancer.drop_all()

    # Queues and offsets.

    async def fetch_subscribe_queues(self, topic: str) -> list[MessageQueue]:
        """Return all readable queues of the topic, also those of other members.

        Raises ClientError if it is unknown.
        """
        return await self.instance.fetch_readable_queues(topic)

    def fetch_queues_in_balance(self, topic: str) -> list[MessageQueue]:
        """Return the queues of the topic that the last rebalance assigned to this member."""
        return [mq for mq in sorted(self.process_queues) if mq.topic == topic]

    async def consume_offset(self, mq: MessageQueue, *, from_store: bool = False) -> int | None:
        """Return the group's offset in a queue; None if no offset is stored.  RocketMQ: `fetchConsumeOffset`."""
        how = ReadOffsetType.READ_FROM_STORE if from_store else ReadOffsetType.MEMORY_FIRST_THEN_STORE
        return await self.offset_store.read_offset(mq, how)

    def update_consume_offset(self, mq: MessageQueue, offset: int) -> None:
        """Note the offset in memory; for an owned queue it reaches the broker within 5 s."""
        self.offset_store.update_offset(mq, offset, increase_only=False)

    async def update_consume_offset_to_broker(self, mq: MessageQueue, offset: int, *, oneway: bool) -> None:
        """Send the offset to the broker now, without changing memory, also for a queue of another member."""
        await self.offset_store.update_consume_offset_to_broker(mq, offset, oneway=oneway)

    async def max_offset(self, mq: MessageQueue) -> int:
        return await self.instance.max_offset(mq)

    async def min_offset(self, mq: MessageQueue) -> int:
        return await self.instance.min_offset(mq)

    async def search_offset(self, mq: MessageQueue, timestamp_ms: int) -> int:
        return await self.instance.search_offset(mq, timestamp_ms)

    # Messages.

    async def pull(
        self,
        mq: MessageQueue,
        offset: int,
        *,
        expression: str = "*",
        expression_type: str = TAG,
        max_messages: int = 32,
        block: bool = False,
    ) -> PullResult:
        """Pull messages from `offset` on, within 10 s; with `block` the broker waits up to 20 s for the first.

        RocketMQ: `pull` and `pullBlockIfNotFound`.  Raises ClientError if the expression cannot be parsed.
        """
        await self.instance.clock.going_on()
        if self.state != "running":
            raise ClientError(f"consumer {self.group} is {self.state}, not running")
        subscription = Subscription(mq.topic, expression, version=0, expression_type=expression_type)
        self._subscribe_by_itself(mq.topic)
        answer = await self._api.pull(
            mq,
            subscription,
            offset=offset,
            count=max_messages,
            suspend_ms=BROKER_SUSPEND_MS,
            sys_flag=SYS_SUBSCRIPTION | (SYS_SUSPEND if block else 0),
            timeout_ms=BLOCKING_TIMEOUT_MS if block else PLAIN_TIMEOUT_MS,
        )
        header = answer.header
        return PullResult(
            STATUS[ResponseCode(answer.code)],
            header.next_offset,
            header.min_offset,
            header.max_offset,
            header.suggest_broker_id,
            await self._api.wanted(mq, subscription, answer),
        )

    async def send_message_back(self, message: Message, delay_level: int = 0) -> bool:
        """Send a message back, so that the group receives it again later (36); return True if a broker accepted it.

        The message arrives through the retry topic, which the application pulls like any other.
        """
        return await self._send_back.send_back(message, delay_level)

    # Called by the instance and the rebalance.

    def data(self) -> ConsumerData:
        """Return the heartbeat data: registered topics only, always with `*` and version 0."""
        return ConsumerData(
            group_name=self.group,
            consume_type="CONSUME_ACTIVELY",
            message_model=self.config.model.value,
            subscriptions=tuple(Subscription(topic, "*", version=0).data() for topic in self.registered),
        )

    def topics(self) -> list[str]:
        return list(self.registered)

    @property
    def model(self) -> MessageModel:
        return self.config.model

    @property
    def from_where(self) -> ConsumeFromWhere:
        return ConsumeFromWhere.CONSUME_FROM_LAST_OFFSET

    @property
    def may_rebalance(self) -> bool:
        return self.life.is_active

    async def rebalance(self, trigger: str) -> None:
        if self.may_rebalance:
            await self.rebalancer.run(trigger)

    async def beginning(self, mq: MessageQueue) -> StartOffset:
        """Return offset 0 with an empty trace, because the application chooses its offsets."""
        return StartOffset(0, ())

    def queues_changed(self, topic: str, queues: list[MessageQueue], mine: list[MessageQueue]) -> None:
        listener = self.registered.get(topic)
        if listener is not None:
            listener(topic, queues, mine)

    async def reset_offsets(self, topic: str, offsets: dict[MessageQueue, int]) -> None:
        """Ignore the reset, as RocketMQ does: only push consumers apply it."""

    def status(self, topic: str) -> dict[MessageQueue, int]:
        return self.offset_store.clone_offset_table(topic)

    def running_info(self) -> bytes:
        return active_running_info(self.group, self.life.since_ms, self.data())

    # Inside.

    def _subscribe_by_itself(self, topic: str) -> None:
        """Subscribe to a topic at its first pull, so that the member takes part in its assignment.

        RocketMQ: `subscriptionAutomatically`.
        """
        if topic not in self.subscriptions:
            self.subscriptions[topic] = Subscription(topic, "*", version=self.instance.clock.now_ms())
