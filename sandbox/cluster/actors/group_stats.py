"""Statistics of a group's in-process listeners: rates, delays, repeated deliveries.

The engine counts them independently of the journal, so they stay exact when flow events are skipped.
"""

from collections import Counter, deque
from collections.abc import Callable
from typing import Any

from sandbox.client.offset_runs import OffsetRuns, Run
from sandbox.client.process_queue import offset_of
from sandbox.cluster.actors.redelivery import CRASH, RETRY, UNKNOWN, OwnedQueues, Ownership, OwnershipHistory
from sandbox.kernel.clock import Clock
from sandbox.message.message import Message
from sandbox.message.queue import MessageQueue
from sandbox.store.totals import Rate

DELAYS_KEPT = 200  # end-to-end times that the percentiles are computed from
RUNS_SAVED = 16  # of each queue: enough to recognise what was delivered last
NO_OWNER = Ownership("", None)


class GroupStats:
    """Statistics of one group.  `again_by_cause`: number of repeated deliveries by cause.

    `after_crash` is called for each repetition that a crash caused, with process, queue and offset.
    """

    def __init__(
        self, clock: Clock, after_crash: Callable[[str, MessageQueue, int], None] = lambda process, mq, offset: None
    ) -> None:
        self._after_crash = after_crash
        self._clock = clock
        self.again_by_cause: Counter[str] = Counter()
        self._seen: dict[tuple[str, MessageQueue], OffsetRuns] = {}
        self._histories: dict[tuple[str, MessageQueue], OwnershipHistory] = {}
        self._done = Rate(clock.monotonic())
        self._delays_ms: deque[int] = deque(maxlen=DELAYS_KEPT)
        self._percentiles: tuple[int, int | None, int | None] = (-1, None, None)
        self._noted = 0

    @property
    def delivered_again(self) -> int:
        return self.again_by_cause.total()

    def delivered(self, mq: MessageQueue, message: Message, member: str = "", ownership: Ownership = NO_OWNER) -> None:
        """Count a message of this queue that a listener is about to receive.

        A message from a retry topic was delivered before, whatever its offset there.  Deliveries to broadcasting
        members are counted separately: `member` is then a label.
        """
        offset = offset_of(message)
        key = member, mq
        if key not in self._seen:
            self._seen[key] = OffsetRuns()
        if key not in self._histories:
            self._histories[key] = OwnershipHistory()
        history = self._histories[key]
        if not self._seen[key].add(offset):
            reason, process = history.why_again(offset, ownership)
            self.again_by_cause[reason] += 1
            if reason == CRASH:
                self._after_crash(process, mq, offset)
        elif message.reconsume_times > 0:
            self.again_by_cause[RETRY] += 1
        history.given(offset, ownership)

    def crashed(self, held: OwnedQueues) -> None:
        """Record that the process with these queues is about to be killed."""
        for mq, ownership in held:
            for (_, known), history in self._histories.items():
                if known == mq:
                    history.crashed(ownership)

    def reset(self, mq: MessageQueue, offset: int) -> None:
        """Record that the group was reset to this offset of a queue."""
        for (_, known), history in self._histories.items():
            if known == mq:
                history.reset(offset)

    def given(self, mq: MessageQueue, member: str = "") -> tuple[Run, ...]:
        """Return the offsets of a queue that listeners received, as runs."""
        previous = self._seen.get((member, mq))
        return () if previous is None else previous.runs()

    def done(self, message: Message) -> None:
        """Count a message that a listener consumed with success, and its delay."""
        now_ms = self._clock.now_ms()
        self._done.add(int(self._clock.monotonic()), 1, 0)
        if message.store_ms is not None:
            self._delays_ms.append(max(0, now_ms - message.store_ms))
            self._noted += 1

    def per_s(self) -> float | None:
        return self._done.per_s(int(self._clock.monotonic()))

    def delays_ms(self) -> tuple[int | None, int | None]:
        """Return median and 99th percentile of the time from store to success, in ms.

        They are of the last 200 messages; None before the first.
        """
        if self._percentiles[0] != self._noted and self._delays_ms:
            ordered = sorted(self._delays_ms)
            last = len(ordered) - 1
            self._percentiles = (self._noted, ordered[last // 2], ordered[last * 99 // 100])
        return self._percentiles[1], self._percentiles[2]

    # Over sleep.

    def record(self) -> dict[str, object]:
        """Return the counts and the newest delivered offsets as JSON, to recognise repetitions after sleep."""
        return {
            "again": dict(sorted(self.again_by_cause.items())),
            "seen": [
                [member, mq.key, [list(run) for run in offsets.runs()[-RUNS_SAVED:]]]
                for (member, mq), offsets in sorted(self._seen.items())
            ],
        }

    def restore(self, record: dict[str, Any], *, crashed: bool = False) -> None:
        """Restore the counts of `record`.  `crashed`: all members were killed with the server."""
        self.again_by_cause = Counter(record["again"] if "again" in record else {UNKNOWN: record["delivered_again"]})
        self._seen = {
            (member, MessageQueue.from_key(key)): OffsetRuns((first, last) for first, last in runs)
            for member, key, runs in record["seen"]
        }
        self._histories = {
            key: OwnershipHistory.before_sleep(OffsetRuns(offsets.runs()), crashed=crashed)
            for key, offsets in self._seen.items()
        }
