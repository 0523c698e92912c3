"""Fetch tasks of a lite pull consumer: one per queue, with a limited number of pulls at once."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable

from sandbox.client.assigned_queues import AssignedQueue, AssignedQueues, Fetched, FetchedBatches
from sandbox.client.client_api import SYS_SUBSCRIPTION, SYS_SUSPEND, PullAnswer
from sandbox.client.flow_control import FlowControl, Limit
from sandbox.client.instance import ClientInstance
from sandbox.client.lite_pull_config import LitePullConsumerConfig
from sandbox.client.pull_api import PullApi, sent_as
from sandbox.client.pull_consumer import BLOCKING_TIMEOUT_MS, BROKER_SUSPEND_MS
from sandbox.client.pull_service import AT_ONCE, BROKER_BUSY, DISCARD, FLOW_CONTROL, SAME_AGAIN, SUSPENDED, Pause
from sandbox.client.subscription import Subscription
from sandbox.client.tasks import Tasks
from sandbox.kernel.errors import BrokerRefused, ClientError, SandboxError
from sandbox.message.queue import MessageQueue
from sandbox.remoting.codes import ResponseCode

log = logging.getLogger(__name__)

SYS_LITE = 16
SYS_FLAG = SYS_SUSPEND | SYS_SUBSCRIPTION | SYS_LITE  # 22
NO_OFFSET = Pause("no_offset", 3.0)


class LitePullTasks:
    """Fetch tasks by queue.  RocketMQ: `DefaultLitePullConsumerImpl.PullTaskImpl` and its executor.

    See spec client-behaviour 12.  A pull occupies its thread while the broker holds the pull; with more queues than
    threads, some wait for one.  `subscription_of` raises ClientError for a topic that is no longer subscribed.
    `first_offset` returns None while the offset is unknown.
    """

    def __init__(
        self,
        config: LitePullConsumerConfig,
        instance: ClientInstance,
        tasks: Tasks,
        assigned: AssignedQueues,
        fetched: FetchedBatches,
        flow_control: FlowControl,
        *,
        subscription_of: Callable[[str], Subscription],
        first_offset: Callable[[MessageQueue], Awaitable[int | None]],
    ) -> None:
        self._config = config
        self._instance = instance
        self._tasks = tasks
        self._assigned = assigned
        self._fetched = fetched
        self._flow_control = flow_control
        self._subscription_of = subscription_of
        self._first_offset = first_offset
        self._threads = asyncio.Semaphore(config.pull_threads)
        self._running: dict[MessageQueue, asyncio.Task[None]] = {}
        self._api = PullApi(config.group, instance)

    def update(self, queues: Iterable[MessageQueue], *, topic: str | None = None) -> None:
        """Run tasks for exactly these queues, of one topic or of all: stop the others, start missing ones."""
        assigned = sorted(queues)
        for mq in [mq for mq in self._running if topic in (None, mq.topic) and mq not in assigned]:
            self.stop(mq)
        for mq in assigned:
            if mq not in self._running:
                self._start(mq)

    def restart(self, mq: MessageQueue) -> None:
        """Cancel the queue's current pull and start its task again."""
        self.stop(mq)
        self._start(mq)

    def stop(self, mq: MessageQueue) -> None:
        task = self._running.pop(mq, None)
        if task is not None:
            task.cancel()

    def _start(self, mq: MessageQueue) -> None:
        task = self._tasks.spawn(self._pull_queue(mq), f"pull {mq.key}")
        if task is not None:
            self._running[mq] = task

    async def _pull_queue(self, mq: MessageQueue) -> None:
        clock = self._instance.clock
        while True:
            state = self._assigned.get(mq)
            if state is None or state.pq.dropped:
                return
            async with self._threads:
                pause = await self._once(state)
            if pause is DISCARD:
                return
            state.pq.pause = pause.why
            if pause.seconds > 0:
                state.pq.pull_again_ms = clock.now_ms() + round(pause.seconds * 1000)
                await clock.sleep(pause.seconds)
            else:
                await clock.going_on()

    async def _once(self, state: AssignedQueue) -> Pause | None:
        """Check the queue and pull once; return the pause before the next pull, None for no pause."""
        pq = state.pq
        if state.paused:
            return SUSPENDED
        if pq.dropped:
            return DISCARD
        pq.last_pull_ms = self._instance.clock.now_ms()
        if self._flow_control.holds_back(pq, self._crossed(state)):
            return FLOW_CONTROL
        offset = await self._next_offset(state)
        if offset is None:
            return NO_OFFSET
        if pq.dropped:
            return DISCARD
        try:
            subscription = self._subscription_of(state.mq.topic)
            answer = await self._api.pull(
                state.mq,
                sent_as(subscription),
                offset=offset,
                count=self._config.pull_batch,
                sys_flag=SYS_FLAG,
                suspend_ms=BROKER_SUSPEND_MS,
                timeout_ms=BLOCKING_TIMEOUT_MS,
            )
        except SandboxError as error:
            log.debug("pull of %s failed: %s", state.mq.key, error)
            if isinstance(error, BrokerRefused) and error.code == ResponseCode.FLOW_CONTROL:
                return BROKER_BUSY
            return Pause(
                "not_subscribed" if isinstance(error, ClientError) else "pull_failed",
                self._instance.config.pull_delay_on_exception_ms / 1000,
            )
        if pq.dropped:
            return DISCARD
        await self._take_over(state, subscription, answer)
        stuck = answer.code == ResponseCode.PULL_RETRY_IMMEDIATELY and answer.header.next_offset == offset
        return SAME_AGAIN if stuck else AT_ONCE

    def _crossed(self, state: AssignedQueue) -> Limit | None:
        config = self._config
        fetched = len(self._fetched) * config.pull_batch
        if fetched > config.threshold_for_all:
            return Limit("count", fetched, config.threshold_for_all)
        return self._flow_control.crossed(state.pq, max_span=config.max_span)

    async def _next_offset(self, state: AssignedQueue) -> int | None:
        """Return the sought offset, else that after the last pull, else the group's start offset; None if unknown."""
        if state.seek_offset is not None:
            offset, state.seek_offset = state.seek_offset, None
            state.consume_offset = offset
            return offset
        if state.pull_offset is not None:
            return state.pull_offset
        return await self._first_offset(state.mq)

    async def _take_over(self, state: AssignedQueue, subscription: Subscription, answer: PullAnswer) -> None:
        """Cache the messages of an answer and advance the pull offset, also if the offset was outside the queue.

        An answer that arrives after a seek is ignored.
        """
        if state.seek_offset is not None:
            return
        if answer.code == ResponseCode.SUCCESS:
            messages = await self._api.wanted(state.mq, subscription, answer)
            if state.pq.dropped or state.seek_offset is not None:
                return
            if messages:
                state.pq.put(messages)
                self._fetched.put(Fetched(messages, state.pq))
        elif answer.code == ResponseCode.PULL_OFFSET_MOVED:
            log.warning("offset %s of %s is outside the queue", state.pull_offset, state.mq.key)
        state.pull_offset = state.pq.next_offset = answer.header.next_offset
