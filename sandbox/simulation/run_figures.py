"""Figures of a run for a comparison, computed from its journal and its last snapshot."""

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from sandbox.journal.schema import Row
from sandbox.queries.rows.snapshot import Snapshot
from sandbox.simulation.message_figures import MessageFigures, message_figures
from sandbox.simulation.reader_gaps import ReaderGaps, reader_gaps


class LockWait(NamedTuple):
    """The time in ms for which a queue's new owner was refused the lock.  `open`: it is still refused."""

    ms: int
    queue: str
    who: str
    holder: str
    open: bool


class Figures(NamedTuple):
    """The figures of a run from an event on.  None: unknown."""

    delivered_again: int | None
    lost: int
    longest_lock_wait: LockWait | None
    lag: int | None
    unread: ReaderGaps | None
    messages: MessageFigures

    def row(self) -> dict[str, object]:
        """Return the figures as JSON values."""
        wait, unread, messages = self.longest_lock_wait, self.unread, self.messages
        return {
            **self._asdict(),
            "longest_lock_wait": wait and wait._asdict(),
            "unread": unread and unread._asdict(),
            "messages": {**messages._asdict(), "oldest": messages.oldest and messages.oldest._asdict()},
        }


def figures_of(rows: list[Row], since: int, before: Snapshot | None, last: Snapshot) -> Figures:
    """Return the figures from event `since` on.

    `before`: the snapshot at that event; `last`: the one at the end.
    """
    again, lost, ends_ms = _again(last), _lost(rows, last), last["at_ms"]
    earlier = _again(before) if before is not None else 0
    groups = [*(before["groups"] if before is not None else []), *last["groups"]]
    clustering = [group for group in groups if group["model"] == "CLUSTERING"]
    return Figures(
        again - earlier if again is not None and earlier is not None else None,
        lost,
        longest_lock_wait((row for row in rows if row["seq"] >= since), ends_ms),
        _lag(last),
        reader_gaps(rows, since, {group["group"] for group in clustering}, ends_ms),
        message_figures(rows, since, clustering, ends_ms, lost=lost),
    )


def longest_lock_wait(rows: Iterable[Row], ends_ms: int) -> LockWait | None:
    """Return the longest wait for the lock of a queue, or None.

    A wait lasts from the first refusal until any member gets the lock, or until `ends_ms`.
    """
    refused: dict[tuple[str, ...], Row] = {}
    waits: list[LockWait] = []
    for row in rows:
        if row["type"] not in ("LockDenied", "QueueLocked"):
            continue
        queue = (row["group"], row["topic"], row["broker"], str(row["queue_id"]))
        if row["type"] == "LockDenied":
            refused.setdefault(queue, row)
        elif row["how"] != "renewed" and queue in refused:
            waits.append(_wait(refused.pop(queue), row["at_ms"], still=False))
    waits += [_wait(row, ends_ms, still=True) for row in refused.values()]
    return max(waits, default=None)


def _wait(row: Row, until_ms: int, *, still: bool) -> LockWait:
    return LockWait(
        until_ms - row["at_ms"],
        f"{row['topic']}/{row['broker']}/{row['queue_id']}",
        row["client_id"],
        row["holder"],
        still,
    )


def _again(snapshot: Snapshot) -> int | None:
    counts = [group["counts"]["delivered_again"] for group in snapshot["groups"]]
    return None if None in counts else sum(count or 0 for count in counts)


def _lag(snapshot: Snapshot) -> int | None:
    lags = [group.get("lag") for group in snapshot["groups"]]
    return None if None in lags else sum(int(lag or 0) for lag in lags)


def _lost(rows: list[Row], last: Snapshot) -> int:
    """Return the number of messages that a broker stored and lost.

    After a power cut their offsets are assigned again.
    """
    stored: Counter[tuple[str, str, int]] = Counter()
    for row in rows:
        if row["type"] == "MessagesStored":
            stored[row["topic"], row["broker"], row["queue_id"]] += row["count"]
    return sum(
        max(0, stored[topic["topic"], queue["broker"], queue["queue_id"]] - int(queue["max"]))
        for topic in last["topics"]
        for queue in topic["queues"]
        if queue["max"] is not None
    )
