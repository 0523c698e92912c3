"""The Locks page: the owner of each queue of an orderly group, the time left, and why a member waits.

Its channel is `locks/…`.
"""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import quote

from django.utils.translation import gettext_lazy as _

from queueviz.boards import rows
from queueviz.boards.board import live_config, now_of
from queueviz.boards.down_queue_texts import down_brokers, down_wait, known_text, mark_of
from queueviz.boards.js_texts import texts
from queueviz.boards.page import BoardPage, Context, Place, Readings, data_of
from sandbox.queries.rows.locks import LockAttempt, LockedQueue, LockLives, Locks


class LockView(NamedTuple):
    key: str
    short: str
    broker: str
    row: LockedQueue
    holder: str  # letter
    holder_me: str
    left_s: int | None
    stale: bool
    assigned: str
    waiting: str
    lost: bool
    down: str


def channel(place: Place) -> str | None:
    group = place.group(orderly=True)
    return f"locks/{place.slug}/{quote(group['group'], safe='')}" if group else None


def lives_of(data: Locks | None) -> LockLives:
    """Return the three durations of a lock: its life at the broker, its life at the client, its renewal interval.

    Without a reading of the channel, RocketMQ's default values.
    """
    return (data.get("lives") if data else None) or {"broker_ms": 60_000, "client_ms": 30_000, "renew_ms": 20_000}


def _context(place: Place, readings: Readings) -> Context:
    name = channel(place)
    data = data_of(readings, name, Locks)
    group = place.group(orderly=True)
    now_ms = now_of(place, readings, name)
    lives = lives_of(data)
    known = data.get("known") if data else None
    return {
        "group": group["group"] if group else None,
        "orderly_groups": [g for g in place.groups if g.get("listener") == "orderly"],
        "orderly": bool(group and group.get("listener") == "orderly"),
        "lives": lives,
        "members": rows.member_views(data["members"] if data else {}),
        "locks": _views(data, now_ms) if data else [],
        "attempts": attempts(data) if data else [],
        "down": down_brokers(data["queues"] if data else {}),
        "known": known_text(known) if known else "",
        "now_ms": now_ms,
        "live": live_config(place, readings, {"locks": name}, tab="locks", group=group["group"] if group else None),
        "texts": texts(),
    }


def _views(data: Locks, now_ms: int) -> list[LockView]:
    members, views = data["members"], []
    queues, brokers = data["queues"], data.get("brokers", {})
    shorts = rows.short_names(queues)
    for key in sorted(queues, key=rows.order):
        row, lock = queues[key], queues[key].get("lock")
        holder = members.get(lock["holder"]) if lock else None
        left = max(0, lock["expires_at_ms"] - now_ms) if lock else None
        assigned, broker = members.get(row["assigned"] or ""), rows.QueueName.of(key).broker
        views.append(
            LockView(
                key,
                shorts[key],
                broker,
                row,
                (holder["letter"] if holder else "?") if lock else "",
                rows.colour(holder),
                None if left is None else -(-left // 1000),
                lock is not None and lock["holder"] != row["assigned"],
                assigned["letter"] if assigned else "",
                ", ".join(members[c]["letter"] if c in members else c for c in row.get("waiting") or ()),
                mark_of(row) is not None or brokers.get(broker, "running") not in ("running", "hung"),
                down_wait(row),
            )
        )
    return views


class AttemptView(LockAttempt):
    no: str
    who: str  # letter
    me: str  # class with the consumer's colour
    held_by: str
    short: str


def attempts(data: Locks, most: int = 40) -> list[AttemptView]:
    """Return the newest `most` lock attempts, the newest first, with the members' letters in place of client ids.

    `A/B` if two members have the client id: a request does not name its process.
    """
    members, reported = data["members"], data.get("attempts") or {}
    shorts = rows.short_names([*data["queues"], *(row["queue"] for row in reported.values())])

    def letter(client_id: str | None) -> str:
        keys = [key for key in members if client_id and (key == client_id or key.startswith(f"{client_id} "))]
        return "/".join(members[key]["letter"] for key in keys) or client_id or "–"

    views: list[AttemptView] = []
    for number in sorted(reported, key=lambda key: (reported[key]["at_ms"], key), reverse=True)[:most]:
        row = reported[number]
        views.append(
            {
                **row,
                "no": number,
                "who": letter(row["client_id"]),
                "me": rows.colour(members.get(row["client_id"])),
                "held_by": letter(row.get("holder")),
                "short": shorts[row["queue"]],
            }
        )
    return views


LOCKS = BoardPage(
    name="locks",
    title=_("Locks"),
    path="locks/",
    template="queueviz/boards/locks.html",
    twin="queueviz/partials/twin_locks.html",
    attached=True,
    replayed=True,
    channels=lambda place: [name] if (name := channel(place)) else [],
    context=_context,
)
