"""Rates of a group: what arrives, what its members finish, and which of them are always at work."""

from collections.abc import Collection
from math import ceil
from typing import NamedTuple

from sandbox.findings.sampling import busy_key, committed_key, members_key, owner_key, stored_key
from sandbox.findings.view import ClusterView, GroupNow
from sandbox.queries.rows.board import MemberRow

WINDOW_MS = 30_000
BUSY = 0.9  # of its threads, in the mean: a member that is always at work


class Work(NamedTuple):
    """The members that are always at work.  None: not known."""

    members: dict[str, MemberRow]
    every: int  # members online
    threads: int  # of those always at work
    each_ms: int | None  # time of a thread for a message
    needed: int | None  # threads that finish what arrives for these members


def flow_of(view: ClusterView, group: GroupNow) -> tuple[float, float] | None:
    """Return the messages per second stored in the group's topics, and committed; None: one is not known."""
    queues = [queue for queue in group.queues() if queue.row["down"] is None]
    stored = view.history.trend_per_s(*(stored_key(queue.topic, queue.name) for queue in queues), window_ms=WINDOW_MS)
    done = view.history.trend_per_s(*(committed_key(group.name, queue) for queue in queues), window_ms=WINDOW_MS)
    return None if stored is None or done is None else (stored, done)


def flow_of_members(view: ClusterView, group: GroupNow, members: Collection[str]) -> tuple[float | None, float | None]:
    """Return the messages per second stored in the queues of these members, and committed."""
    own = [queue for queue in group.queues() if queue.row["owner"] in members]
    stored = view.history.trend_per_s(*(stored_key(queue.topic, queue.name) for queue in own), window_ms=WINDOW_MS)
    done = view.history.trend_per_s(*(committed_key(group.name, queue) for queue in own), window_ms=WINDOW_MS)
    return stored, done


def busy_members(view: ClusterView, group: GroupNow) -> dict[str, MemberRow] | None:
    """Return the members that are always at work; None: no member reports its threads."""
    reporting = {key: row for key, row in group.online().items() if row["busy"] is not None and row["threads"]}
    if not reporting:
        return None
    return {
        key: row
        for key, row in reporting.items()
        if row["state"] == "running"
        and (mean := view.history.mean(busy_key(group.name, key), WINDOW_MS)) is not None
        and mean >= BUSY * (row["threads"] or 1)
    }


def work_of(view: ClusterView, group: GroupNow, busy: dict[str, MemberRow]) -> Work:
    threads, every = sum(row["threads"] or 1 for row in busy.values()), len(group.online())
    stored, done = flow_of_members(view, group, busy)
    if not done or stored is None or not _is_steady(view, group):
        return Work(busy, every, threads, None, None)
    if group.orderly:  # a thread may wait for its queue, and one queue is one thread's work
        return Work(busy, every, threads, None, ceil(min(threads, len(group.queues())) * stored / done))
    return Work(busy, every, threads, round(1000 * threads / done), ceil(threads * stored / done))


def _is_steady(view: ClusterView, group: GroupNow) -> bool:
    """Return True if members and owners are those of the whole window: else its rates say nothing of a thread."""
    history = view.history
    keys = (members_key(group.name), *(owner_key(group.name, queue) for queue in group.queues()))
    return all(
        since_ms is not None and (since_ms <= history.began_ms or view.at_ms - since_ms >= WINDOW_MS)
        for since_ms in map(history.unchanged_since_ms, keys)
    )
