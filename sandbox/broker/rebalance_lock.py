"""Queue locks of orderly consumption, with their owners and expiry times."""

from collections import deque
from collections.abc import Iterable
from typing import NamedTuple

from sandbox.journal.events import LockDenied, LocksLost, QueueLocked, QueueUnlocked
from sandbox.journal.journal import Journal
from sandbox.kernel.clock import Clock
from sandbox.message.queue import MessageQueue

MAX_LIVE_MS = 60_000  # rocketmq.broker.rebalance.lockMaxLiveTime
ATTEMPTS_KEPT = 256
MAX_LOCKS_PER_GROUP = 4_096  # any client may name queues that do not exist
MAX_LOCKS = 65_536  # of all groups
MAX_GROUPS = 16_384
SWEEP_MS = 1_000


class LockEntry(NamedTuple):
    """Lock of one queue.  `granted_ms`: when this client acquired it; `last_update_ms`: its last renewal."""

    client_id: str
    granted_ms: int
    last_update_ms: int


class Attempt(NamedTuple):
    """Result of a lock request for one queue, for reports of refused requests."""

    at_ms: int
    group: str
    client_id: str
    mq: MessageQueue
    granted: bool
    holder: str
    left_ms: int | None  # of a refused one: the remaining time of the owner's lock


class RebalanceLockManager:
    """Queue locks, in memory only: a restarted broker has none, and the first client to request one gets it.

    Expiry is checked at requests; no timer runs.  RocketMQ: `RebalanceLockManager` (spec broker-behaviour 6).
    """

    def __init__(self, clock: Clock, journal: Journal, *, max_live_ms: int = MAX_LIVE_MS) -> None:
        self._clock = clock
        self._journal = journal
        self.max_live_ms = max_live_ms
        self.table: dict[str, dict[MessageQueue, LockEntry]] = {}
        self.attempts: deque[Attempt] = deque(maxlen=ATTEMPTS_KEPT)
        self._swept_ms = -SWEEP_MS

    def try_lock_batch(self, group: str, client_id: str, queues: Iterable[MessageQueue]) -> list[MessageQueue]:
        """Lock queues for a client; return those of `queues` that it has locked now.  Its other locks stay."""
        now_ms = self._clock.now_ms()
        if group not in self.table and self._full(now_ms):
            return []
        locks = self.table.setdefault(group, {})
        granted = [mq for mq in sorted(set(queues)) if self._try_lock(locks, group, client_id, mq, now_ms)]
        if not locks:
            del self.table[group]
        return granted

    def unlock_batch(self, group: str, client_id: str, queues: Iterable[MessageQueue], *, why: str) -> None:
        """Release the locks this client has on `queues`; other clients' locks stay."""
        for mq in sorted(set(queues)):
            entry = self.table.get(group, {}).get(mq)
            if entry is not None and entry.client_id == client_id:
                self._remove(group, mq, entry, why)

    def force_unlock(self, group: str, mq: MessageQueue) -> LockEntry | None:
        """Release a lock, whichever client has it, and return it; None if the queue has none.  Not in RocketMQ."""
        entry = self.table.get(group, {}).get(mq)
        if entry is not None:
            self._remove(group, mq, entry, "forced")
        return entry

    def holder(self, group: str, mq: MessageQueue) -> LockEntry | None:
        """Return the lock of `mq`, or None if it has none or the lock has expired."""
        entry = self.table.get(group, {}).get(mq)
        if entry is None or self._clock.now_ms() - entry.last_update_ms > self.max_live_ms:
            return None
        return entry

    def lose_all(self, broker: str) -> None:
        """Remove all locks, because the broker stops and its memory is lost."""
        count = sum(len(locks) for locks in self.table.values())
        self.table.clear()
        if count:
            self._journal.write(LocksLost(broker=broker, count=count))

    def _full(self, now_ms: int) -> bool:
        """Return True if the table has no room for another group.  Expired locks are removed, at most once a second."""
        if len(self.table) < MAX_GROUPS and sum(map(len, self.table.values())) < MAX_LOCKS:
            return False
        if now_ms - self._swept_ms < SWEEP_MS:
            return True
        self._swept_ms = now_ms
        for name, locks in list(self.table.items()):
            if all(now_ms - entry.last_update_ms > self.max_live_ms for entry in locks.values()):
                del self.table[name]
        return len(self.table) >= MAX_GROUPS or sum(map(len, self.table.values())) >= MAX_LOCKS

    def _try_lock(
        self, locks: dict[MessageQueue, LockEntry], group: str, client_id: str, mq: MessageQueue, now_ms: int
    ) -> bool:
        old = locks.get(mq)
        expired = old is not None and now_ms - old.last_update_ms > self.max_live_ms
        if old is not None and not expired and old.client_id != client_id:
            left_ms = old.last_update_ms + self.max_live_ms - now_ms
            self.attempts.append(
                Attempt(now_ms, group, client_id, mq, granted=False, holder=old.client_id, left_ms=left_ms)
            )
            self._journal.write(
                LockDenied(
                    group=group,
                    client_id=client_id,
                    topic=mq.topic,
                    broker=mq.broker,
                    queue_id=mq.queue_id,
                    holder=old.client_id,
                    left_ms=left_ms,
                )
            )
            return False
        if old is None and len(locks) >= MAX_LOCKS_PER_GROUP:
            return False
        how = "free" if old is None else "taken_over" if expired else "renewed"
        granted_ms = old.granted_ms if old is not None and not expired else now_ms
        locks[mq] = LockEntry(client_id, granted_ms, now_ms)
        self.attempts.append(Attempt(now_ms, group, client_id, mq, granted=True, holder=client_id, left_ms=None))
        self._journal.write(
            QueueLocked(
                group=group,
                client_id=client_id,
                topic=mq.topic,
                broker=mq.broker,
                queue_id=mq.queue_id,
                how=how,
                previous=old.client_id if old else None,
                expires_at_ms=now_ms + self.max_live_ms,
            )
        )
        return True

    def _remove(self, group: str, mq: MessageQueue, entry: LockEntry, reason: str) -> None:
        locks = self.table[group]
        del locks[mq]
        if not locks:
            del self.table[group]
        self._journal.write(
            QueueUnlocked(
                group=group,
                client_id=entry.client_id,
                topic=mq.topic,
                broker=mq.broker,
                queue_id=mq.queue_id,
                why=reason,
            )
        )
