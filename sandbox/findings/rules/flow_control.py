"""Members that pause their pulls: a queue in their memory reached a limit (`ProcessQueue`, spec client-behaviour 6).

The span of a queue counts only while a message behind the unfinished one is at work, so pauses come and go.
"""

from collections.abc import Iterator

from sandbox.findings import marks
from sandbox.findings.figure_tables import of_queues
from sandbox.findings.figures import Figures, Values
from sandbox.findings.finding import INFO, MEMBER, Checked, Finding, Subject, say
from sandbox.findings.reasons import BELOW_LIMIT
from sandbox.findings.rule import Rule
from sandbox.findings.sampling import held_of, pause_key
from sandbox.findings.touches import of_member, of_queue
from sandbox.findings.view import ClusterView, GroupNow, QueueAt
from sandbox.kernel.sentences import Plural

HOLD_MS = 6_000
AGAIN_MS = 4_000  # a pause ends if no other one follows within this time


def find(view: ClusterView) -> Iterator[Finding]:
    for group in view.groups.values():
        paused: dict[str, list[QueueAt]] = {}
        limits: dict[str, str] = {}
        for queue in group.queues():
            limit, owner = limit_of(view, group, queue), queue.row["owner"]
            if limit is not None and owner is not None:
                limits.setdefault(owner, limit)
                paused.setdefault(owner, []).append(queue)
        for owner, queues in paused.items():
            yield _finding(group, owner, queues, limits[owner])


def limit_of(view: ClusterView, group: GroupNow, queue: QueueAt) -> str | None:
    """Return the limit that a queue has reached, or had reached at most `AGAIN_MS` ago."""
    pause = view.history.value(pause_key(group.name, queue))
    return pause[1] if isinstance(pause, tuple) and view.at_ms - pause[0] <= AGAIN_MS else None


def _finding(group: GroupNow, owner: str, queues: list[QueueAt], limit: str) -> Finding:
    return Finding(
        CODE,
        INFO,
        Subject(MEMBER, owner, group.name),
        (
            say("one" if len(queues) == 1 else "several", who=owner, queue=queues[0].name, queues=len(queues)),
            say(limit, allowed=_allowed(group, owner, limit)),
        ),
        marks=(marks.member(owner), *(marks.queue(queue.topic, queue.name) for queue in queues)),
        reason=BELOW_LIMIT,
        touches=of_member(group.name, owner).union(*(of_queue(group.name, queue) for queue in queues)),
        figures=_figures(group, owner, queues),
    )


def _figures(group: GroupNow, owner: str, paused: list[QueueAt]) -> Figures | None:
    member = group.members.get(owner)
    if member is None or member["limits"] is None:
        return None
    limits = member["limits"]

    def values(queue: QueueAt) -> Values:
        count, span = held_of(queue)
        return {"buffered": (count, limits["count"]), "offset_span": (span, limits["span"])}

    own = [queue for queue in group.queues() if queue.row["owner"] == owner]
    return of_queues(
        own,
        values,
        about=paused,
        beside={"fullest_bytes": (member["fullest_bytes"], limits["bytes"]), "queues": len(paused)},
    )


def _allowed(group: GroupNow, owner: str, limit: str) -> int | None:
    member = group.members.get(owner)
    limits = None if member is None else member["limits"]
    return (
        None if limits is None else {"count": limits["count"], "size": limits["bytes"], "span": limits["span"]}[limit]
    )


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
    because_of=("member_hung", "offset_pinned", "consumers_too_slow", "suspended"),
    lab="flow-control",
    incident="member-holds-back",
)
