"""Lite pull consumer: messages are fetched ahead and returned when the application polls."""

from collections.abc import Iterable

from sandbox.client.active_rebalance import ActiveRebalance, write_taken
from sandbox.client.assigned_queues import AssignedQueue, AssignedQueues, FetchedBatches
from sandbox.client.config import TIMESTAMP_BACK_MS, ConsumeFromWhere, MessageModel
from sandbox.client.flow_control import FlowControl
from sandbox.client.instance import ClientInstance
from sandbox.client.lifecycle import LifeCycle, Startable, Steps
from sandbox.client.lite_pull_config import LitePullConsumerConfig
from sandbox.client.lite_pull_tasks import LitePullTasks
from sandbox.client.offset_store import WatchedOffsetStore
from sandbox.client.plugged_offset_store import offset_store_for
from sandbox.client.process_queue import ProcessQueue
from sandbox.client.results import ReadOffsetType
from sandbox.client.running_info import active_running_info
from sandbox.client.start_offset import StartOffset, compute_pull_from_where
from sandbox.client.subscription import Subscription
from sandbox.client.tasks import Tasks
from sandbox.client.topic_watch import TopicListener, TopicWatch
from sandbox.kernel.errors import ClientError
from sandbox.message.filter import TAG
from sandbox.message.message import Message
from sandbox.message.queue import MessageQueue
from sandbox.remoting.bodies import ConsumerData

EXCLUSIVE = "Subscribe and assign are mutually exclusive."


class LitePullConsumer(Startable):
    """Consumer that fetches ahead from its queues and returns batches on `poll`.

    RocketMQ: `DefaultLitePullConsumer`.  The application calls either `subscribe` (the group shares the queues) or
    `assign` (fixed queues, even if other members read them).  The messages of one `poll` count as consumed at a
    later one: at most every 5 s a poll notes the offsets of earlier polls, and the 5 s timer of the process commits
    them.  A failure cannot be reported: the consumer has no retry topic and sends nothing back.  A reset of the
    group (220) is ignored.
    """

    def __init__(self, config: LitePullConsumerConfig, instance: ClientInstance) -> None:
        self.config = config
        self.group = config.group
        self.instance = instance
        self.client_id = instance.client_id
        self.strategy = config.strategy
        built_ms = instance.clock.now_ms() - TIMESTAMP_BACK_MS
        self.timestamp_ms = (built_ms if config.timestamp_ms is None else config.timestamp_ms) // 1000 * 1000
        self.subscriptions: dict[str, Subscription] = {}
        self.assigned = AssignedQueues()
        self.fetched = FetchedBatches(instance.clock)
        self.process_queues: dict[MessageQueue, ProcessQueue] = {}
        self.tasks = Tasks(f"{instance.client_id} {config.group}")
        self.life = LifeCycle("consumer", config.group, instance, self.process_queues, halt=self.tasks.cancel)
        self.offset_store: WatchedOffsetStore = offset_store_for(
            config.offset_store, config.group, config.model, instance
        )
        self._by_hand: bool | None = None  # assigned, subscribed, or neither yet
        self._pulls = LitePullTasks(
            config,
            instance,
            self.tasks,
            self.assigned,
            self.fetched,
            FlowControl(self),
            subscription_of=self.subscription_of,
            first_offset=self._first_offset,
        )
        self.rebalancer = ActiveRebalance(self)
        self._commit_from_ms = 0
        self._watch = TopicWatch(self.fetch_message_queues)

    # Subscriptions and assigned queues.

    async def subscribe(self, topic: str, expression: str = "*", *, expression_type: str = TAG) -> None:
        """Subscribe to a topic and share its queues with the group.

        Raises ClientError after an `assign`, or if the expression cannot be parsed.
        """
        self._choose(by_hand=False)
        version = self.instance.clock.now_ms()
        self.subscriptions[topic] = Subscription(topic, expression, version=version, expression_type=expression_type)
        if self.state == "running":
            await self.instance.heartbeat()
            await self._learn_routes()

    def unsubscribe(self, topic: str) -> None:
        """Unsubscribe from a topic.  The next rebalance removes its queues from the table."""
        self.subscriptions.pop(topic, None)
        self._pulls.update([], topic=topic)
        self.assigned.forget(topic)

    def assign(self, queues: Iterable[MessageQueue]) -> None:
        """Read exactly these queues, with all their messages.

        Raises ClientError after a `subscribe`, or for no queues.
        """
        assigned = sorted(queues)
        if not assigned:
            raise ClientError("Message queues can not be null or empty.")
        self._choose(by_hand=True)
        self.assigned.update(assigned, self._queue_of)
        self.process_queues.clear()
        self.process_queues.update((state.mq, state.pq) for state in self.assigned.states())
        if self.state == "running":
            self._pulls.update(assigned)

    def subscription_of(self, topic: str) -> Subscription:
        """Return the subscription sent with pulls of the topic.  Raises ClientError if it was removed."""
        if self._by_hand:
            return Subscription(topic, "*", version=0)
        if topic not in self.subscriptions:
            raise ClientError(f"the consumer no longer subscribes to {topic}")
        return self.subscriptions[topic]

    # Life.

    async def _start(self, steps: Steps) -> None:
        """Execute the start steps.  Raises ClientError also if a broker refuses an expression."""
        with steps.step("register in instance"):
            self.instance.register_consumer(self)
        with steps.step("load offsets"):
            await self.offset_store.load()
        with steps.step("start instance"):
            await self.instance.start()
        self.tasks.spawn(self._watch.run(self.instance.clock, self.config.topic_check_ms), "check topics")
        self.life.running()
        with steps.step("fetch routes"):
            await self._learn_routes()
        if self._by_hand:
            self._pulls.update(self.assigned.queues())
        await self._watch.begin()
        with steps.step("check subscriptions at a broker"):
            await self.instance.check_subscriptions(self.group, list(self.subscriptions.values()))

    async def _stop(self, steps: Steps) -> None:
        await self.instance.leave(self, steps)
        with steps.step("stop pulling"):
            await self.tasks.close()
        await self.instance.shutdown(steps)
        self.rebalancer.drop_all()

    # Messages.

    async def poll(self, timeout_ms: int | None = None) -> list[Message]:
        """Return the oldest fetched batch of any queue; empty after 5 s (or `timeout_ms`) without one.

        The batch leaves the cache at once, so messages being consumed no longer count against any limit.
        """
        await self._ready()
        patience_ms = self.config.poll_timeout_ms if timeout_ms is None else timeout_ms
        if patience_ms < 0:
            raise ClientError("Timeout must not be negative")
        if self.config.auto_commit:
            self._maybe_auto_commit()
        batch = await self.fetched.take(patience_ms / 1000)
        await self.instance.clock.going_on()
        if batch is None or batch.pq.dropped:
            return []
        batch.pq.begin(batch.messages, self.instance.clock.now_ms())
        done = batch.pq.remove(batch.messages)
        batch.pq.end(batch.messages)
        state = self.assigned.get(batch.pq.mq)
        if state is not None:
            state.consume_offset = None if done == -1 else done
        return batch.messages

    def commit_all(self) -> None:
        """Note the offsets of all messages returned by polls so far.  RocketMQ: `commitSync`."""
        for state in self.assigned.states():
            self._commit(state)

    async def commit(self, queues: Iterable[MessageQueue], *, persist: bool) -> None:
        """Note the offsets of some queues, like `commit_all`; with `persist` also send them to the broker at once."""
        requested = sorted(queues)
        for mq in requested:
            state = self.assigned.get(mq)
            if state is not None:
                self._commit(state)
        if persist and requested:
            await self.offset_store.persist_all(requested, by="timer")

    async def committed(self, mq: MessageQueue) -> int | None:
        """Return the group's committed offset, from memory first; None if no offset is stored."""
        await self._ready()
        return await self.offset_store.read_offset(mq, ReadOffsetType.MEMORY_FIRST_THEN_STORE)

    async def seek(self, mq: MessageQueue, offset: int) -> None:
        """Continue the queue at `offset` and discard its fetched messages.

        Raises ClientError if this consumer does not own the queue now, or if the offset is outside the queue.
        """
        if mq not in self.assigned:
            perhaps = "" if self._by_hand else ", may be rebalancing"
            raise ClientError(f"The message queue is not in assigned list{perhaps}, message queue: {mq.key}")
        low, high = await self.min_offset(mq), await self.max_offset(mq)
        if not low <= offset <= high:
            raise ClientError(f"Seek offset illegal, seek offset = {offset}, min offset = {low}, max offset = {high}")
        state = self.assigned.get(mq)
        if state is None:
            raise ClientError(f"The message queue is not in assigned list, message queue: {mq.key}")
        state.pq.clear()
        self.fetched.remove(mq)
        state.seek_offset = offset
        self._pulls.restart(mq)

    async def seek_to_begin(self, mq: MessageQueue) -> None:
        await self.seek(mq, await self.min_offset(mq))

    async def seek_to_end(self, mq: MessageQueue) -> None:
        await self.seek(mq, await self.max_offset(mq))

    def pause(self, queues: Iterable[MessageQueue]) -> None:
        """Stop fetching from these queues; their tasks check once a second.  `poll` still returns what was fetched."""
        self._set_paused(queues, paused=True)

    def resume_queues(self, queues: Iterable[MessageQueue]) -> None:
        """Resume fetching from these queues.  RocketMQ: `resume`, a name that the process uses here."""
        self._set_paused(queues, paused=False)

    # Queues.

    async def fetch_message_queues(self, topic: str) -> list[MessageQueue]:
        """Return all readable queues of the topic.  Raises ClientError if the topic is unknown."""
        return await self.instance.fetch_readable_queues(topic)

    async def listen_to_topic(self, topic: str, listener: TopicListener) -> None:
        """Call `listener` when the topic's queues change; checked 10 s after the start, then every 30 s.

        RocketMQ: `registerTopicMessageQueueChangeListener`.
        """
        self._watch.listeners[topic] = listener
        if self.state == "running":
            await self._watch.begin()

    async def max_offset(self, mq: MessageQueue) -> int:
        return await self.instance.max_offset(mq)

    async def min_offset(self, mq: MessageQueue) -> int:
        return await self.instance.min_offset(mq)

    async def search_offset(self, mq: MessageQueue, timestamp_ms: int) -> int:
        return await self.instance.search_offset(mq, timestamp_ms)

    # Called by the instance, the rebalance and the tasks.

    def data(self) -> ConsumerData:
        """Return this consumer's part of a heartbeat.  It names no topic if the queues were chosen with `assign`."""
        return ConsumerData(
            group_name=self.group,
            consume_type="CONSUME_ACTIVELY",
            message_model=self.config.model.value,
            subscriptions=tuple(subscription.data() for subscription in self.subscriptions.values()),
        )

    def topics(self) -> list[str]:
        return list(self.subscriptions)

    @property
    def model(self) -> MessageModel:
        return self.config.model

    @property
    def from_where(self) -> ConsumeFromWhere:
        return self.config.from_where

    @property
    def threshold_for_queue(self) -> int:
        return self.config.threshold_for_queue

    @property
    def threshold_bytes_for_queue(self) -> int:
        return self.config.threshold_bytes_for_queue

    @property
    def may_rebalance(self) -> bool:
        """True if the member is active and did not choose its queues with `assign`."""
        return self.life.is_active and not self._by_hand

    async def rebalance(self, trigger: str) -> None:
        if self.may_rebalance:
            await self.rebalancer.run(trigger)

    async def beginning(self, mq: MessageQueue) -> StartOffset:
        """Return the start offset in a new queue, as for a push consumer, but read memory before the store."""
        return await compute_pull_from_where(
            mq,
            self.offset_store,
            self.instance,
            where=self.config.from_where,
            timestamp_ms=self.timestamp_ms,
            how=ReadOffsetType.MEMORY_FIRST_THEN_STORE,
        )

    def queues_changed(self, topic: str, queues: list[MessageQueue], mine: list[MessageQueue]) -> None:
        self.assigned.update(mine, self._queue_of, topic=topic)
        self._pulls.update(mine, topic=topic)

    async def reset_offsets(self, topic: str, offsets: dict[MessageQueue, int]) -> None:
        """Ignore the reset, as RocketMQ does: only push consumers apply it."""

    def status(self, topic: str) -> dict[MessageQueue, int]:
        """Return no offsets, as RocketMQ does for this kind of consumer."""
        return {}

    def running_info(self) -> bytes:
        return active_running_info(self.group, self.life.since_ms, self.data())

    # Inside.

    def _choose(self, *, by_hand: bool) -> None:
        if self._by_hand not in (None, by_hand):
            raise ClientError(EXCLUSIVE)
        self._by_hand = by_hand

    def _queue_of(self, mq: MessageQueue) -> ProcessQueue:
        """Return the owned process queue, or a new one for a queue that is assigned by hand or not rebalanced yet."""
        return self.process_queues.get(mq) or ProcessQueue(mq, now_ms=self.instance.clock.now_ms())

    def _set_paused(self, queues: Iterable[MessageQueue], *, paused: bool) -> None:
        for mq in queues:
            state = self.assigned.get(mq)
            if state is not None:
                state.paused = paused

    def _maybe_auto_commit(self) -> None:
        now_ms = self.instance.clock.now_ms()
        if now_ms >= self._commit_from_ms:
            self.commit_all()
            self._commit_from_ms = now_ms + self.config.auto_commit_ms

    def _commit(self, state: AssignedQueue) -> None:
        if state.consume_offset is not None and not state.pq.dropped:
            self.offset_store.update_offset(state.mq, state.consume_offset, increase_only=False)

    async def _first_offset(self, mq: MessageQueue) -> int | None:
        """Return the group's start offset.

        Record it for a queue assigned by hand, because no rebalance records those.
        """
        start = await self.beginning(mq)
        if start.offset is not None and not self.subscriptions:
            write_taken(self, mq, start)
        return start.offset

    async def _learn_routes(self) -> None:
        for topic in list(self.subscriptions):
            await self.instance.name_servers.learn_route(topic)

    async def _ready(self) -> None:
        await self.instance.clock.going_on()
        if self.state != "running":
            raise ClientError(f"consumer {self.group} is {self.state}, not running")
