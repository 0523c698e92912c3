"""Feeds: rows sent in batches, each when it is due.  Pauses are the original ones divided by the speed."""

import time
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from queueviz.operations.remote_sandbox import RemoteSandbox
from sandbox.cluster.actors.feeds import FeedRow
from sandbox.queries.rows.snapshot import Snapshot

BATCH_ROWS = 500
BATCH_BYTES = 512 * 1024  # of bodies; a request holds 2.5 MB, and JSON in JSON grows by its quotes
BATCH_S = 0.5  # what falls due within this time goes together
LATE_S = 2.0  # a feed that fell behind by more does not make up for it
MOST_ROWS_PER_S = 1_500.0  # a sandbox stores 2 000; its own producers want some of them
ARRIVES_WITHIN_S = 10.0
LOOK_EVERY_S = 0.2


class Pace(NamedTuple):
    """The pace of a feed: `speed` times the original speed (0: no pauses), at most `rows_per_s` rows per second."""

    speed: float
    rows_per_s: float = MOST_ROWS_PER_S


def batches(
    rows: Iterable[FeedRow],
    pace: Pace,
    *,
    now: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Iterator[list[FeedRow]]:
    """Yield lists of rows, none before its time.  A list has at most `BATCH_ROWS` rows and `BATCH_BYTES` bytes."""
    due_s = now()
    batch: list[FeedRow] = []
    size = 0
    for row in rows:
        gap_s = row.gap_s / pace.speed if pace.speed > 0 else 0.0
        due_s = max(due_s + max(gap_s, 1 / pace.rows_per_s), now() - LATE_S)
        full = len(batch) == BATCH_ROWS or size + len(row.body) > BATCH_BYTES
        if batch and (full or due_s - now() > BATCH_S):
            yield batch
            batch, size = [], 0
        if not batch and due_s > now():
            sleep(due_s - now())
        batch.append(row)
        size += len(row.body)
    if batch:
        yield batch


class SandboxSink:
    """A target that sends batches to a running sandbox.

    It waits until each batch is stored, so that the order of the table is kept.
    """

    def __init__(
        self,
        sandbox: RemoteSandbox,
        topic: str,
        *,
        now: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._sandbox, self._topic = sandbox, topic
        self._now, self._sleep = now, sleep
        self._stored = stored_in(sandbox.snapshot(), topic)

    def send(self, batch: list[FeedRow]) -> None:
        rows = [{"key": row.key, "tag": row.tag, "body": row.body.decode()} for row in batch]
        self._sandbox.act({"action": "SendMessages", "topic": self._topic, "selector": "hash", "rows": rows})
        self._stored += len(batch)
        self._wait()

    def _wait(self) -> None:
        """Wait until the batch is stored, at most `ARRIVES_WITHIN_S` after the last progress.

        Messages of other producers may count too.  A wrong count only makes the wait shorter or longer.
        """
        last, until_s = -1, self._now() + ARRIVES_WITHIN_S
        while self._now() < until_s:
            stored = stored_in(self._sandbox.snapshot(), self._topic)
            if stored >= self._stored:
                self._stored = stored
                return
            if stored > last:
                last, until_s = stored, self._now() + ARRIVES_WITHIN_S
            self._sleep(LOOK_EVERY_S)
        self._stored = max(last, 0)  # some were refused; the sandbox's journal says which


def stored_in(snapshot: Snapshot, topic: str) -> int:
    """Return how many messages the topic has ever stored, in all its queues."""
    stored = next((row for row in snapshot.get("topics", ()) if row["topic"] == topic), None)
    return sum(int(queue["max"] or 0) for queue in stored["queues"]) if stored else 0
