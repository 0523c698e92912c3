"""The queues of one group on an attached cluster, with every counter that is reported."""

from collections.abc import Collection, Mapping
from typing import NamedTuple

from sandbox.attached.member_says import NOWHERE, HeldQueue, Position, position
from sandbox.attached.picture import Picture
from sandbox.attached.snapshot.group_reports import GroupSeen
from sandbox.message.queue import MessageQueue
from sandbox.queries.rows.board import DownMark, LockRow, QueueEnds, QueueRow, ReportedQueueRow
from sandbox.queries.rows.lag import row_lag

BROKER_LIFE_MS, CLIENT_LIFE_MS, RENEW_MS = 60_000, 30_000, 20_000
"""RocketMQ's defaults.  Brokers and clients may be configured otherwise, and cannot be asked."""

Causes = dict[tuple[str, MessageQueue], int]


def queue_rows(view: GroupSeen, topic: str, causes: Causes, *, divided: bool = True) -> dict[str, ReportedQueueRow]:
    """Return rows by `broker-a:3`; when broadcasting, by `broker-a:3@<client id>` for the members that report.

    If `divided` is False, `assigned` stays None, because no caller reads it.
    """
    mqs = view.picture.read_queues(topic)
    if view.model == "BROADCASTING":
        return {
            f"{mq.row}@{client_id}": _broadcast_row(view.picture, mq, client_id, held)
            for client_id, says in view.says.items()
            for mq, held in sorted(says.held(topic).items())
        }
    assigned = view.assigned(mqs) if divided else {}
    return {mq.row: _queue_row(view, mq, assigned.get(mq), causes.get((view.group, mq))) for mq in mqs}


def _queue_row(view: GroupSeen, mq: MessageQueue, assigned: str | None, cause: int | None) -> ReportedQueueRow:
    owner, held = view.holder(mq)
    committed = view.picture.committed(view.group, mq)
    reported = NOWHERE if held is None else position(held, committed)
    return {
        **_row(view.picture, mq, text(committed), reported, from_zero=view.counts_from_zero(mq)),
        "owner": owner,
        "assigned": assigned,
        "lock": lock_row(view, mq),
        "cause": text(cause),
    }


def _broadcast_row(picture: Picture, mq: MessageQueue, client_id: str, held: HeldQueue) -> ReportedQueueRow:
    reported = position(held, None)
    return {
        **_row(picture, mq, reported["in_memory"], reported, from_zero=False),
        "owner": client_id,
        "assigned": client_id,
    }


def _row(
    picture: Picture, mq: MessageQueue, committed: str | None, reported: Position, *, from_zero: bool
) -> ReportedQueueRow:
    """Return a row with None for all that clusters do not report.  Callers fill in owner, lock and cause."""
    ends = ends_row(picture, mq)
    return {
        **ends,
        "committed": committed,
        "from_zero": from_zero,
        "oldest_stored_ms": None,
        "cells": None,
        "oldest": None,
        "flow_control": None,
        "next_pull": None,
        "held_until_ms": None,
        **reported,
        "owner": None,
        "assigned": None,
        "lock": None,
        "cause": None,
        "down": down_row(picture, mq, ends, committed, from_zero=from_zero),
    }


def ends_row(picture: Picture, mq: MessageQueue) -> QueueEnds:
    end = picture.end(mq)
    rate = picture.rates.per_s(mq) if picture.silent_since_ms(mq.broker) is None else None
    return {
        "min": None if end is None else str(max(0, end.min_offset)),
        "max": None if end is None else str(max(0, end.max_offset)),
        "rate_per_s": rate,
    }


def down_row(
    picture: Picture, mq: MessageQueue, ends: QueueEnds, committed: str | None, *, from_zero: bool
) -> DownMark | None:
    """Return the mark of a queue whose master does not answer, as of a sandbox (`queries.snapshot`); else None.

    It has the time of the master's last answer, and the lag at that time.  Whether members read the queue from a
    slave meanwhile (`reads`) is unknown.
    """
    since_ms = picture.silent_since_ms(mq.broker)
    if since_ms is None:
        return None
    lag = _lag({**ends, "committed": committed, "from_zero": from_zero})
    return {"known_at_ms": since_ms, "reads": None, "lag": text(lag), "behind": None}


def lock_row(view: GroupSeen, mq: MessageQueue) -> LockRow | None:
    """Return the lock as its holder reports it, by the holder's clock.  Its life time is assumed.

    Brokers do not show their locks.  Only orderly listeners lock.  But RocketMQ's client begins every queue with
    `locked` set, also that of a concurrent listener (`RebalanceImpl.updateProcessQueueTableInRebalance`).
    """
    owner, held = view.holder(mq)
    if owner is None or held is None or not held.locked or view.says[owner].listener != "orderly":
        return None
    at_ms = held.last_lock_ms
    return {
        "holder": owner,
        "granted_at_ms": None,
        "expires_at_ms": at_ms + BROKER_LIFE_MS,
        "trusted_until_ms": at_ms + CLIENT_LIFE_MS,
        "renew_at_ms": at_ms + RENEW_MS,
        "known_by": "holder",
    }


class Lag(NamedTuple):
    """The lag of a set of queues.

    `messages`: stored and not committed, in the `queues` (of all `of`) that are known now; None: none is known.
    `last_known`: the lag of the other queues, when their masters still answered.
    """

    messages: int | None
    queues: int
    of: int
    last_known: int | None


def lag_of(rows: Collection[QueueRow]) -> Lag:
    """Return the lag over these queues.

    A queue whose broker does not answer counts only in `last_known`, with its last known lag.
    """
    known = [lag for row in rows if row["down"] is None and (lag := _lag(row)) is not None]
    others = [int(row["down"]["lag"]) for row in rows if row["down"] is not None and row["down"]["lag"] is not None]
    return Lag(sum(known) if known else None, len(known), len(rows), sum(others) if others else None)


def _lag(row: Mapping[str, object]) -> int | None:
    """Return the queue's lag, at least 0.

    Offsets and ends are polled one after the other, so their difference may be below 0.
    """
    lag = row_lag(row)
    return None if lag is None else max(0, lag)


def text(number: int | None) -> str | None:
    return None if number is None else str(number)
