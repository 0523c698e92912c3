"""A member whose process is gone and that brokers still list, because no end of its connection reached them.

A closed connection removes a member at once (`ClientHousekeepingService`), a silent one 120 s after its last heartbeat
(`ClientManager`, spec broker-behaviour 5).  Until then the other members leave its queues to it.
"""

from collections.abc import Iterator

from sandbox.findings import marks
from sandbox.findings.figure_tables import of_heartbeats
from sandbox.findings.finding import ERROR, INFO, MEMBER, Checked, Finding, Subject, say
from sandbox.findings.reasons import ENDS
from sandbox.findings.rule import Rule
from sandbox.findings.view import ClusterView, GroupNow
from sandbox.kernel.sentences import Plural
from sandbox.queries.rows.groups import EXPIRE_MS

HOLD_MS = 4_000  # a stop and a crash take less to reach the brokers


def find(view: ClusterView) -> Iterator[Finding]:
    for group in view.groups.values():
        online = group.online()
        for key, heartbeat_ms in (group.heartbeats_ms or {}).items():
            if key not in online:
                yield _finding(view, group, key, heartbeat_ms)


def _finding(view: ClusterView, group: GroupNow, key: str, heartbeat_ms: int) -> Finding:
    queues = [queue for queue in group.queues() if queue.row["assigned"] == key]
    left_ms = max(0, heartbeat_ms + EXPIRE_MS - view.at_ms)
    says = [say("listed" if key in group.members else "listed_earlier", who=key, left_ms=left_ms)]
    waits = bool(queues and group.online())
    if waits:
        says.append(say("wait", queues=len(queues)))
    return Finding(
        CODE,
        ERROR if waits else INFO,
        Subject(MEMBER, key, group.name),
        tuple(says),
        marks=(marks.member(key), *(marks.queue(queue.topic, queue.name) for queue in queues)),
        reason=ENDS,
        touches=frozenset(
            {f"member {key}", f"group {group.name}", *(f"queue {queue.topic}/{queue.name}" for queue in queues)}
        ),
        figures=of_heartbeats(view, group, key, {"removed_ms": left_ms, "queues": len(queues)}),
    )


def checks(view: ClusterView) -> Checked:
    """Count the members with a process, and those that brokers list; a real cluster does not report heartbeats."""
    known = sum(len(group.listed()) for group in view.groups.values() if group.heartbeats_ms is not None)
    return Checked(known, sum(len(group.online()) for group in view.groups.values()))


CODE = "member_gone_not_expelled"
RULE = Rule(
    code=CODE,
    title="gone, but still listed",
    hold_ms=HOLD_MS,
    sentences={
        "listed": "The process of {who} is gone, but brokers still list it; they remove it in {left_ms}.",
        "listed_earlier": (
            "An earlier process of {who} is gone, but brokers still list it; they remove it in {left_ms}."
        ),
        "wait": Plural("queues", "Until then its {queues} queue waits.", "Until then its {queues} queues wait."),
    },
    find=find,
    healthy="Brokers list no member that is gone",
    checks=checks,
    because_of=("broker_down",),
    lab="crash-and-stop",
)
