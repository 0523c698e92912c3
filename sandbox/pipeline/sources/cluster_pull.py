"""Messages `[begin, end)` of one queue, each once and in order, read by consecutive pulls."""

import asyncio
from typing import NamedTuple

from sandbox.client.admin.messages import MAX_PULLED, PulledBytes
from sandbox.kernel.errors import CorruptRecord, StoreError
from sandbox.pipeline.sources.cluster_link import LONGEST_PAUSE_S, PAUSE_S, Link
from sandbox.pipeline.sources.cluster_offsets import Ends, Range, ended, lost, named
from sandbox.pipeline.sources.cluster_rows import Pulled, records_in
from sandbox.pipeline.sources.conditions import NotForUs, NoTopic
from sandbox.pipeline.sources.store_offsets import WAY_ON
from sandbox.remoting.codes import ResponseCode

BATCH_ROWS = 8_192
BATCH_BYTES = 16 << 20
EMPTY_ANSWERS = 100  # in a row, from within a queue
FILTERED = "NO_MATCHED_MESSAGE"  # the status of a pull that passes over filtered units only


class Step(NamedTuple):
    """The result of one pull: its records, the offset of the next pull, and the first lost offset, or None."""

    pulled: Pulled
    at: int
    lost_at: int | None


NOTHING = Pulled(b"", [])


def step(answer: PulledBytes, at: int, end: int) -> Step | None:
    """Return the result of a pull at `at` of `[at, end)`, or None if the answer has nothing.

    Offsets that an answer passes over were deleted, unless the broker says that it filtered them (spec
    broker-behaviour 3.2).  Raises CorruptRecord if offsets are not ascending.
    """
    records = records_in(answer.body)
    kept = [record for record in records if at <= record.queue_offset < end]
    onward = min(end, max(answer.next_offset, kept[-1].queue_offset + 1 if kept else 0))
    if onward <= at:
        return None
    expected, lost_at = at, None
    for record in kept:
        if record.queue_offset > expected and lost_at is None:
            lost_at = expected
        if record.queue_offset < expected:
            raise CorruptRecord(f"a broker's response has offset {record.queue_offset} after {expected - 1}")
        expected = record.queue_offset + 1
    filtered = answer.code == ResponseCode.PULL_RETRY_IMMEDIATELY and answer.remark == FILTERED
    if expected < onward and lost_at is None and not filtered:
        lost_at = expected
    return Step(Pulled(answer.body, kept), onward, lost_at)


class Pulls:
    """The messages of a range; call `more` until it returns none."""

    def __init__(self, link: Link, asked: Range, *, fail_on_data_loss: bool) -> None:
        self._link = link
        self._queue = asked.queue
        self._at, self._end = asked.begin, asked.end
        self._strict = fail_on_data_loss
        self._checked = False
        self._empty = 0  # answers in a row
        self._ahead: asyncio.Task[PulledBytes] | None = None

    async def more(self) -> list[Pulled]:
        """Return the next messages, about 8,192 or 16 MiB; an empty list at the end.

        Raises StoreError if messages are gone (without failOnDataLoss they are left out), ConnectFailed if the
        broker stays away, NotForUs if it refuses.
        """
        batches: list[Pulled] = []
        rows = size = 0
        try:
            if not self._checked:
                await self._check()
            while self._at < self._end and rows < BATCH_ROWS and size < BATCH_BYTES:
                pulled = await self._next()
                rows, size = rows + len(pulled.records), size + len(pulled.body)
                batches.append(pulled)
        except NoTopic as error:
            if self._strict:
                raise StoreError(f"{error} So {named(self._queue)} cannot be read to its end.{WAY_ON}") from error
            self._at = self._end
        return [pulled for pulled in batches if pulled.records]

    async def close(self) -> None:
        """Cancel the pull in progress."""
        if self._ahead is not None:
            self._ahead.cancel()
            await asyncio.gather(self._ahead, return_exceptions=True)

    async def _check(self) -> None:
        """Skip offsets before the first message of the queue.

        A pull outside the queue would write to OFFSET_MOVED_EVENT, so this asks for the ends before the first pull.
        """
        if (ends := await self._grown()) is not None and ends.low > self._at:
            self._skip(self._at, min(ends.low, self._end))
            self._at = min(ends.low, self._end)
        self._checked = True

    async def _next(self) -> Pulled:
        """Return one answer.  After an empty one wait until the queue is longer and pull again."""
        answer = await self._answer()
        try:
            pull = step(answer, self._at, self._end)
        except CorruptRecord as error:
            raise NotForUs(
                f"{self._queue.broker} sent unreadable messages of {named(self._queue)}: {error}."
            ) from error
        if pull is None:
            self._empty += 1
            if self._empty > EMPTY_ANSWERS:
                raise NotForUs(
                    f"{self._queue.broker} sent no message of {named(self._queue)} at {self._at}, which ends "
                    f"at {answer.max_offset}."
                )
            await self._link.clock.sleep(PAUSE_S)
            await self._grown()
            return NOTHING
        self._empty = 0
        if pull.lost_at is not None:
            self._skip(pull.lost_at, pull.at)
        self._at = pull.at
        await self._ask_ahead()
        return pull.pulled

    async def _grown(self) -> Ends | None:
        """Return the queue's ends once it is longer than the part that was read, or None if it stays short.

        A slave may be behind, and so may a restarted broker; a queue that was created again stays short.  Then, with
        failOnDataLoss, raises StoreError.
        """
        began_s, pause_s = self._link.clock.monotonic(), PAUSE_S
        while True:
            ends = (await self._link.ends([self._queue]))[self._queue]
            if not isinstance(ends, Ends):
                raise ends
            if ends.high > self._at:
                return ends
            if self._link.clock.monotonic() - began_s + pause_s > self._link.patience_s:
                if self._strict:
                    raise ended(self._queue, self._at, ends.high)
                self._at = self._end
                return None
            await self._link.clock.sleep(pause_s)
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)

    async def _answer(self) -> PulledBytes:
        task, self._ahead = self._ahead, None
        if task is not None:
            return await task
        return await self._link.pull(self._queue, self._at, min(MAX_PULLED, self._end - self._at))

    async def _ask_ahead(self) -> None:
        """Start the next pull, so that the broker works on it while this answer is decoded."""
        if self._at < self._end:
            self._ahead = asyncio.ensure_future(
                self._link.pull(self._queue, self._at, min(MAX_PULLED, self._end - self._at))
            )
            await asyncio.sleep(0)

    def _skip(self, begin: int, end: int) -> None:
        if self._strict:
            raise lost(self._queue, begin, end)
