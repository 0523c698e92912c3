"""Pull service of push consumers: fetches messages ahead of consumption, queue by queue."""

import logging
from typing import NamedTuple

from sandbox.client.client_api import SYS_COMMIT, SYS_SUBSCRIPTION, SYS_SUSPEND, PullAnswer
from sandbox.client.config import MessageModel, PushConsumerConfig
from sandbox.client.consumption import ConsumeService
from sandbox.client.flow_control import WAIT_FLOW_CONTROL_S, FlowControl
from sandbox.client.instance import ClientInstance
from sandbox.client.lifecycle import LifeCycle
from sandbox.client.owned_queues import OwnedQueues
from sandbox.client.process_queue import ProcessQueue
from sandbox.client.pull_api import PullApi
from sandbox.client.results import ReadOffsetType
from sandbox.client.subscription import Subscription
from sandbox.client.tasks import Tasks
from sandbox.kernel.errors import BrokerRefused, SandboxError
from sandbox.remoting.codes import ResponseCode

log = logging.getLogger(__name__)

SUSPEND_TIMEOUT_MS = 15_000  # the broker may hold a pull that found nothing
PULL_TIMEOUT_MS = 30_000
ILLEGAL_OFFSET_DELAY_S = 10.0


class Pause(NamedTuple):
    """The delay before the next pull of a queue, and its reason."""

    why: str
    seconds: float


NOT_RUNNING = Pause("not_running", 1.0)
SUSPENDED = Pause("paused", 1.0)
FLOW_CONTROL = Pause("flow_control", WAIT_FLOW_CONTROL_S)
NOT_LOCKED = Pause("not_locked", 1.0)
NO_OFFSET = Pause("no_offset", 1.0)  # locked, but no start offset is known
BROKER_BUSY = Pause("broker_busy", 0.02)
AT_ONCE = Pause("", 0.0)
SAME_AGAIN = Pause("", 0.05)  # RocketMQ pulls again at once; in one process, without network time, this needs a pause
DISCARD = None  # this queue is no longer ours: the loop ends


class PullService:
    """Pull tasks, one per owned queue: check, pull, pass on, repeat.  RocketMQ: `PullMessageService`, `pullMessage`.

    Each queue has exactly one pull under way.  The next pull begins at the offset of the last answer, never at the
    committed offset.  So one stuck message lets pulling run ahead until a threshold stops it.
    """

    def __init__(
        self,
        config: PushConsumerConfig,
        instance: ClientInstance,
        life: LifeCycle,
        tasks: Tasks,
        subscriptions: dict[str, Subscription],
        queues: OwnedQueues,
        flow_control: FlowControl,
        service: ConsumeService,
    ) -> None:
        self._config = config
        self._instance = instance
        self._clock = instance.clock
        self._life = life
        self._tasks = tasks
        self._subscriptions = subscriptions
        self._queues = queues
        self._flow_control = flow_control
        self._service = service
        self._api = PullApi(config.group, instance)

    def start(self, pq: ProcessQueue) -> None:
        self._tasks.spawn(self._pull_queue(pq), f"pull {pq.mq.key}")

    async def _pull_queue(self, pq: ProcessQueue) -> None:
        while True:
            pause = await self._once(pq)
            if pause is DISCARD:
                return
            pq.pause = pause.why
            if pause.seconds > 0:
                pq.pull_again_ms = self._clock.now_ms() + round(pause.seconds * 1000)
                await self._clock.sleep(pause.seconds)

    async def _once(self, pq: ProcessQueue) -> Pause | None:
        """Check the queue and pull once; return the pause before the next pull, None for no pause.

        The order of the checks: spec client-behaviour 6.
        """
        config = self._config
        if pq.dropped:
            return DISCARD
        pq.last_pull_ms = self._clock.now_ms()
        if self._life.state != "running":
            return NOT_RUNNING
        if self._life.paused:
            return SUSPENDED
        max_span = None if config.orderly else config.max_span
        if self._flow_control.holds_back(pq, self._flow_control.crossed(pq, max_span=max_span)):
            return FLOW_CONTROL
        if config.orderly:
            if not pq.locked:
                return NOT_LOCKED
            if pq.first_lock_pending and not await self._begin_again(pq):
                return NO_OFFSET
        subscription = self._subscriptions.get(pq.mq.topic)
        if subscription is None:
            return self._after_exception("not_subscribed")
        try:
            answer = await self._pull(pq, subscription)
        except SandboxError as error:
            log.debug("pull of %s failed: %s", pq.mq.key, error)
            if isinstance(error, BrokerRefused) and error.code == ResponseCode.FLOW_CONTROL:
                return BROKER_BUSY
            return self._after_exception("pull_failed")
        if pq.dropped:
            return DISCARD
        return await self._take_over(pq, subscription, answer)

    def _after_exception(self, reason: str) -> Pause:
        return Pause(reason, self._instance.config.pull_delay_on_exception_ms / 1000)

    async def _begin_again(self, pq: ProcessQueue) -> bool:
        """Read the start offset again after the queue's first lock; return False if it is unknown.

        The last owner may have committed since this member acquired the queue.
        """
        start = await self._queues.start_offset(pq.mq)
        if start.offset is None:
            return False
        pq.next_offset = start.offset
        pq.first_lock_pending = False
        return True

    async def _pull(self, pq: ProcessQueue, subscription: Subscription) -> PullAnswer:
        """Send one pull.  It carries the consumed offset (to the master only) and the expression (if configured)."""
        mq = pq.mq
        sys_flag = SYS_SUSPEND
        commit_offset = 0
        if self._config.model is MessageModel.CLUSTERING and await self._api.is_at_master(mq):
            done = await self._queues.offset_store.read_offset(mq, ReadOffsetType.READ_FROM_MEMORY)
            commit_offset = max(0, done or 0)
            if commit_offset > 0:
                sys_flag |= SYS_COMMIT
                self._queues.offset_store.note_safe(mq, commit_offset)
        if self._config.post_subscription_when_pull:
            sys_flag |= SYS_SUBSCRIPTION
        return await self._api.pull(
            mq,
            subscription,
            offset=pq.next_offset,
            count=self._config.pull_batch,
            sys_flag=sys_flag,
            suspend_ms=SUSPEND_TIMEOUT_MS,
            timeout_ms=PULL_TIMEOUT_MS,
            commit_offset=commit_offset,
            waits=False,
        )

    async def _take_over(self, pq: ProcessQueue, subscription: Subscription, answer: PullAnswer) -> Pause | None:
        asked, pq.next_offset = pq.next_offset, answer.header.next_offset
        if answer.code == ResponseCode.SUCCESS:
            messages = await self._api.wanted(pq.mq, subscription, answer)
            if pq.dropped:
                return DISCARD
            if not messages:
                return AT_ONCE
            wake = pq.put(messages)
            self._service.submit(messages, pq, wake=wake)
            return Pause("", self._config.pull_interval_ms / 1000)
        if answer.code == ResponseCode.PULL_OFFSET_MOVED:
            await self._start_elsewhere(pq)
            return DISCARD
        if not pq.has_unfinished:  # no new message and none cached: all offsets up to here are consumed
            self._queues.offset_store.update_offset(pq.mq, pq.next_offset, increase_only=True)
        if answer.code == ResponseCode.PULL_RETRY_IMMEDIATELY and pq.next_offset == asked:
            return SAME_AGAIN  # a slave that is behind its master answers the same offset
        return AT_ONCE

    async def _start_elsewhere(self, pq: ProcessQueue) -> None:
        """Drop a queue whose pull offset is outside the queue, and commit the offset that the broker suggested.

        A later rebalance acquires the queue again and starts there.
        """
        pq.dropped = True
        await self._clock.sleep(ILLEGAL_OFFSET_DELAY_S)
        self._queues.offset_store.update_offset(pq.mq, pq.next_offset, increase_only=False)
        try:
            await self._queues.offset_store.persist(pq.mq, by="release")
        except SandboxError as error:
            log.info("the corrected offset of %s not committed: %s", pq.mq.key, error)
        if self._queues.table.get(pq.mq) is pq:
            await self._queues.release(pq.mq, pq)
            self._queues.remove(pq.mq, pq, "illegal_offset")
