"""A committed offset that stays: its oldest message is unfinished, and finished ones behind it wait.

The committed offset is the smallest unfinished one (`ProcessQueue.removeMessage`, spec client-behaviour 4).
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from sandbox.client.pin_watch import PINNED_AFTER_MS
from sandbox.findings import marks
from sandbox.findings.figure_tables import of_one_queue
from sandbox.findings.finding import QUEUE, WARNING, Checked, Finding, Remedy, Subject, say
from sandbox.findings.reasons import ATTACHED, OUTSIDE
from sandbox.findings.rule import Rule
from sandbox.findings.sampling import cached_of, oldest_key, reported_limit, stored_key
from sandbox.findings.view import ClusterView, GroupNow, QueueAt
from sandbox.kernel.sentences import Plural

HOLD_MS = PINNED_AFTER_MS
PULLED_MS = 10_000


class Pin(NamedTuple):
    """The oldest unfinished message of a queue.  `waiting`: finished ones behind it.  `key` empty: not reported."""

    offset: str
    key: str
    since_ms: int
    waiting: int


def find(view: ClusterView) -> Iterator[Finding]:
    for group, queue in view.group_queues():
        pin = lasting_pin(view, group, queue)
        if pin is not None:
            yield _finding(view, group, queue, pin)


def lasting_pin(view: ClusterView, group: GroupNow, queue: QueueAt) -> Pin | None:
    """Return the oldest unfinished message of a queue that can be read, if it holds the offset for `HOLD_MS`."""
    pin = pin_of(view, group, queue)
    return pin if pin is not None and queue.row["down"] is None and view.at_ms - pin.since_ms >= HOLD_MS else None


def pin_of(view: ClusterView, group: GroupNow, queue: QueueAt) -> Pin | None:
    """Return the oldest unfinished message, by the member's process or (real cluster) by what it reports (307).

    A member reports the first and last cached offset and the count; fewer messages than offsets are finished ones.
    Its cache ends at the last unfinished message, so those that were stored behind it and are not cached are finished,
    too: a member with room in its cache pulls them within `PULLED_MS`.
    """
    oldest = queue.row["oldest"]
    if oldest is not None:
        return Pin(oldest["offset"], oldest["key"], oldest["since_ms"], done_behind(queue.row["cells"]))
    cached = cached_of(queue)
    since_ms = view.history.unchanged_since_ms(oldest_key(group.name, queue))
    if cached is None or since_ms is None:
        return None
    first, last = int(cached["min"]), int(cached["max"])
    stored = view.history.earlier(stored_key(queue.topic, queue.name), PULLED_MS) or 0
    pulled = last + 1 if reported_limit(group, queue) is not None else max(last + 1, stored)
    waiting = pulled - first - cached["count"]
    return Pin(cached["min"], "", since_ms, waiting) if waiting > 0 else None


def _finding(view: ClusterView, group: GroupNow, queue: QueueAt, pin: Pin) -> Finding:
    owner = queue.row["owner"]
    actor = group.members[owner]["actor"] if owner is not None and owner in group.members else None
    says = [
        say(
            "stays" if pin.key else "stays_without_key",
            queue=queue.name,
            offset=pin.offset,
            key=pin.key,
            unfinished_ms=view.at_ms - pin.since_ms,
            who=owner,
        )
    ]
    if pin.waiting:
        says.append(say("again", waiting=pin.waiting))
    return Finding(
        CODE,
        WARNING,
        Subject(QUEUE, queue.name, group.name, queue.topic),
        tuple(says),
        since_ms=pin.since_ms,
        marks=(marks.queue(queue.topic, queue.name), *([marks.member(owner)] if owner else [])),
        touches=frozenset({f"queue {queue.topic}/{queue.name}", f"member {owner}", f"group {group.name}"}),
        remedy=None if actor is None else Remedy("restart", "CrashActor", {"actor": actor}, None),
        reason=ATTACHED if view.attached else OUTSIDE if actor is None else "",
        event=queue.row["cause"],
        figures=of_one_queue(
            queue,
            {
                "committed": queue.row["committed"],
                "key": pin.key or None,
                "offset": pin.offset,
                "unfinished_ms": view.at_ms - pin.since_ms,
                "done_behind": pin.waiting,
            },
        ),
    )


def done_behind(cells: str | None) -> int:
    """Return the finished messages behind the first unfinished one.

    >>> done_behind("3p2d5b1d"), done_behind("2d3p"), done_behind(None)
    (3, 0, 0)
    """
    runs = re.findall(r"(\d+)([a-z])", cells or "")
    first = next((number for number, (_, kind) in enumerate(runs) if kind != "d"), len(runs))
    return sum(int(count) for count, kind in runs[first:] if kind == "d")


def checks(view: ClusterView) -> Checked:
    """Count the queues with an owner, and those of running masters whose owner reports its unfinished messages."""
    owned = [(group, queue.row) for group, queue in view.group_queues() if queue.row["owner"] is not None]
    return Checked(sum(row["down"] is None and _reports(group, row["owner"]) for group, row in owned), len(owned))


def _reports(group: GroupNow, owner: str | None) -> bool:
    member = group.members.get(owner or "")
    return member is not None and member["buffered"] is not None


CODE = "offset_pinned"
RULE = Rule(
    code=CODE,
    title="unfinished message holds the committed offset",
    hold_ms=HOLD_MS,
    sentences={
        "stays": (
            "The committed offset of {queue} stays at {offset}: "
            "its message with key {key} is unfinished for {unfinished_ms} in {who}."
        ),
        "stays_without_key": (
            "The committed offset of {queue} stays at {offset}: its message is unfinished for {unfinished_ms} in {who}."
        ),
        "again": Plural(
            "waiting",
            "{waiting} message behind it is done and would be delivered again after a crash.",
            "{waiting} messages behind it are done and would be delivered again after a crash.",
        ),
        "restart": "Crash {who}…",
    },
    find=find,
    healthy="No message holds a committed offset",
    checks=checks,
    because_of=("suspended", "member_hung", "broker_down"),
    lab="pinned-offset",
    incident="one-queue-stuck",
)
