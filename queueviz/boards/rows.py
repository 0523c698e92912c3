"""Queue rows and members of a board channel, for the first paint and the table twin."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple, TypedDict

from sandbox.queries.rows.board import Board, MemberRow, QueueRow
from sandbox.queries.rows.lag import deleted_lag, row_lag

AGE_LIMIT_MS = 15_000  # older unconsumed messages turn a row vermilion


class QueueName(NamedTuple):
    """The parts of a queue key such as `broker-a:3@10.0.0.11@4021#1`.

    `%RETRY%g/broker-a:0` if the topic is not the page's.
    """

    broker: str
    queue_id: str
    member: str
    topic: str

    @classmethod
    def of(cls, key: str) -> QueueName:
        head, _, member = key.partition("@")
        topic, _, row = head.rpartition("/")
        broker, _, queue_id = row.rpartition(":")
        return cls(broker, queue_id, member, topic)

    def called(self, name: str) -> str:
        return f"{self.topic} {name}" if self.topic else name


def short_names(keys: Iterable[str]) -> dict[str, str]:
    """Return short names by queue key: `q3` on one broker, `a:3` on several.

    With several brokers, the first part is the end of the broker's name after the common beginning.
    """
    names = {key: QueueName.of(key) for key in keys}
    brokers = sorted({name.broker for name in names.values()})
    if len(brokers) < 2:
        return {key: name.called(f"q{name.queue_id}") for key, name in names.items()}
    first, last = brokers[0], brokers[-1]
    same = next((i for i, sign in enumerate(first) if not last.startswith(sign, i)), len(first))
    return {key: name.called(f"{name.broker[same:] or name.broker}:{name.queue_id}") for key, name in names.items()}


class QueueView(NamedTuple):
    key: str
    name: str
    broker: str
    short: str
    row: QueueRow
    me: str  # class with the consumer's colour
    letter: str
    own: str  # reads, waits, "nobody"
    who: str
    lag: int | None
    deleted: int  # of the lag
    age_ms: int | None
    bad: bool
    selected: bool
    lock_left_s: int | None
    lock_stale: bool


def order(key: str) -> tuple[str, str, str, int]:
    """Return the sort key of a queue: by member in broadcasting, then by topic, broker and id."""
    name = QueueName.of(key)
    return name.member, name.topic, name.broker, int(name.queue_id or 0)


class Coloured(TypedDict):
    colour: int


def colour(member: Coloured | None) -> str:
    return f"me-{member['colour']}" if member and member.get("colour") is not None else "me-none"


def queue_views(data: Board | None, *, now_ms: int, selected: str | None = None) -> list[QueueView]:
    """Return one view per queue, in broker and id order."""
    rows, members = (data["queues"], data["members"]) if data else ({}, {})
    shorts = short_names(rows)
    views = []
    for key in sorted(rows, key=order):
        row, name = rows[key], QueueName.of(key)
        who_id = row.get("owner") or row.get("assigned")
        member = members.get(who_id) if who_id else None
        running = member is None or member.get("state") in ("running", "starting")
        lag, age = row_lag(row), _age(row, now_ms)
        lock = row.get("lock")
        left = max(0, lock["expires_at_ms"] - now_ms) if lock else None
        views.append(
            QueueView(
                key=key,
                name=f"q{name.queue_id}",
                broker=name.broker,
                short=shorts[key],
                row=row,
                me=colour(member),
                letter=member.get("letter", "") if member else "",
                own="nobody" if not who_id else "reads" if row.get("owner") and running else "waits",
                who=(member.get("actor") if member else None) or who_id or "",
                lag=lag,
                deleted=deleted_lag(row),
                age_ms=age,
                bad=bool(age and age > AGE_LIMIT_MS),
                selected=key == selected,
                lock_left_s=None if left is None else -(-left // 1000),
                lock_stale=lock is not None and lock["holder"] != (row.get("assigned") or row.get("owner")),
            )
        )
    return views


def worst(views: list[QueueView], most: int) -> list[QueueView]:
    """Return the `most` queues with the largest lag, in the order of the list."""
    chosen = sorted(views, key=lambda view: -1 if view.lag is None else view.lag, reverse=True)[:most]
    return sorted(chosen, key=lambda view: order(view.key))


def _age(row: QueueRow, now_ms: int) -> int | None:
    stored = row.get("oldest_stored_ms")
    return None if stored is None or not row_lag(row) else max(0, now_ms - stored)


class Meter(NamedTuple):
    """A figure of a member and its limit.  None: unknown, or without a limit."""

    name: str  # count, span, threads
    value: int | None
    allowed: int | None
    share: str  # 0 … 1
    warn: bool


class MemberView(NamedTuple):
    client_id: str
    me: str
    member: MemberRow
    bars: list[Meter]
    running: bool
    wire: bool


def member_views(members: Mapping[str, MemberRow]) -> list[MemberView]:
    views = []
    for client_id in sorted(members, key=lambda c: (str(members[c].get("letter", "")), c)):
        member = members[client_id]
        limits = member.get("limits")
        bars = [
            _meter("count", member.get("fullest"), limits["count"] if limits else None),
            _meter("span", member.get("span"), limits["span"] if limits else None),
            _meter("threads", member.get("busy"), member.get("threads")),
        ]
        views.append(
            MemberView(
                client_id,
                colour(member),
                member,
                bars,
                member.get("state") in ("running", "starting", "stopping"),
                member.get("transport") == "tcp",
            )
        )
    return views


def _meter(name: str, value: int | None, allowed: int | None) -> Meter:
    share = min(1.0, value / allowed) if value is not None and allowed else 0.0
    return Meter(name, value, allowed, f"{share:.3f}", name != "threads" and share > 0.6)
