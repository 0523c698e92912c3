"""Consumer of the sandbox, run as a process of its own; its label outlives the process."""

import asyncio
from dataclasses import asdict, replace
from typing import Any

from sandbox.client.allocate import AllocateMessageQueueStrategy
from sandbox.client.config import TIMESTAMP_BACK_MS, ConsumeFromWhere, MessageModel, PushConsumerConfig
from sandbox.client.instance import ClientInstance
from sandbox.client.lite_pull_config import LitePullConsumerConfig
from sandbox.client.lite_pull_consumer import LitePullConsumer
from sandbox.client.offset_runs import Run
from sandbox.client.process_queue import redelivered
from sandbox.client.pull_consumer import PullConsumer, PullConsumerConfig
from sandbox.client.push_consumer import PushConsumer
from sandbox.cluster.actors.group_stats import GroupStats
from sandbox.cluster.actors.listener import ActorListener, Slow, spread
from sandbox.cluster.actors.pulling import Loop, PollLoop, PullLoop
from sandbox.cluster.actors.redelivery import OwnedQueues, Ownership
from sandbox.cluster.presets import MIB, Preset
from sandbox.control.actions import ChangeActor, StartConsumer, Subscription
from sandbox.kernel.errors import BrokerRefused, ClientError
from sandbox.message.queue import MessageQueue

MEMBER_STATES = ("starting", "running", "hung", "stopping", "stopped", "crashed", "refused")

GroupMember = PushConsumer | PullConsumer | LitePullConsumer


class ConsumerActor:
    """Consumer in this process.  `settings` apply to the next process; `listener` is None before the first start.

    `state` is one of MEMBER_STATES.
    """

    kind = "consumer"

    def __init__(self, label: str, slot: int, colour: int, settings: StartConsumer) -> None:
        self.label = label
        self.slot = slot  # gives the process its address
        self.colour = colour
        self.settings = settings
        self.slow: Slow | None = None
        self.handler = "work"
        self.client_id = ""
        self.refused = ""  # why the last start failed
        self.instance: ClientInstance | None = None
        self.consumer: GroupMember | None = None
        self.listener: ActorListener | None = None
        self.loop: Loop | None = None  # only for consumers that pull by themselves
        self._running: asyncio.Task[None] | None = None  # the loop, once it runs
        self.since_ms = 0  # of its process
        self.state_since_ms: int | None = None  # as the journal reported it, of `noted_state`
        self.noted_state = ""
        self._resting = "stopped"  # the state while there is no process

    @property
    def group(self) -> str:
        return self.settings.group

    @property
    def is_copy(self) -> bool:
        """True if the actor uses the client id of another member."""
        return self.settings.client_id_of is not None

    @property
    def account(self) -> str:
        """Key under which its deliveries are counted: its label if it is broadcasting, else empty for the group."""
        return self.label if self.settings.model == "BROADCASTING" else ""

    @property
    def state(self) -> str:
        if self.consumer is None:
            return self._resting
        state = self.consumer.life.state
        return "starting" if state == "created" else state  # `run` is the loop's next step

    @property
    def work_ms(self) -> tuple[int, int]:
        return spread(self.settings.work_ms)

    @property
    def lives(self) -> bool:
        """True if the actor has a process, responsive or not."""
        return self.state in ("starting", "running", "hung", "stopping")

    def begin(
        self, instance: ClientInstance, stats: GroupStats, preset: Preset, strategy: AllocateMessageQueueStrategy
    ) -> None:
        """Create the consumer; `run` starts it.  Raises ClientError if the configuration is not allowed."""
        settings = self.settings
        self.listener = ActorListener(
            instance.clock,
            instance.chance.fork("work"),
            stats,
            work_ms=settings.work_ms,
            fail_percent=settings.fail_percent,
            ownership=self._ownership,
            account=self.account,
        )
        self.listener.slow, self.listener.handler = self.slow, self.handler
        if settings.kind == "push":
            consume: Any = self.listener.orderly if settings.listener == "orderly" else self.listener.concurrently
            pusher = PushConsumer(consumer_config(settings, preset, strategy), instance, consume)
            for sub in settings.subscriptions:
                pusher.subscribe(sub.topic, sub.expression, expression_type=sub.kind)
            pusher.handler = self.handler
            self.consumer = pusher
        elif settings.kind == "pull":
            puller = PullConsumer(pull_config(settings, strategy), instance)
            self.loop = PullLoop(puller, self.listener, lambda: self.settings, _timestamp_ms(settings, instance))
            self.consumer = puller
        else:
            poller = LitePullConsumer(lite_pull_config(settings, preset, strategy), instance)
            self.loop = PollLoop(poller, self.listener)
            self.consumer = poller
        self.instance, self.client_id = instance, instance.client_id
        self.since_ms, self.refused = instance.clock.now_ms(), ""

    async def run(self) -> None:
        assert self.consumer is not None
        consumer = self.consumer
        try:
            if isinstance(consumer, LitePullConsumer):
                await _subscribe(consumer, self.settings.subscriptions)
            await consumer.start()
        except (ClientError, BrokerRefused) as error:  # the broker refuses a filter it cannot evaluate
            self.refused = str(error)
            return
        if self.loop is not None:
            self._running = consumer.instance.tasks.spawn(self.loop.run(), f"loop of {self.label}")

    async def stop(self) -> None:
        """Stop cleanly: commit offsets, release locks, unregister the group.  A pull or poll loop is cancelled."""
        if self.consumer is not None and self.lives:
            if self._running is not None:
                self._running.cancel()
            await self.consumer.shutdown()
            assert self.instance is not None
            await self.instance.shutdown()

    # Read by snapshots.

    @property
    def busy(self) -> int:
        """Number of threads that process a message now."""
        if isinstance(self.consumer, PushConsumer):
            return self.consumer.busy if self.lives else 0
        return self.loop.busy if self.loop is not None and self.lives else 0

    @property
    def threads(self) -> int:
        """Size of the thread pool; 1 for a pull or poll loop."""
        return self.settings.threads if self.settings.kind == "push" else 1

    @property
    def timers(self) -> dict[str, int]:
        """Due time of each timer of its process, in ms."""
        if self.consumer is None or not self.lives:
            return {}
        return self.consumer.timers if isinstance(self.consumer, PushConsumer) else self.consumer.instance.timers

    def redelivered(self, mq: MessageQueue, beginning: int | None) -> tuple[int, int]:
        """Count the messages of a queue that its listener received at or above `beginning`: (finished, begun).

        `beginning` is the next owner's start offset; None means the offset that this member committed.
        """
        pq = self.consumer.process_queues.get(mq) if self.consumer is not None else None
        if pq is None or self.consumer is None:
            return 0, 0
        begun = pq.begun_from(beginning or 0)
        return redelivered(pq, self.consumer.offset_store, beginning) - begun, begun

    def given(self) -> dict[MessageQueue, tuple[Run, ...]]:
        """Return the offsets that its listener received, for the queues that its process has now."""
        queues = self.consumer.process_queues if self.consumer is not None else {}
        return {mq: pq.given_runs() for mq, pq in queues.items()}

    def owned_queues(self) -> OwnedQueues:
        """Return the queues that its process has now, with their ownership."""
        queues = self.consumer.process_queues if self.consumer is not None else {}
        return [(mq, Ownership(self.client_id, pq.taken_at_ms, self.label)) for mq, pq in queues.items()]

    def _ownership(self, mq: MessageQueue) -> Ownership:
        pq = self.consumer.process_queues.get(mq) if self.consumer is not None else None
        return Ownership(self.client_id, None if pq is None else pq.taken_at_ms, self.label)

    def rest(self, state: str) -> None:
        """Record that the actor has no process any more; `state` is the reason."""
        self.instance = self.consumer = self.listener = self.loop = self._running = None
        self._resting = state

    def change(self, change: ChangeActor) -> None:
        """Apply changed settings from the next message on, also for the next process."""
        if change.work_ms is not None:
            self.settings = replace(self.settings, work_ms=change.work_ms)
        if change.fail_percent is not None:
            self.settings = replace(self.settings, fail_percent=change.fail_percent)
        if change.handler is not None:
            self.handler = change.handler
        if change.slow_key is not None:
            self.slow = Slow(change.slow_key, change.slow_ms or 0) if change.slow_key else None
        if change.slow_queue is not None:
            self.slow = Slow("", change.slow_ms or 0, change.slow_queue)
        if self.listener is not None:
            self.listener.work_ms = spread(self.settings.work_ms)
            self.listener.fail_percent = self.settings.fail_percent
            self.listener.slow, self.listener.handler = self.slow, self.handler
        if isinstance(self.consumer, PushConsumer):
            self.consumer.handler = self.handler
        if change.expression is not None:
            self._resubscribe(change.expression)

    def _resubscribe(self, expression: str) -> None:
        subscriptions = tuple(sub._replace(expression=expression) for sub in self.settings.subscriptions)
        self.settings = replace(self.settings, subscriptions=subscriptions)
        if isinstance(self.consumer, PushConsumer) and self.lives:
            for sub in subscriptions:
                self.consumer.subscribe(sub.topic, sub.expression, expression_type=sub.kind)
        elif isinstance(self.consumer, LitePullConsumer) and self.lives:
            self.consumer.tasks.spawn(_subscribe(self.consumer, subscriptions), "subscribe anew")

    def record(self) -> dict[str, object]:
        return {
            "kind": self.kind,
            "label": self.label,
            "slot": self.slot,
            "colour": self.colour,
            "settings": asdict(self.settings),
            "state": self.state,
            "client_id": self.client_id,
            "state_since_ms": self.state_since_ms,
            "handler": self.handler,
            "slow": None if self.slow is None else asdict(self.slow),
        }

    @classmethod
    def of(cls, record: dict[str, Any]) -> "ConsumerActor":
        settings = record["settings"]
        settings["subscriptions"] = tuple(Subscription(*sub) for sub in settings["subscriptions"])
        settings["work_ms"] = tuple(settings["work_ms"])
        actor = cls(record["label"], record["slot"], record["colour"], StartConsumer(**settings))
        actor.client_id, actor.handler = record["client_id"], record["handler"]
        slow = record["slow"]  # a list in records of older versions
        actor.slow = None if not slow else Slow(**slow) if isinstance(slow, dict) else Slow(*slow)
        actor.rest(record["state"])
        actor.state_since_ms = record.get("state_since_ms")  # older files have none
        return actor


def consumer_config(
    settings: StartConsumer, preset: Preset, strategy: AllocateMessageQueueStrategy
) -> PushConsumerConfig:
    """Build a push consumer's configuration: RocketMQ's defaults, the preset's thresholds, the actor's settings.

    Raises ClientError if a value is not allowed.
    """
    return PushConsumerConfig(
        group=settings.group,
        listener=settings.listener,
        model=MessageModel(settings.model),
        from_where=ConsumeFromWhere(settings.from_where),
        timestamp_ms=settings.timestamp,
        strategy=strategy,
        offset_store=settings.offset_store,
        threads=settings.threads,
        consume_batch=settings.batch,
        max_span=preset.consume_concurrently_max_span,
        threshold_for_queue=preset.pull_threshold_for_queue,
        threshold_bytes_for_queue=preset.pull_threshold_size_mib * MIB,
    )


def pull_config(settings: StartConsumer, strategy: AllocateMessageQueueStrategy) -> PullConsumerConfig:
    """Build a pull consumer's configuration, without a start offset, which the application chooses.

    Raises ClientError if a value is not allowed.
    """
    return PullConsumerConfig(
        group=settings.group, model=MessageModel(settings.model), strategy=strategy, offset_store=settings.offset_store
    )


def lite_pull_config(
    settings: StartConsumer, preset: Preset, strategy: AllocateMessageQueueStrategy
) -> LitePullConsumerConfig:
    """Build a lite pull consumer's configuration: defaults, the preset's thresholds, the actor's settings.

    Raises ClientError if a value is not allowed.
    """
    return LitePullConsumerConfig(
        group=settings.group,
        model=MessageModel(settings.model),
        from_where=ConsumeFromWhere(settings.from_where),
        timestamp_ms=settings.timestamp,
        strategy=strategy,
        offset_store=settings.offset_store,
        max_span=preset.consume_concurrently_max_span,
        threshold_for_queue=preset.pull_threshold_for_queue,
        threshold_bytes_for_queue=preset.pull_threshold_size_mib * MIB,
    )


def check_config(settings: StartConsumer, preset: Preset, strategy: AllocateMessageQueueStrategy) -> None:
    """Raise ClientError if a client of that kind does not allow one of the settings."""
    match settings.kind:
        case "push":
            consumer_config(settings, preset, strategy)
        case "pull":
            pull_config(settings, strategy)
        case _:
            lite_pull_config(settings, preset, strategy)


def _timestamp_ms(settings: StartConsumer, instance: ClientInstance) -> int:
    return instance.clock.now_ms() - TIMESTAMP_BACK_MS if settings.timestamp is None else settings.timestamp


async def _subscribe(consumer: LitePullConsumer, subscriptions: tuple[Subscription, ...]) -> None:
    for sub in subscriptions:
        await consumer.subscribe(sub.topic, sub.expression, expression_type=sub.kind)
