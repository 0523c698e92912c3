"""The figures of which a rule makes its sentences, by queue, member or message: the answer to *Why*.

A rule fills them with the values of its sentences, in the same look, so that both agree.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

MOST_ROWS = 12
WHO = frozenset({"who", "holder", "waits"})  # columns with row keys of members

Values = Mapping[str, object]
"""Cells by the names of their columns: None is not known, empty is none, and a pair is a value and its limit.

Names end in the unit: `_ms` is a duration, `_per_s` a rate, `_percent` a share.
"""

COLUMNS: Mapping[str, str] = {
    "topic": "Topic",
    "group": "Group",
    "queue": "Queue",
    "who": "Member",
    "setting": "Topic or setting",
    "request": "Request",
    "key": "Message",
    "offset": "Offset",
    "min": "Min",
    "committed": "Committed",
    "max": "Max",
    "waiting": "Messages waiting",
    "lost": "Deleted unread",
    "beyond": "Beyond the end",
    "in_per_s": "In",
    "out_per_s": "Out",
    "busy_percent": "Threads busy",
    "then_per_s": "With {needed}",
    "per_s": "Per second",
    "share_percent": "Share of messages",
    "unfinished_ms": "Unfinished for",
    "done_behind": "Done behind",
    "behind": "Behind it",
    "attempts": "Attempts",
    "next_ms": "Next attempt in",
    "buffered": "Messages",
    "offset_span": "Offset span",
    "holder": "Lock",
    "waits": "Waits",
    "left_ms": "Free in",
    "queues": "Queues",
    "names": "Names",
    "unread": "Not read",
    "reads": "Read from",
    "silent_ms": "Last heartbeat",
    "removed_ms": "Removed in",
    "age_ms": "Joined",
    "connections": "Connections",
}

BESIDE: Mapping[str, str] = {
    "at_work": "Always at work",
    "threads": "Threads of these members",
    "each_ms": "Time per message",
    "needed": "Threads needed",
    "queues": "Queues",
    "distinct": "Queues, each counted once",
    "members": "Members",
    "lag": "Lag",
    "falls_per_s": "Falls per second",
    "gone_ms": "Gone in",
    "fullest_bytes": "Bytes of its fullest queue",
    "hung_ms": "Hangs for",
    "held": "Unfinished messages",
    "left": "Times left",
    "joined": "Times joined",
    "within_ms": "Within",
    "dropped": "Dropped",
    "passed_over": "Filtered out by brokers",
    "idle": "Members without a queue",
    "unread": "Queues without a reader",
    "waiting": "Messages waiting",
    "behind": "Messages that the slave lacks",
    "trust_ms": "Locks are trusted for",
    "groups": "Ordered groups",
    "write": "Write queues",
    "read": "Read queues",
    "new": "New dead letters",
    "dead_letters": "All dead letters",
    "retries": "All messages",
}


class FigureRow(NamedTuple):
    """`mark`: address of the part of a board (`marks.py`), or empty.  `about`: the sentences are about this row."""

    values: Values
    mark: str = ""
    about: bool = False


class Figures(NamedTuple):
    """`total`: of all rows, also of those left out.  `beside`: values of no row.  `window_ms`: time of the rates."""

    rows: tuple[FigureRow, ...]
    total: Values
    beside: Values
    left_out: int
    window_ms: int | None

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(self.rows[0].values)


def figures(
    rows: Sequence[FigureRow],
    *,
    count: int | None = None,
    total: Values | None = None,
    beside: Values | None = None,
    window_ms: int | None = None,
) -> Figures | None:
    """Return the table of these rows; None without a row.  `count`: of all, if not all were made."""
    if not rows:
        return None
    left_out = (len(rows) if count is None else count) - len(rows[:MOST_ROWS])
    return Figures(tuple(rows[:MOST_ROWS]), total or {}, beside or {}, left_out, window_ms)
