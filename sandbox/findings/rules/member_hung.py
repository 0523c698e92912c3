"""A member that does not answer any more: its connection is open, and brokers keep it until its heartbeats expire."""

from collections.abc import Iterator

from sandbox.findings import marks
from sandbox.findings.finding import ERROR, MEMBER, Checked, Finding, Remedy, Subject, say
from sandbox.findings.rule import Rule
from sandbox.findings.view import ClusterView, GroupNow
from sandbox.kernel.sentences import Plural
from sandbox.queries.rows.board import MemberRow

HOLD_MS = 10_000
EXPIRE_MS = 120_000  # without a heartbeat (`ClientManager`, spec broker-behaviour 5)
SILENT_MS = 45_000  # an external client sends a heartbeat every 30 s


def find(view: ClusterView) -> Iterator[Finding]:
    for group in view.groups.values():
        for key, row in group.members.items():
            expires_ms = expires_at_ms(view, group, key, row)
            if expires_ms is not None:
                yield _finding(view, group, key, row, expires_ms)


def expires_at_ms(view: ClusterView, group: GroupNow, key: str, row: MemberRow) -> int | None:
    """Return the time when brokers remove a silent member; None while it sends heartbeats, or if none is reported."""
    if row["actor"] is not None:
        return row["expires_at_ms"]
    heartbeat_ms = (group.heartbeats_ms or {}).get(key)
    silent = heartbeat_ms is not None and view.at_ms - heartbeat_ms >= SILENT_MS
    return heartbeat_ms + EXPIRE_MS if heartbeat_ms is not None and silent else None


def _finding(view: ClusterView, group: GroupNow, key: str, row: MemberRow, expires_ms: int) -> Finding:
    queues = [queue for queue in group.queues() if queue.row["owner"] == key or queue.row["assigned"] == key]
    silent_ms = max(0, view.at_ms - (expires_ms - EXPIRE_MS))
    says = [say("silent", who=key, silent_ms=silent_ms, left_ms=max(0, expires_ms - view.at_ms))]
    if queues:
        says.append(say("wait", queues=len(queues)))
    return Finding(
        CODE,
        ERROR,
        Subject(MEMBER, key, group.name),
        tuple(says),
        marks=(marks.member(key), *(marks.queue(queue.topic, queue.name) for queue in queues)),
        touches=frozenset(
            {f"member {key}", f"group {group.name}", *(f"queue {queue.topic}/{queue.name}" for queue in queues)}
        ),
        remedy=None if row["actor"] is None else Remedy("crash", "CrashActor", {"actor": row["actor"]}),
    )


def checks(view: ClusterView) -> Checked:
    """Count the members, and those whose heartbeats are known; brokers of a real cluster do not report them."""
    known = sum(len(group.online()) for group in view.groups.values() if group.heartbeats_ms is not None)
    return Checked(known, sum(len(group.online()) for group in view.groups.values()))


CODE = "member_hung"
RULE = Rule(
    code=CODE,
    title="no heartbeat",
    hold_ms=HOLD_MS,
    sentences={
        "silent": "{who} has sent no heartbeat for {silent_ms}; brokers remove it in {left_ms}.",
        "wait": Plural("queues", "Until then its {queues} queue waits.", "Until then its {queues} queues wait."),
        "crash": "Crash {who}…",
    },
    find=find,
    healthy="Every member sends heartbeats",
    checks=checks,
    because_of=("broker_down",),
    lab="crash-and-stop",
)
