"""An orderly queue whose listener refuses its oldest message again and again.

A listener that returns SUSPEND_CURRENT_QUEUE_A_MOMENT gets the same message after 1 s, without a limit unless one is
set (`ConsumeMessageOrderlyService`, spec client-behaviour 8.2).
"""

from collections.abc import Iterator

from sandbox.findings import marks
from sandbox.findings.figure_tables import of_one_queue
from sandbox.findings.finding import QUEUE, WARNING, Checked, Finding, Subject, say
from sandbox.findings.reasons import PROGRAM
from sandbox.findings.rule import Rule
from sandbox.findings.view import ClusterView, FailingMessage, GroupNow, QueueAt
from sandbox.kernel.sentences import Plural

HOLD_MS = 10_000  # less than `offset_pinned`, which it explains
LEAST_ATTEMPTS = 3


def find(view: ClusterView) -> Iterator[Finding]:
    for group, queue in view.group_queues():
        failing = (group.failing or {}).get((queue.topic, queue.name.partition("@")[0]))
        if failing is not None and failing.attempts >= LEAST_ATTEMPTS and queue.row["owner"] is not None:
            yield _finding(view, group, queue, failing)


def _finding(view: ClusterView, group: GroupNow, queue: QueueAt, failing: FailingMessage) -> Finding:
    owner, last = queue.row["owner"], queue.row["max"]
    behind = 0 if last is None else int(last) - failing.offset - 1
    failed = say(
        "failed" if failing.key else "failed_without_key",
        queue=queue.name,
        key=failing.key,
        offset=failing.offset,
        attempts=failing.attempts,
        who=owner,
        failing_ms=view.at_ms - failing.since_ms,
    )
    limit = say("no_limit") if failing.most_attempts is None else say("limit", most=failing.most_attempts)
    return Finding(
        CODE,
        WARNING,
        Subject(QUEUE, queue.name, group.name, queue.topic),
        (failed, limit, *([say("behind", behind=behind)] if behind > 0 else [])),
        since_ms=failing.since_ms,
        marks=(marks.queue(queue.topic, queue.name), marks.member(owner or "")),
        reason=PROGRAM,
        touches=frozenset({f"queue {queue.topic}/{queue.name}", f"member {owner}", f"group {group.name}"}),
        event=queue.row["cause"],
        figures=of_one_queue(
            queue,
            {
                "key": failing.key,
                "offset": str(failing.offset),
                "attempts": (failing.attempts, failing.most_attempts),
                "unfinished_ms": view.at_ms - failing.since_ms,
                "behind": behind,
            },
        ),
    )


def checks(view: ClusterView) -> Checked:
    """Count the owned queues of orderly groups; a real cluster's members do not report attempts."""
    queues = [
        (group, queue) for group, queue in view.group_queues() if group.orderly and queue.row["owner"] is not None
    ]
    return Checked(sum(_reports(group, queue) for group, queue in queues), len(queues))


def _reports(group: GroupNow, queue: QueueAt) -> bool:
    """Return True if the owner is in this process: other members do not report attempts."""
    owner = group.members.get(queue.row["owner"] or "")
    return group.failing is not None and owner is not None and owner["actor"] is not None


CODE = "suspended"
RULE = Rule(
    code=CODE,
    title="listener suspends the queue",
    hold_ms=HOLD_MS,
    sentences={
        "failed": "{queue} is suspended: {key} failed {attempts} times in {who} within {failing_ms}.",
        "failed_without_key": (
            "{queue} is suspended: the message at {offset} failed {attempts} times in {who} within {failing_ms}."
        ),
        "no_limit": "The member retries it without a limit.",
        "limit": "After {most} failures it becomes a dead letter.",
        "behind": Plural("behind", "{behind} message behind it waits.", "{behind} messages behind it wait."),
    },
    find=find,
    healthy="No orderly queue is suspended",
    checks=checks,
    because_of=("broker_down",),
    lab="poison-in-order",
)
