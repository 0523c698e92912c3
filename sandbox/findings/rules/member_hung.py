"""A member that does not answer any more: its connection is open, and brokers keep it until its heartbeats expire.

After that its process still holds messages that it has not finished.  The next owners of its queues begin at the
committed offsets (spec client-behaviour 4), so both process these messages if it continues.  Its locks have expired
before, 60 s after their last renewal.
"""

from collections.abc import Iterator
from typing import cast

from sandbox.findings import marks
from sandbox.findings.figure_tables import of_heartbeats
from sandbox.findings.finding import ERROR, MEMBER, WARNING, Checked, Finding, Remedy, Said, Subject, say
from sandbox.findings.reasons import OUTSIDE
from sandbox.findings.rule import Rule
from sandbox.findings.view import ClusterView, GroupNow
from sandbox.kernel.sentences import Plural
from sandbox.queries.rows.board import MemberRow
from sandbox.queries.rows.groups import EXPIRE_MS

HOLD_MS = 10_000
SILENT_MS = 45_000  # an external client sends a heartbeat every 30 s


def find(view: ClusterView) -> Iterator[Finding]:
    for group in view.groups.values():
        for key, row in group.members.items():
            expires_ms = expires_at_ms(view, group, key, row)
            if expires_ms is not None or row["state"] == "hung":
                yield _finding(view, group, key, row, expires_ms)


def expires_at_ms(view: ClusterView, group: GroupNow, key: str, row: MemberRow) -> int | None:
    """Return the time when brokers remove a silent member.

    None while it sends heartbeats, if none is reported, or if no broker lists it.
    """
    if row["actor"] is not None:
        return row["expires_at_ms"]
    heartbeat_ms = (group.heartbeats_ms or {}).get(key)
    silent = heartbeat_ms is not None and view.at_ms - heartbeat_ms >= SILENT_MS
    return heartbeat_ms + EXPIRE_MS if heartbeat_ms is not None and silent else None


def _finding(view: ClusterView, group: GroupNow, key: str, row: MemberRow, expires_ms: int | None) -> Finding:
    queues = [queue for queue in group.queues() if queue.row["owner"] == key or queue.row["assigned"] == key]
    actor = row["actor"]
    return Finding(
        CODE,
        WARNING if expires_ms is None and not queues else ERROR,
        Subject(MEMBER, key, group.name),
        tuple(
            _unlisted(view, group, key, row, len(queues))
            if expires_ms is None
            else _listed(view, key, expires_ms, len(queues))
        ),
        marks=(marks.member(key), *(marks.queue(queue.topic, queue.name) for queue in queues)),
        touches=frozenset(
            {f"member {key}", f"group {group.name}", *(f"queue {queue.topic}/{queue.name}" for queue in queues)}
        ),
        remedy=None if actor is None else Remedy("crash", "CrashActor", {"actor": actor}, None),
        reason=OUTSIDE if actor is None else "",
        figures=of_heartbeats(view, group, key, _times(view, expires_ms, len(queues)), _hangs(view, row, expires_ms)),
    )


def _times(view: ClusterView, expires_ms: int | None, queues: int) -> dict[str, object]:
    if expires_ms is None:
        return {"queues": queues}
    silent_ms, removed_ms = max(0, view.at_ms - (expires_ms - EXPIRE_MS)), max(0, expires_ms - view.at_ms)
    return {"silent_ms": silent_ms, "removed_ms": removed_ms, "queues": queues}


def _hangs(view: ClusterView, row: MemberRow, expires_ms: int | None) -> dict[str, object]:
    """Return the time of a process that hangs on after its brokers removed it, or lost their tables."""
    since_ms = cast(int | None, row.get("state_since_ms"))
    if expires_ms is not None:
        return {}
    return {"hung_ms": 0 if since_ms is None else view.at_ms - since_ms, "held": row["buffered"]}


def _listed(view: ClusterView, key: str, expires_ms: int, queues: int) -> Iterator[Said]:
    times = _times(view, expires_ms, queues)
    yield say("silent", who=key, silent_ms=times["silent_ms"], left_ms=times["removed_ms"])
    if queues:
        yield say("wait", queues=queues)


def _unlisted(view: ClusterView, group: GroupNow, key: str, row: MemberRow, queues: int) -> Iterator[Said]:
    """Yield the sentences of a process that hangs on after its brokers removed it, or lost their tables."""
    hung_ms = _hangs(view, row, None)["hung_ms"]
    is_known = any(broker["state"] == "running" for broker in view.brokers.values())
    yield say("unlisted" if is_known else "hangs", who=key, hung_ms=hung_ms)
    if queues:
        yield say("still", queues=queues)
    elif is_known and group.clustering and len(group.listed()) > 0:
        yield say("again", held=row["buffered"]) if row["buffered"] else say("moved")


def checks(view: ClusterView) -> Checked:
    """Count the members, and those that send heartbeats; brokers of a real cluster do not report them."""
    known = sum(
        row["state"] != "hung"
        for group in view.groups.values()
        if group.heartbeats_ms is not None
        for row in group.listed().values()
    )
    return Checked(known, sum(len(group.online()) for group in view.groups.values()))


CODE = "member_hung"
RULE = Rule(
    code=CODE,
    title="no heartbeat",
    hold_ms=HOLD_MS,
    sentences={
        "silent": "{who} has sent no heartbeat for {silent_ms}; brokers remove it in {left_ms}.",
        "wait": Plural("queues", "Until then its {queues} queue waits.", "Until then its {queues} queues wait."),
        "unlisted": "{who} hangs for {hung_ms}, and no broker lists it any more.",
        "hangs": "{who} hangs for {hung_ms}.",
        "still": Plural("queues", "Its {queues} queue waits.", "Its {queues} queues wait."),
        "moved": "Other members have its queues.",
        "again": Plural(
            "held",
            "Other members have its queues, and were given the {held} unfinished message that it holds.",
            "Other members have its queues, and were given the {held} unfinished messages that it holds.",
        ),
        "crash": "Crash {who}…",
    },
    find=find,
    healthy="Every member sends heartbeats",
    checks=checks,
    lab="crash-and-stop",
)
