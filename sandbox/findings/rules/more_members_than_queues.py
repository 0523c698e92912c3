"""Members without a queue: a queue has one reader, so members beyond the number of queues are idle."""

from collections.abc import Iterator

from sandbox.findings import marks
from sandbox.findings.finding import GROUP, INFO, Checked, Finding, Remedy, Subject, say
from sandbox.findings.rule import Rule
from sandbox.findings.view import ClusterView, GroupNow
from sandbox.kernel.sentences import Plural

HOLD_MS = 22_000  # a rebalance takes up to 20 s


def find(view: ClusterView) -> Iterator[Finding]:
    for group in view.groups.values():
        idle = idle_members(group)
        queues = sum(1 for _ in group.queues())
        if idle and queues and len(group.online()) > queues:
            yield _finding(group, idle, queues)


def idle_members(group: GroupNow) -> list[str]:
    """Return the running members of a clustering group that neither have a queue nor are assigned one."""
    if not group.clustering or group.shared_ids:
        return []
    owners = {queue.row["owner"] for queue in group.queues()} | {queue.row["assigned"] for queue in group.queues()}
    return [key for key, row in group.online().items() if row["state"] == "running" and key not in owners]


def _finding(group: GroupNow, idle: list[str], queues: int) -> Finding:
    newest = idle[-1]
    actor = group.members[newest]["actor"]
    return Finding(
        CODE,
        INFO,
        Subject(GROUP, group.name, group.name),
        (
            say("idle", who=idle[0], members=len(idle)) if len(idle) == 1 else say("all_idle", members=len(idle)),
            say("counts", queues=queues, members=len(group.online())),
        ),
        marks=tuple(marks.member(key) for key in idle),
        touches=frozenset({f"group {group.name}", *(f"member {key}" for key in idle)}),
        remedy=None if actor is None else Remedy("stop", "StopActor", {"actor": actor}),
    )


def checks(view: ClusterView) -> Checked:
    members = sum(len(group.online()) for group in view.groups.values() if group.clustering)
    return Checked(members, members)


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
        "stop": "Stop {who}…",
    },
    find=find,
    healthy="Every member has a queue",
    checks=checks,
    lab="members-and-queues",
    incident="more-members-than-queues",
)
