"""Fetching messages ahead of consumption, queue by queue."""

import logging
from typing import TYPE_CHECKING, NamedTuple

from sandbox.client.client_api import SYS_COMMIT, SYS_SUBSCRIPTION, SYS_SUSPEND, PullAnswer
from sandbox.client.config import MIB, MessageModel
from sandbox.client.process_queue import ProcessQueue, offset_of
from sandbox.client.received import received
from sandbox.client.routes import MASTER_ID
from sandbox.client.start_offset import compute_pull_from_where
from sandbox.client.subscription import Subscription
from sandbox.journal.events import FlowControlChanged, MessagesFiltered
from sandbox.kernel.errors import BrokerRefused, ConnectFailed, SandboxError
from sandbox.message.message import Message
from sandbox.message.queue import MessageQueue
from sandbox.remoting.codes import ResponseCode
from sandbox.remoting.headers import PullHeader

if TYPE_CHECKING:
    from sandbox.client.push_consumer import PushConsumer

log = logging.getLogger(__name__)

SUSPEND_TIMEOUT_MS = 15_000  # the broker may hold a pull that found nothing
PULL_TIMEOUT_MS = 30_000
ILLEGAL_OFFSET_DELAY_S = 10.0
CALM_MS = 1_000


class Pause(NamedTuple):
    """How long until the next pull of a queue, and why."""

    why: str
    seconds: float


NOT_RUNNING = Pause("not_running", 1.0)
SUSPENDED = Pause("paused", 1.0)
FLOW_CONTROL = Pause("flow_control", 0.05)
NOT_LOCKED = Pause("not_locked", 1.0)
NO_OFFSET = Pause("no_offset", 1.0)  # locked, but nobody says where to begin
BROKER_BUSY = Pause("broker_busy", 0.02)
AT_ONCE = Pause("", 0.0)
DISCARD = None  # this queue is no longer ours: the loop ends


class _Limit(NamedTuple):
    """A threshold that is crossed: what it counts, how much there is, how much there may be."""

    name: str
    value: int
    allowed: int


class PullService:
    """One story per owned queue: check, pull, hand on, again.  RocketMQ: `PullMessageService`, `pullMessage`.

    Each queue has exactly one pull under way.  Where the next one begins is what the last answer said, never the
    committed offset; so one stuck message lets pulling run ahead until a threshold stops it.
    """

    def __init__(self, consumer: "PushConsumer") -> None:
        self._consumer = consumer
        self._suggested: dict[MessageQueue, int] = {}

    def start(self, pq: ProcessQueue) -> None:
        self._consumer.tasks.spawn(self._story(pq), f"pull {pq.mq.key}")

    async def _story(self, pq: ProcessQueue) -> None:
        while True:
            pause = await self._once(pq)
            if pause is DISCARD:
                return
            pq.pause = pause.why
            if pause.seconds > 0:
                pq.pull_again_ms = self._consumer.clock.now_ms() + round(pause.seconds * 1000)
                await self._consumer.clock.sleep(pause.seconds)

    async def _once(self, pq: ProcessQueue) -> Pause | None:
        """Check, then pull; returns how long to wait before the next.  The order is the client's (spec 6)."""
        consumer = self._consumer
        if pq.dropped:
            return DISCARD
        pq.last_pull_ms = consumer.clock.now_ms()
        if consumer.state != "running":
            return NOT_RUNNING
        if consumer.paused:
            return SUSPENDED
        if self._is_held_back(pq):
            return FLOW_CONTROL
        if consumer.config.orderly:
            if not pq.locked:
                return NOT_LOCKED
            if pq.first_lock_pending and not await self._begin_again(pq):
                return NO_OFFSET
        subscription = consumer.subscriptions.get(pq.mq.topic)
        if subscription is None:
            return self._after_exception("not_subscribed")
        try:
            answer = await self._pull(pq, subscription)
        except SandboxError as why:
            log.debug("pull of %s failed: %s", pq.mq.key, why)
            if isinstance(why, BrokerRefused) and why.code == ResponseCode.FLOW_CONTROL:
                return BROKER_BUSY
            return self._after_exception("pull_failed")
        if pq.dropped:
            return DISCARD
        return await self._take_over(pq, subscription, answer)

    def _after_exception(self, why: str) -> Pause:
        return Pause(why, self._consumer.instance.config.pull_delay_on_exception_ms / 1000)

    async def _begin_again(self, pq: ProcessQueue) -> bool:
        """Just locked for the first time: what the last owner committed may have moved since the queue was taken."""
        consumer = self._consumer
        start = await compute_pull_from_where(
            pq.mq, consumer.offset_store, consumer, where=consumer.config.from_where,
            timestamp_ms=consumer.timestamp_ms,
        )  # fmt: skip
        if start.offset is None:
            return False
        pq.next_offset = start.offset
        pq.first_lock_pending = False
        return True

    async def _pull(self, pq: ProcessQueue, subscription: Subscription) -> PullAnswer:
        consumer = self._consumer
        mq = pq.mq
        address, broker_id = await self._node(mq)
        sys_flag = SYS_SUSPEND
        commit_offset = 0
        if consumer.config.model is MessageModel.CLUSTERING and broker_id == MASTER_ID:
            commit_offset = max(0, consumer.offset_store.read_memory(mq) or 0)
            if commit_offset > 0:
                sys_flag |= SYS_COMMIT
        expression: str | None = None
        if consumer.config.post_subscription_when_pull:
            sys_flag |= SYS_SUBSCRIPTION
            expression = subscription.expression
        header = PullHeader(
            group=consumer.group, topic=mq.topic, queue_id=mq.queue_id, queue_offset=pq.next_offset,
            max_messages=consumer.config.pull_batch, sys_flag=sys_flag, commit_offset=commit_offset,
            suspend_timeout_ms=SUSPEND_TIMEOUT_MS, subscription=expression, sub_version=subscription.version,
            expression_type=subscription.expression_type, broker=mq.broker,
        )  # fmt: skip
        if sys_flag & SYS_COMMIT:
            consumer.offset_store.note_safe(mq, commit_offset)
        answer = await consumer.instance.api.pull(address, header, PULL_TIMEOUT_MS)
        self._suggested[mq] = answer.header.suggest_broker_id
        return answer

    async def _node(self, mq: MessageQueue) -> tuple[str, int]:
        """The node last suggested, or any other of that broker; unknown: one look at the route."""
        routes = self._consumer.instance.routes
        wanted = self._suggested.get(mq, MASTER_ID)
        found = routes.address(mq.broker, wanted, only_this=False)
        if found is None:
            await self._consumer.instance.name_servers.learn_route(mq.topic)
            found = routes.address(mq.broker, wanted, only_this=False)
        if found is None:
            raise ConnectFailed(f"the broker {mq.broker} has no known address")
        return found

    async def _take_over(self, pq: ProcessQueue, subscription: Subscription, answer: PullAnswer) -> Pause | None:
        consumer = self._consumer
        pq.next_offset = answer.header.next_offset
        if answer.code == ResponseCode.SUCCESS:
            messages = self._wanted(pq, subscription, answer)
            if not messages:
                return AT_ONCE
            wake = pq.put(messages)
            consumer.service.submit(messages, pq, wake=wake)
            return Pause("", consumer.config.pull_interval_ms / 1000)
        if answer.code == ResponseCode.PULL_OFFSET_MOVED:
            await self._start_elsewhere(pq)
            return DISCARD
        if not pq.has_unfinished:  # nothing new and nothing left: all up to here is done
            consumer.offset_store.update_offset(pq.mq, pq.next_offset, increase_only=True)
        return AT_ONCE

    def _wanted(self, pq: ProcessQueue, subscription: Subscription, answer: PullAnswer) -> list[Message]:
        """Decode, and look at the text of every tag: the broker compared hashes only."""
        header = answer.header
        messages = [
            received(stored, pq.mq.broker, min_offset=header.min_offset, max_offset=header.max_offset)
            for stored in answer.records
        ]
        wanted = subscription.wanted(messages)
        if len(wanted) < len(messages) and self._consumer.journal.tracing:
            kept = {offset_of(message) for message in wanted}
            refused = [message for message in messages if offset_of(message) not in kept]
            self._consumer.journal.write(MessagesFiltered(
                group=self._consumer.group, client_id=self._consumer.client_id, topic=pq.mq.topic,
                broker=pq.mq.broker, queue_id=pq.mq.queue_id, offsets=tuple(map(offset_of, refused)),
                tags=tuple(message.tags for message in refused),
            ))  # fmt: skip
        return wanted

    async def _start_elsewhere(self, pq: ProcessQueue) -> None:
        """Our offset is outside the queue: give it up, and let a later rebalance begin where the broker said."""
        consumer = self._consumer
        pq.dropped = True
        await consumer.clock.sleep(ILLEGAL_OFFSET_DELAY_S)
        consumer.offset_store.update_offset(pq.mq, pq.next_offset, increase_only=False)
        await consumer.offset_store.persist(pq.mq, by="release")
        if consumer.process_queues.get(pq.mq) is pq:
            await consumer.rebalancer.release(pq.mq, pq)
            consumer.rebalancer.remove(pq.mq, pq, "illegal_offset")

    def _is_held_back(self, pq: ProcessQueue) -> bool:
        limit = self._crossed(pq)
        if limit is None:
            return False
        pq.held_back_ms = self._consumer.clock.now_ms()
        if pq.flow_control is None:
            self._look_again(pq)
        if pq.flow_control != limit.name:
            self._tell_flow_control(pq, limit.name, limit.value, limit.allowed)
        return True

    def _look_again(self, pq: ProcessQueue) -> None:
        self._consumer.clock.call_later(CALM_MS / 1000, lambda: self._calm(pq))

    def _calm(self, pq: ProcessQueue) -> None:
        """Flow control has ended when no pull was held back for a second: around a limit it comes and goes."""
        consumer = self._consumer
        if pq.dropped or consumer.process_queues.get(pq.mq) is not pq:
            return
        if consumer.clock.now_ms() - pq.held_back_ms < CALM_MS:
            self._look_again(pq)
        else:
            self._tell_flow_control(pq, None, pq.count, consumer.threshold_for_queue)

    def _tell_flow_control(self, pq: ProcessQueue, name: str | None, value: int, allowed: int) -> None:
        pq.flow_control = name
        self._consumer.journal.write(FlowControlChanged(
            group=self._consumer.group, client_id=self._consumer.client_id, topic=pq.mq.topic, broker=pq.mq.broker,
            queue_id=pq.mq.queue_id, limit=name, value=value, allowed=allowed,
        ))  # fmt: skip

    def _crossed(self, pq: ProcessQueue) -> _Limit | None:
        consumer = self._consumer
        if pq.count > consumer.threshold_for_queue:
            return _Limit("count", pq.count, consumer.threshold_for_queue)
        if pq.bytes // MIB > consumer.threshold_bytes_for_queue // MIB:
            return _Limit("size", pq.bytes, consumer.threshold_bytes_for_queue)
        if not consumer.config.orderly and pq.span > consumer.config.max_span:
            return _Limit("span", pq.span, consumer.config.max_span)
        return None
