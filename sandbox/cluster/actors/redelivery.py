"""Causes of repeated deliveries, from the owners of a queue and the way each ownership ended.

The delivery audit finds the same causes from the journal alone (`sandbox.pipeline.jobs.delivery_audit`).
"""

from collections import deque
from collections.abc import Iterable
from typing import NamedTuple

from sandbox.client.offset_runs import OffsetRuns
from sandbox.message.queue import MessageQueue

CRASH, HAND_OVER, RETRY, RESET, UNKNOWN = "crash_before_commit", "rebalance_hand_over", "retry", "reset", "unknown"
SHARED_ID = "shared_client_id"
PERIODS_KEPT = 32  # of each queue; a repetition of an older delivery has cause `unknown`


class Ownership(NamedTuple):
    """Ownership of a queue by one process since `since_ms`.

    None means that the process still consumes messages of a queue that it lost.  `process` is its client id.
    `label` distinguishes two processes with one client id.
    """

    process: str
    since_ms: int | None
    label: str = ""


class _Period:
    """Offsets delivered during one ownership, or during the part of it after a reset."""

    __slots__ = ("crashed", "ownership", "reset_to", "seen")

    def __init__(self, ownership: Ownership) -> None:
        self.ownership = ownership
        self.seen = OffsetRuns()
        self.crashed = False
        self.reset_to: int | None = None  # the lowest offset the group was moved to since


class OwnershipHistory:
    """All owners of one queue for one account (the group or a broadcasting member), oldest first."""

    def __init__(self) -> None:
        self._periods: deque[_Period] = deque(maxlen=PERIODS_KEPT)

    @classmethod
    def before_sleep(cls, offsets: OffsetRuns, *, crashed: bool) -> "OwnershipHistory":
        """Return the history known after sleep: the delivered offsets, and whether all owners crashed together."""
        made = cls()
        made._periods.append(_Period(Ownership("", 0)))
        made._periods[0].seen, made._periods[0].crashed = offsets, crashed
        return made

    def why_again(self, offset: int, ownership: Ownership) -> tuple[str, str]:
        """Return the cause of a repetition, and the process that received the message last.

        Within one ownership nothing is pulled twice: a repetition there was not consumed with success (`retry`).
        Otherwise the last delivery decides: a later reset to or below `offset`, another process with the same client
        id, a crash, or a new owner.
        """
        before = [period for period in self._periods if offset in period.seen]
        if any(period.ownership == ownership for period in before):
            return RETRY, ownership.process
        if not before:
            return UNKNOWN, ""
        last = max(reversed(before), key=lambda period: period.ownership.since_ms or 0)
        if last.reset_to is not None and last.reset_to <= offset:
            return RESET, last.ownership.process
        if last.ownership.process == ownership.process and last.ownership.label != ownership.label:
            return SHARED_ID, ownership.process
        return CRASH if last.crashed else HAND_OVER, last.ownership.process

    def given(self, offset: int, ownership: Ownership) -> None:
        self._period_of(ownership).seen.add(offset)

    def reset(self, offset: int) -> None:
        for period in self._periods:
            period.reset_to = offset if period.reset_to is None else min(offset, period.reset_to)

    def crashed(self, ownership: Ownership) -> None:
        for period in self._periods:
            period.crashed = period.crashed or period.ownership == ownership

    def _period_of(self, ownership: Ownership) -> _Period:
        for period in reversed(self._periods):
            mine = period.ownership
            if mine[::2] == ownership[::2] and ownership.since_ms in (None, mine.since_ms):
                if period.reset_to is None:
                    return period
                ownership = mine
                break
        self._periods.append(_Period(ownership))
        return self._periods[-1]


OwnedQueues = Iterable[tuple[MessageQueue, Ownership]]
