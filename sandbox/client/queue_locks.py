"""Queue locks of an orderly consumer, as far as the member knows."""

import logging
from collections.abc import Iterable
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

from sandbox.client.process_queue import ProcessQueue
from sandbox.journal.events import LockLapsed
from sandbox.kernel.clock import TimerHandle
from sandbox.kernel.errors import SandboxError
from sandbox.message.queue import MessageQueue

if TYPE_CHECKING:
    from sandbox.client.instance import ClientInstance

log = logging.getLogger(__name__)

JUST_AFTER_S = 0.001  # a lock is trusted up to and including its last millisecond


class QueueLocks:
    """Queue locks that a member requests from brokers and renews.

    Three periods: the member renews every 20 s, trusts a lock for 30 s, and the broker keeps it for 60 s.  Only
    masters have locks; without a master in the route nothing can be locked (spec client-behaviour 5.4).
    """

    def __init__(self, group: str, instance: "ClientInstance", queues: dict[MessageQueue, ProcessQueue]) -> None:
        self._group = group
        self._instance = instance
        self._queues = queues
        self._lapse_timer: TimerHandle | None = None

    def trusts(self, pq: ProcessQueue) -> bool:
        """Return True if the queue is locked and the lock was renewed within the last 30 s."""
        return pq.locked and self._age_ms(pq) <= self._instance.config.lock_max_live_ms

    async def lock(self, mq: MessageQueue) -> bool:
        """Request the lock of one queue, or renew it; return True if this member holds it."""
        address = self._instance.routes.master(mq.broker)
        if address is None:
            return False
        try:
            locked = await self._instance.api.lock(address, self._group, self._instance.client_id, [mq])
        except SandboxError as error:
            log.info("no lock of %s: %s", mq.key, error)
            return False
        self._renewed(locked)
        return mq in locked

    async def lock_all(self) -> None:
        """Renew the locks of all owned queues.  A refused lock is lost; a failed request changes nothing."""
        for broker, address, queues in self._by_broker():
            try:
                locked = await self._instance.api.lock(address, self._group, self._instance.client_id, queues)
            except SandboxError as error:
                log.info("locks of %s not renewed: %s", broker, error)
                continue
            self._renewed(locked)
            for mq in queues:
                if mq not in locked and mq in self._queues:
                    self._queues[mq].locked = False

    async def unlock(self, mq: MessageQueue) -> None:
        """Release the lock of one queue without waiting for the answer."""
        address = self._instance.routes.master(mq.broker)
        if address is None:
            return
        try:
            await self._instance.api.unlock(address, self._group, self._instance.client_id, [mq], oneway=True)
        except SandboxError as error:
            log.info("lock of %s not released: %s", mq.key, error)

    async def unlock_all(self) -> None:
        """Release all locks and wait for the brokers' answers."""
        self.close()
        for broker, address, queues in self._by_broker():
            try:
                await self._instance.api.unlock(address, self._group, self._instance.client_id, queues, oneway=False)
            except SandboxError as error:
                log.info("locks of %s not released: %s", broker, error)
                continue
            for mq in queues:
                self._queues[mq].locked = False

    def close(self) -> None:
        if self._lapse_timer is not None:
            self._lapse_timer.cancel()
            self._lapse_timer = None

    def _by_broker(self) -> list[tuple[str, str, list[MessageQueue]]]:
        """Return the owned queues as (broker, master address, queues); brokers without a master are omitted."""
        groups: list[tuple[str, str, list[MessageQueue]]] = []
        for broker, queues in groupby(sorted(self._queues, key=_broker_first), key=_broker_of):
            address = self._instance.routes.master(broker)
            if address is not None:
                groups.append((broker, address, list(queues)))
        return groups

    def _renewed(self, queues: Iterable[MessageQueue]) -> None:
        now_ms = self._instance.clock.now_ms()
        for mq in sorted(queues):
            pq = self._queues.get(mq)
            if pq is not None:
                pq.locked, pq.last_lock_ms, pq.lapse_reported = True, now_ms, False
        self._watch()

    def _watch(self) -> None:
        """Set a timer for the time at which the oldest trusted lock expires."""
        self.close()
        trusted = [pq for pq in self._queues.values() if pq.locked and not pq.lapse_reported]
        if not trusted:
            return
        left_ms = self._instance.config.lock_max_live_ms - max(self._age_ms(pq) for pq in trusted)
        self._lapse_timer = self._instance.clock.call_later(max(0, left_ms) / 1000 + JUST_AFTER_S, self._report_lapsed)

    def _report_lapsed(self) -> None:
        self._lapse_timer = None
        for mq, pq in sorted(self._queues.items(), key=itemgetter(0)):
            if pq.locked and not pq.lapse_reported and not self.trusts(pq):
                pq.lapse_reported = True
                self._instance.journal.write(
                    LockLapsed(
                        group=self._group,
                        client_id=self._instance.client_id,
                        topic=mq.topic,
                        broker=mq.broker,
                        queue_id=mq.queue_id,
                        age_ms=self._age_ms(pq),
                    )
                )
        self._watch()

    def _age_ms(self, pq: ProcessQueue) -> int:
        return self._instance.clock.now_ms() - pq.last_lock_ms


def _broker_of(mq: MessageQueue) -> str:
    return mq.broker


def _broker_first(mq: MessageQueue) -> tuple[str, MessageQueue]:
    return mq.broker, mq
