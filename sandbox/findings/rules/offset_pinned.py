"""A committed offset that stays: its oldest message is unfinished, and finished ones behind it wait.

The committed offset is the smallest unfinished one (`ProcessQueue.removeMessage`, spec client-behaviour 4).
"""

import re
from collections.abc import Iterator

from sandbox.findings import marks
from sandbox.findings.finding import QUEUE, WARNING, Checked, Finding, Remedy, Subject, say
from sandbox.findings.rule import Rule
from sandbox.findings.view import ClusterView, GroupNow, QueueAt
from sandbox.kernel.sentences import Plural

HOLD_MS = 20_000
DONE = re.compile(r"(\d+)d")


def find(view: ClusterView) -> Iterator[Finding]:
    for group, queue in view.group_queues():
        oldest = queue.row["oldest"]
        if oldest is not None and queue.row["down"] is None and view.at_ms - oldest["since_ms"] >= HOLD_MS:
            yield _finding(view, group, queue)


def _finding(view: ClusterView, group: GroupNow, queue: QueueAt) -> Finding:
    oldest = queue.row["oldest"]
    assert oldest is not None
    owner, waiting = queue.row["owner"], done_behind(queue.row["cells"])
    says = [
        say(
            "stays" if oldest["key"] else "stays_without_key",
            queue=queue.name,
            offset=oldest["offset"],
            key=oldest["key"],
            unfinished_ms=view.at_ms - oldest["since_ms"],
            who=owner,
        )
    ]
    if waiting:
        says.append(say("again", waiting=waiting))
    return Finding(
        CODE,
        WARNING,
        Subject(QUEUE, queue.name, group.name, queue.topic),
        tuple(says),
        since_ms=oldest["since_ms"],
        marks=(marks.queue(queue.topic, queue.name), *([marks.member(owner)] if owner else [])),
        touches=frozenset({f"queue {queue.topic}/{queue.name}", f"member {owner}", f"group {group.name}"}),
        remedy=_remedy(group, owner),
        event=queue.row["cause"],
    )


def done_behind(cells: str | None) -> int:
    """Return the finished messages behind the first unfinished one.

    >>> done_behind("3p2d5b1d"), done_behind("2d3p"), done_behind(None)
    (3, 0, 0)
    """
    runs = re.findall(r"(\d+)([a-z])", cells or "")
    first = next((number for number, (_, kind) in enumerate(runs) if kind != "d"), len(runs))
    return sum(int(count) for count, kind in runs[first:] if kind == "d")


def _remedy(group: GroupNow, owner: str | None) -> Remedy | None:
    """Return the restart of the member: a new process gets the message again.  None: an external client."""
    actor = group.members[owner]["actor"] if owner is not None and owner in group.members else None
    return None if actor is None else Remedy("restart", "CrashActor", {"actor": actor})


def checks(view: ClusterView) -> Checked:
    """Count the queues whose owner reports its unfinished messages."""
    rows = [(group, queue) for group, queue in view.group_queues() if queue.row["owner"] is not None]
    known = sum(queue.row["cells"] is not None or queue.row["in_memory"] is not None for _, queue in rows)
    return Checked(known, len(rows))


CODE = "offset_pinned"
RULE = Rule(
    code=CODE,
    title="unfinished message holds the committed offset",
    hold_ms=HOLD_MS,
    sentences={
        "stays": "The committed offset of {queue} stays at {offset}: {key} is unfinished for {unfinished_ms} in {who}.",
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
