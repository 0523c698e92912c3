"""Push consumer: the application subscribes and starts, and the consumer calls its listener."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from sandbox.client.config import TIMESTAMP_BACK_MS, MessageModel, PushConsumerConfig
from sandbox.client.consume_concurrently import ConsumeMessageConcurrentlyService
from sandbox.client.consume_directly import consumed_directly
from sandbox.client.consume_orderly import ConsumeMessageOrderlyService
from sandbox.client.consumption import ConsumeService, ListenerCalls
from sandbox.client.flow_control import FlowControl
from sandbox.client.instance import ClientInstance
from sandbox.client.lifecycle import LifeCycle, Startable, Steps
from sandbox.client.listeners import (
    ConcurrentListener,
    ConsumeConcurrentlyContext,
    ConsumeOrderlyContext,
    OrderlyListener,
    inside_namespace,
)
from sandbox.client.offset_store import WatchedOffsetStore
from sandbox.client.owned_queues import OwnedQueues
from sandbox.client.pin_watch import PinWatch
from sandbox.client.plugged_offset_store import offset_store_for
from sandbox.client.process_queue import ProcessQueue, redelivered
from sandbox.client.pull_service import PullService
from sandbox.client.queue_locks import QueueLocks
from sandbox.client.rebalance import Rebalance
from sandbox.client.reset import reset_offsets
from sandbox.client.running_info import running_info
from sandbox.client.subscription import Subscription
from sandbox.client.tasks import Tasks, TimerRow
from sandbox.journal.events import ResetStepDone
from sandbox.kernel.errors import ClientError
from sandbox.message.filter import TAG
from sandbox.message.message import Message
from sandbox.message.namespaces import with_namespace
from sandbox.message.queue import MessageQueue
from sandbox.remoting.bodies import ConsumerData


class PushConsumer(Startable):
    """Member of a group that pulls its assigned queues and calls its listener.  RocketMQ: `DefaultMQPushConsumer`.

    A changed `strategy` applies from the next rebalance.
    """

    def __init__(
        self, config: PushConsumerConfig, instance: ClientInstance, listener: ConcurrentListener | OrderlyListener
    ) -> None:
        if config.namespace:
            config = replace(config, group=with_namespace(config.namespace, config.group))
            listener = inside_namespace(config.namespace, listener)
        self.config = config
        self.group = config.group
        self.instance = instance
        self.client_id = instance.client_id
        self.clock = instance.clock
        self.journal = instance.journal
        self.strategy = config.strategy
        self.reset_id = ""  # id of the current reset, set by its caller; events contain it
        built_ms = instance.clock.now_ms() - TIMESTAMP_BACK_MS
        timestamp_ms = (built_ms if config.timestamp_ms is None else config.timestamp_ms) // 1000 * 1000
        self.threshold_for_queue = config.threshold_for_queue
        self.threshold_bytes_for_queue = config.threshold_bytes_for_queue
        self.subscriptions: dict[str, Subscription] = {}
        self.process_queues: dict[MessageQueue, ProcessQueue] = {}
        self.tasks = Tasks(f"{instance.client_id} {config.group}")
        self.life = LifeCycle("consumer", config.group, instance, self.process_queues, halt=self._halt)
        self.locks = QueueLocks(config.group, instance, self.process_queues)
        self.offset_store: WatchedOffsetStore = offset_store_for(
            config.offset_store, config.group, config.model, instance
        )
        self._queues = OwnedQueues(
            config, instance, self.life, self.process_queues, self.offset_store, self.locks, timestamp_ms=timestamp_ms
        )
        self._watch = PinWatch(config.group, self.process_queues, instance.clock, instance.journal)
        self._calls = ListenerCalls(config, instance, self._watch)
        self._listener: Callable[..., Awaitable[object]] = listener
        self.service: ConsumeService = self._service(listener)
        self.pulls = PullService(
            config, instance, self.life, self.tasks, self.subscriptions, self._queues, FlowControl(self), self.service
        )
        self.rebalancer = Rebalance(self, self.subscriptions, self._queues, self.pulls, self._assignment_changed)

    @property
    def handler(self) -> str:
        """Label that the journal records with every consumed batch."""
        return self._calls.handler

    @handler.setter
    def handler(self, handler: str) -> None:
        self._calls.handler = handler

    @property
    def consumed(self) -> int:
        """Number of messages for which the listener has returned."""
        return self._calls.consumed

    # Life.

    def subscribe(self, topic: str, expression: str = "*", *, expression_type: str = TAG) -> None:
        """Subscribe to a topic; a running consumer sends brokers a heartbeat with it.

        Raises ClientError if the expression cannot be parsed.
        """
        topic = with_namespace(self.config.namespace, topic)
        self.subscriptions[topic] = Subscription(
            topic, expression, version=self.clock.now_ms(), expression_type=expression_type
        )
        if self.state == "running":
            self.tasks.spawn(self.instance.heartbeat(), "send the subscription")

    def unsubscribe(self, topic: str) -> None:
        """Unsubscribe from a topic; the next rebalance drops its queues."""
        self.subscriptions.pop(with_namespace(self.config.namespace, topic), None)

    async def _start(self, steps: Steps) -> None:
        """Execute the start steps (spec client-behaviour 2.1); return when the first rebalance is requested.

        Java's steps 3 to 7 (instance, strategy, pull wrapper, offset store) happen in the constructor; its step 12
        is the state `running`.
        """
        with steps.step("check config"):
            if not self.subscriptions:
                raise ClientError(f"consumer {self.group} subscribes to nothing")
        with steps.step("copy subscriptions"):
            if self._clustering:
                self.subscribe(self.config.retry_topic)
        with steps.step("load offsets"):
            await self.offset_store.load()
        with steps.step("start consume service"):
            self.service.start()
        with steps.step("register in instance"):
            self.instance.register_consumer(self)
        with steps.step("start instance"):
            await self.instance.start()
        self.life.running()
        with steps.step("fetch routes"):
            for topic in list(self.subscriptions):
                await self.instance.name_servers.learn_route(topic)
        with steps.step("check subscriptions at a broker"):
            await self.instance.check_subscriptions(self.group, list(self.subscriptions.values()))
        with steps.step("heartbeat"):
            await self.instance.heartbeat()
        with steps.step("wake rebalance"):
            self.instance.wake_rebalance("started")

    async def _stop(self, steps: Steps) -> None:
        """Execute the stop steps in RocketMQ's order (spec client-behaviour 2.3)."""
        with steps.step("stop consume service"):
            await self.service.shutdown()
        await self.instance.leave(self, steps)
        with steps.step("stop pulling"):
            self._watch.close()
            await self.tasks.close()
        await self.instance.shutdown(steps)
        with steps.step("drop queues"):
            for mq, pq in self._queues.items():
                pq.dropped = True
                pq.released_offset = self.offset_store.read_memory(mq)
                self._queues.remove(mq, pq, "shutdown")

    def _halt(self) -> None:
        self.tasks.cancel()
        self.service.stop()
        self._watch.close()

    # Called by the instance.

    def data(self) -> ConsumerData:
        """Return this consumer's part of a heartbeat."""
        return ConsumerData(
            group_name=self.group,
            consume_type="CONSUME_PASSIVELY",
            message_model=self.config.model.value,
            consume_from_where=self.config.from_where.value,
            subscriptions=tuple(subscription.data() for subscription in self.subscriptions.values()),
        )

    def topics(self) -> list[str]:
        return list(self.subscriptions)

    @property
    def model(self) -> MessageModel:
        return self.config.model

    @property
    def may_rebalance(self) -> bool:
        return self.life.is_active

    async def rebalance(self, trigger: str) -> None:
        if self.may_rebalance:
            await self.rebalancer.run(trigger)

    async def reset_offsets(self, topic: str, offsets: dict[MessageQueue, int]) -> None:
        await reset_offsets(self._queues, self.life, self.clock, topic, offsets, self._reset_step_done)
        self.instance.wake_rebalance("reset")

    def status(self, topic: str) -> dict[MessageQueue, int]:
        """Return the offsets in memory for the queues of one topic."""
        return self.offset_store.clone_offset_table(topic)

    def running_info(self) -> bytes:
        return running_info(
            self.config,
            self.data(),
            self._queues,
            name_servers=self.instance.config.name_servers,
            since_ms=self.life.since_ms,
            threshold_for_queue=self.threshold_for_queue,
        )

    async def consume_directly(self, message: Message, broker: str) -> bytes:
        """Pass one message to the listener and return the encoded result."""
        mq = MessageQueue(message.topic, broker, message.queue_id or 0)
        context = ConsumeOrderlyContext(mq, 0) if self.config.orderly else ConsumeConcurrentlyContext(mq, 0)
        return await consumed_directly(
            self.clock,
            self._listener,
            message,
            context,
            retry_topic=self.config.retry_topic,
            orderly=self.config.orderly,
        )

    # Read by boards.

    @property
    def busy(self) -> int:
        """Number of threads that work now."""
        return self.service.threads.busy

    @property
    def timers(self) -> dict[str, int]:
        """Return when each timer of this consumer and its process is due, in ms."""
        due = self.instance.timers
        rounds = self.service.lock_round if isinstance(self.service, ConsumeMessageOrderlyService) else None
        if rounds is not None:
            due["lock"] = self.clock.ms_at(rounds.due_s)
        return due

    def timer_rows(self) -> dict[str, TimerRow]:
        """Return the timer table of the process, with the jobs of this consumer alone."""
        rows, service = self.instance.timer_rows(), self.service
        if isinstance(service, ConsumeMessageOrderlyService) and service.lock_round is not None:
            rows["lock"] = self.instance.row_of(service.lock_round)
        if isinstance(service, ConsumeMessageConcurrentlyService) and service.clean_round is not None:
            rows["clean"] = self.instance.row_of(service.clean_round)
        return rows

    def in_doubt(self) -> int:
        """Count the messages passed to a listener that a crash now would redeliver, as far as this member knows."""
        return sum(self.redelivered(mq, None) for mq in self.process_queues)

    def redelivered(self, mq: MessageQueue, beginning: int | None) -> int:
        """Count the messages of a queue that a listener received at or above `beginning`, the next start offset.

        `beginning` None means the last persisted offset, which is known to this member only.
        """
        pq = self.process_queues.get(mq)
        return 0 if pq is None else redelivered(pq, self.offset_store, beginning)

    # Inside.

    async def _assignment_changed(self, topic: str) -> None:
        """Apply a changed assignment of a topic: new subscription version, thresholds per queue, heartbeat."""
        subscription = self.subscriptions.get(topic)
        if subscription is not None:
            subscription.version = self.clock.now_ms()
        owned = len(self.process_queues)
        if owned and self.config.threshold_for_topic != -1:
            self.threshold_for_queue = max(1, self.config.threshold_for_topic // owned)
        if owned and self.config.threshold_bytes_for_topic != -1:
            self.threshold_bytes_for_queue = max(1, self.config.threshold_bytes_for_topic // owned)
        await self.instance.heartbeat()

    def _reset_step_done(self, step: str) -> None:
        self.journal.write(ResetStepDone(reset_id=self.reset_id, client_id=self.client_id, step=step))

    @property
    def _clustering(self) -> bool:
        return self.config.model is MessageModel.CLUSTERING

    def _service(self, listener: Callable[..., Any]) -> ConsumeService:
        kind = ConsumeMessageOrderlyService if self.config.orderly else ConsumeMessageConcurrentlyService
        return kind(self.config, self.instance, self.tasks, self._queues, self._calls, listener)
