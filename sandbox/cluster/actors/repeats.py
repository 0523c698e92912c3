"""Messages redelivered because a process crashed, reported in the journal when no more can arrive.

The next owner of a queue starts at the committed offset.  So messages that the crashed process received from there
on are delivered again, and lower ones are not.
"""

from collections.abc import Callable
from contextlib import nullcontext

from sandbox.client.offset_runs import OffsetRuns, Run
from sandbox.journal.events import CrashRepeated, Entry, OffsetsReset, QueueTaken
from sandbox.journal.journal import Journal
from sandbox.kernel.clock import Clock
from sandbox.message.queue import MessageQueue

CRASHES_KEPT = 32  # crashes followed at a time; beyond, the oldest is reported with what is known


class _Crash:
    """Crashed process.  `given`: by queue, the offsets it received; `awaited`: how many are redelivered, once known."""

    __slots__ = ("account", "awaited", "came", "cause", "client_id", "given", "group")

    def __init__(self, group: str, account: str, client_id: str, cause: int | None) -> None:
        self.group, self.account, self.client_id, self.cause = group, account, client_id, cause
        self.given: dict[MessageQueue, OffsetRuns] = {}
        self.came: dict[MessageQueue, OffsetRuns] = {}
        self.awaited: dict[MessageQueue, int] = {}


class Repeats:
    """Redeliveries after crashes, by process.

    `account_of` returns the label of a client id, under which the deliveries of a broadcasting member are counted.
    """

    def __init__(self, clock: Clock, journal: Journal, account_of: Callable[[str], str | None]) -> None:
        self._clock = clock
        self._journal = journal
        self._account_of = account_of
        self._crashes: list[_Crash] = []

    def crashed(self, group: str, account: str, client_id: str, delivered: dict[MessageQueue, tuple[Run, ...]]) -> None:
        """Record the crash of a process; `delivered`: the offsets that its listener received of each of its queues."""
        crash = _Crash(group, account, client_id, self._journal.cause)
        crash.given = {mq: OffsetRuns(runs) for mq, runs in delivered.items() if runs}
        if crash.given:
            self._crashes.append(crash)
        if len(self._crashes) > CRASHES_KEPT:
            self._report(self._crashes[0])

    def came(self, group: str, client_id: str, mq: MessageQueue, offset: int) -> None:
        """Record the redelivery of a message that this process received before its crash."""
        crash = next((crash for crash in self._crashes if (crash.group, crash.client_id) == (group, client_id)), None)
        if crash is not None and mq in crash.given:
            crash.came.setdefault(mq, OffsetRuns()).add(offset)
            self._look(crash)

    def note(self, entry: Entry) -> None:
        """Update the expected redeliveries from the next owner's start offset, or from a reset of the group."""
        event = entry.event
        if isinstance(event, QueueTaken):
            mq = MessageQueue(event.topic, event.broker, event.queue_id)
            for crash in self._crashes:
                account = "" if not crash.account else self._account_of(event.client_id)
                if mq in crash.given and (crash.group, crash.account) == (event.group, account):
                    start, came = event.start_offset, crash.came.get(mq, OffsetRuns())
                    below = came.count_from(0) - came.count_from(start)
                    crash.awaited[mq] = below + crash.given[mq].count_from(start)
        elif isinstance(event, OffsetsReset):
            for crash in self._crashes:
                for key, *_ in event.rows if crash.group == event.group else ():
                    crash.awaited[MessageQueue.from_key(key)] = 0  # from now on the reset is the cause
        else:
            return
        self._clock.call_later(0, self._look_at_all)  # not now: the journal is writing

    def _look_at_all(self) -> None:
        for crash in list(self._crashes):
            self._look(crash)

    def _look(self, crash: _Crash) -> None:
        if all(mq in crash.awaited and _count(crash, mq) >= crash.awaited[mq] for mq in crash.given):
            self._report(crash)

    def _report(self, crash: _Crash) -> None:
        self._crashes.remove(crash)
        count = sum(_count(crash, mq) for mq in crash.came)
        if count:
            messages = tuple((mq.key, crash.came[mq].runs()) for mq in sorted(crash.came))
            with self._journal.caused_by(crash.cause) if crash.cause is not None else nullcontext():
                self._journal.write(CrashRepeated(crash.group, crash.client_id, count, messages))


def _count(crash: _Crash, mq: MessageQueue) -> int:
    return crash.came[mq].count_from(0) if mq in crash.came else 0
