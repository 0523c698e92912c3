"""Consuming by hand: the application says which queue, from where, how much."""

from dataclasses import dataclass

from sandbox.client.client_api import SYS_SUBSCRIPTION, SYS_SUSPEND, PullAnswer
from sandbox.client.config import DEFAULT_CONSUMER_GROUP, MessageModel, check_group
from sandbox.client.instance import ClientInstance
from sandbox.client.lifecycle import Lifecycle
from sandbox.client.offset_store import RemoteBrokerOffsetStore
from sandbox.client.received import received
from sandbox.client.results import PullResult, PullStatus, ReadOffsetType
from sandbox.client.routes import MASTER_ID
from sandbox.client.subscription import Subscription
from sandbox.journal.events import MemberStateChanged
from sandbox.kernel.errors import ClientError, ConnectFailed, SandboxError
from sandbox.message.queue import MessageQueue
from sandbox.remoting.bodies import ConsumerData
from sandbox.remoting.codes import ResponseCode
from sandbox.remoting.headers import PullHeader
from sandbox.remoting.json_body import dumps

BROKER_SUSPEND_MS = 20_000
BLOCKING_TIMEOUT_MS = 30_000
PLAIN_TIMEOUT_MS = 10_000

STATUS = {
    ResponseCode.SUCCESS: PullStatus.FOUND,
    ResponseCode.PULL_NOT_FOUND: PullStatus.NO_NEW_MSG,
    ResponseCode.PULL_RETRY_IMMEDIATELY: PullStatus.NO_MATCHED_MSG,
    ResponseCode.PULL_OFFSET_MOVED: PullStatus.OFFSET_ILLEGAL,
}


@dataclass(frozen=True, kw_only=True)
class PullConsumerConfig:
    """RocketMQ: the fields of `DefaultMQPullConsumer` that matter here.  Its instance is a `stream` one."""

    group: str

    def __post_init__(self) -> None:
        check_group(self.group, forbidden=DEFAULT_CONSUMER_GROUP)


class PullConsumer:
    """Pulls when told to and keeps offsets when told to; nothing happens on its own but heartbeats and commits.

    RocketMQ: `DefaultMQPullConsumer` (spec client-behaviour 12).  It takes no part in dividing queues and does not
    react to a reset.
    """

    def __init__(self, config: PullConsumerConfig, instance: ClientInstance) -> None:
        self.config = config
        self.group = config.group
        self.instance = instance
        self.client_id = instance.client_id
        self.state = "created"
        self.offset_store = RemoteBrokerOffsetStore(config.group, instance)
        self._touched: dict[MessageQueue, None] = {}

    async def start(self) -> None:
        """Raises ClientError for a second start or a group name in use."""
        if self.state != "created":
            raise ClientError(f"consumer {self.group} is {self.state} and cannot start again")
        self._become("starting")
        steps = Lifecycle(self.instance.journal, self.instance.clock, group=self.group, client_id=self.client_id,
                          phase="start")  # fmt: skip
        try:
            with steps.step("register in instance"):
                self.instance.register_consumer(self)
            with steps.step("start instance"):
                await self.instance.start()
        except SandboxError:
            self._become("refused")
            raise
        self._become("running")
        with steps.step("heartbeat"):
            await self.instance.heartbeat()

    async def shutdown(self) -> None:
        """Commit what was noted, say goodbye."""
        if self.state != "running":
            return
        self._become("stopping")
        await self.offset_store.persist_all(self._touched, by="shutdown")
        self.instance.consumers.pop(self.group, None)
        await self.instance.unregister(consumer_group=self.group)
        await self.instance.shutdown()
        self._become("stopped")

    async def fetch_queues(self, topic: str) -> list[MessageQueue]:
        """All queues of the topic that can be read.  Raises ClientError when nobody knows the topic."""
        await self.instance.name_servers.learn_route(topic)
        queues = self.instance.routes.subscribe_queues(topic)
        if queues is None:
            raise ClientError(f"No route info of this topic: {topic}")
        return queues

    async def pull(
        self, mq: MessageQueue, offset: int, *, expression: str = "*", max_messages: int = 32, block: bool = False
    ) -> PullResult:
        """Ask for messages from `offset` on; with `block` the broker waits up to 20 s for the first."""
        subscription = Subscription(mq.topic, expression, version=0)
        found = self.instance.routes.address(mq.broker, MASTER_ID, only_this=False)
        if found is None:
            await self.instance.name_servers.learn_route(mq.topic)
            found = self.instance.routes.address(mq.broker, MASTER_ID, only_this=False)
        if found is None:
            raise ConnectFailed(f"the broker {mq.broker} has no known address")
        header = PullHeader(
            group=self.group, topic=mq.topic, queue_id=mq.queue_id, queue_offset=offset, max_messages=max_messages,
            sys_flag=SYS_SUBSCRIPTION | (SYS_SUSPEND if block else 0), commit_offset=0,
            suspend_timeout_ms=BROKER_SUSPEND_MS, subscription=subscription.expression, sub_version=0,
            expression_type=subscription.expression_type, broker=mq.broker,
        )  # fmt: skip
        timeout_ms = BLOCKING_TIMEOUT_MS if block else PLAIN_TIMEOUT_MS
        return _result(mq, subscription, await self.instance.api.pull(found[0], header, timeout_ms))

    async def consume_offset(self, mq: MessageQueue, *, from_store: bool = False) -> int | None:
        """Where the group has got to; None when nobody has said so."""
        how = ReadOffsetType.READ_FROM_STORE if from_store else ReadOffsetType.MEMORY_FIRST_THEN_STORE
        return await self.offset_store.read_offset(mq, how)

    def update_consume_offset(self, mq: MessageQueue, offset: int) -> None:
        """Note it; the broker learns within 5 s."""
        self._touched[mq] = None
        self.offset_store.update_offset(mq, offset, increase_only=False)

    async def max_offset(self, mq: MessageQueue) -> int:
        return await self.instance.api.max_offset(await self.instance.master_or_any(mq), mq)

    async def min_offset(self, mq: MessageQueue) -> int:
        return await self.instance.api.min_offset(await self.instance.master_or_any(mq), mq)

    async def search_offset(self, mq: MessageQueue, timestamp_ms: int) -> int:
        return await self.instance.api.search_offset(await self.instance.master_or_any(mq), mq, timestamp_ms)

    # What the instance asks.

    def data(self) -> ConsumerData:
        return ConsumerData(group_name=self.group, consume_type="CONSUME_ACTIVELY",
                            message_model=MessageModel.CLUSTERING.value)  # fmt: skip

    def topics(self) -> list[str]:
        return sorted({mq.topic for mq in self._touched})

    async def persist_offsets(self) -> None:
        await self.offset_store.persist_all(self._touched, by="timer")

    async def rebalance(self, trigger: str) -> None:
        """The application chose its queues."""

    async def reset_offsets(self, topic: str, offsets: dict[MessageQueue, int]) -> None:
        """Ignored, as in RocketMQ: only push consumers move."""

    def status(self, topic: str) -> dict[MessageQueue, int]:
        found = {mq: self.offset_store.read_memory(mq) for mq in sorted(self._touched) if mq.topic == topic}
        return {mq: offset for mq, offset in found.items() if offset is not None}

    def running_info(self) -> bytes:
        properties = {"PROP_CONSUME_TYPE": "CONSUME_ACTIVELY", "consumerGroup": self.group}
        return dumps({"properties": properties, "mqTable": {}, "statusTable": {}, "subscriptionSet": []})

    def told(self, state: str) -> None:
        self._become(state)

    def _become(self, state: str) -> None:
        self.state = state
        self.instance.journal.write(
            MemberStateChanged(group=self.group, client_id=self.client_id, state=state, unfinished=())
        )


def _result(mq: MessageQueue, subscription: Subscription, answer: PullAnswer) -> PullResult:
    header = answer.header
    messages = [
        received(stored, mq.broker, min_offset=header.min_offset, max_offset=header.max_offset)
        for stored in answer.records
    ]
    return PullResult(
        STATUS[ResponseCode(answer.code)], header.next_offset, header.min_offset, header.max_offset,
        header.suggest_broker_id, subscription.wanted(messages),
    )  # fmt: skip
