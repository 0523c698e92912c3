"""Members that pause their pulls: a queue in their memory reached a limit (`ProcessQueue`, spec client-behaviour 6)."""

from collections.abc import Iterator

from sandbox.findings import marks
from sandbox.findings.finding import INFO, MEMBER, Checked, Finding, Subject, say
from sandbox.findings.rule import Rule
from sandbox.findings.touches import of_member, of_queue
from sandbox.findings.view import ClusterView, GroupNow, QueueAt
from sandbox.kernel.sentences import Plural

HOLD_MS = 6_000


def find(view: ClusterView) -> Iterator[Finding]:
    for group in view.groups.values():
        paused: dict[str, list[QueueAt]] = {}
        for queue in group.queues():
            if queue.row["flow_control"] is not None and queue.row["owner"] is not None:
                paused.setdefault(queue.row["owner"], []).append(queue)
        for owner, queues in paused.items():
            yield _finding(group, owner, queues)


def _finding(group: GroupNow, owner: str, queues: list[QueueAt]) -> Finding:
    return Finding(
        CODE,
        INFO,
        Subject(MEMBER, owner, group.name),
        (
            say("one" if len(queues) == 1 else "several", who=owner, queue=queues[0].name, queues=len(queues)),
            say(str(queues[0].row["flow_control"]), **_limit(group, owner, queues[0])),
        ),
        marks=(marks.member(owner), *(marks.queue(queue.topic, queue.name) for queue in queues)),
        touches=of_member(group.name, owner).union(*(of_queue(group.name, queue) for queue in queues)),
    )


def _limit(group: GroupNow, owner: str, queue: QueueAt) -> dict[str, object]:
    member = group.members.get(owner)
    limits = None if member is None else member["limits"]
    name = str(queue.row["flow_control"])
    allowed = None if limits is None else {"count": limits["count"], "size": limits["bytes"], "span": limits["span"]}
    return {"allowed": None if allowed is None else allowed.get(name)}


def checks(view: ClusterView) -> Checked:
    rows = [row for group in view.groups.values() for row in group.online().values()]
    return Checked(sum(row["limits"] is not None or row["kind"] == "pull" for row in rows), len(rows))


CODE = "flow_control"
RULE = Rule(
    code=CODE,
    title="pulls paused by a limit",
    hold_ms=HOLD_MS,
    sentences={
        "one": "{who} pauses its pulls of {queue}.",
        "several": Plural(
            "queues", "{who} pauses its pulls of {queues} queue.", "{who} pauses its pulls of {queues} queues."
        ),
        "count": "Its buffer holds more than {allowed} messages of a queue, the limit.",
        "size": "Its buffer holds more than {allowed} bytes of a queue, the limit.",
        "span": "Its oldest and newest offsets of a queue are more than {allowed} apart, the limit.",
    },
    find=find,
    healthy="No member pauses its pulls",
    checks=checks,
    because_of=("offset_pinned", "consumers_too_slow", "suspended"),
    lab="flow-control",
    incident="member-holds-back",
)
