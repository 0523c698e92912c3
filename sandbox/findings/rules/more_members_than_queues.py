"""Members without a queue: a queue has one reader, so members beyond the number of queues are idle."""

from collections.abc import Iterator

from sandbox.findings import marks
from sandbox.findings.figure_tables import of_shares
from sandbox.findings.finding import GROUP, INFO, Checked, Finding, Remedy, Subject, say
from sandbox.findings.reasons import ATTACHED, OUTSIDE
from sandbox.findings.rule import Rule
from sandbox.findings.view import ClusterView, GroupNow
from sandbox.kernel.sentences import Plural

HOLD_MS = 22_000  # a rebalance takes up to 20 s


def find(view: ClusterView) -> Iterator[Finding]:
    for group in view.groups.values():
        idle = idle_members(group)
        queues = sum(1 for _ in group.queues())
        if idle and queues and len(group.listed()) > queues:
            yield _finding(view, group, idle, queues)


def idle_members(group: GroupNow) -> list[str]:
    """Return the running members of a clustering group that neither have a queue nor are assigned one."""
    if not group.clustering or group.shared_ids:
        return []
    busy = busy_members(group)
    return [key for key, row in group.online().items() if row["state"] == "running" and key not in busy]


def busy_members(group: GroupNow) -> list[str]:
    """Return the members that have a queue or are assigned one."""
    owners = {queue.row["owner"] for queue in group.queues()} | {queue.row["assigned"] for queue in group.queues()}
    return [key for key in group.online() if key in owners]


def _finding(view: ClusterView, group: GroupNow, idle: list[str], queues: int) -> Finding:
    newest = idle[-1]
    actor = group.members[newest]["actor"]
    return Finding(
        CODE,
        INFO,
        Subject(GROUP, group.name, group.name),
        (
            say("idle", who=idle[0], members=len(idle)) if len(idle) == 1 else say("all_idle", members=len(idle)),
            say("counts", queues=queues, members=len(group.listed())),
        ),
        marks=tuple(marks.member(key) for key in idle),
        touches=frozenset({f"group {group.name}", *(f"member {key}" for key in idle)}),
        remedy=None if actor is None else Remedy("stop", "StopActor", {"actor": actor}, say("stops", who=newest)),
        reason=ATTACHED if view.attached else OUTSIDE if actor is None else "",
        figures=of_shares(
            group, group.queues(), about=idle, beside={"members": len(group.listed()), "idle": len(idle)}
        ),
    )


def checks(view: ClusterView) -> Checked:
    """Count the members of clustering groups, and those that have a queue or are assigned one."""
    groups = [group for group in view.groups.values() if group.clustering]
    known = sum(len(busy_members(group)) for group in groups)
    return Checked(known, sum(len(group.online()) for group in groups))


CODE = "more_members_than_queues"
RULE = Rule(
    code=CODE,
    title="more members than queues",
    hold_ms=HOLD_MS,
    sentences={
        "idle": "{who} has no queue.",
        "all_idle": "{members} members have no queue.",
        "counts": Plural(
            "queues",
            "There is {queues} queue for {members} members.",
            "There are {queues} queues for {members} members.",
        ),
        "stops": "{who} leaves the group. It has no queue, so no queue moves.",
        "stop": "Stop {who}…",
    },
    find=find,
    healthy="Every member has a queue",
    checks=checks,
    lab="members-and-queues",
    incident="more-members-than-queues",
)
