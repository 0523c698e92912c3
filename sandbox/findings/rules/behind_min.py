"""A committed offset below the first message: retention deleted messages that no member of the group had pulled."""

from collections.abc import Iterator

from sandbox.findings import marks
from sandbox.findings.figure_tables import ends, of_one_queue
from sandbox.findings.finding import ERROR, QUEUE, Checked, Finding, Subject, say
from sandbox.findings.reasons import DELETED
from sandbox.findings.rule import Rule
from sandbox.findings.touches import of_queue
from sandbox.findings.view import ClusterView
from sandbox.kernel.sentences import Plural
from sandbox.queries.rows.lag import deleted_unread

HOLD_MS = 4_000


def find(view: ClusterView) -> Iterator[Finding]:
    for group, queue in view.group_queues():
        row = queue.row
        if row["committed"] is None or row["min"] is None or row["down"] is not None:
            continue
        lost = deleted_unread(row)
        if lost:
            yield Finding(
                CODE,
                ERROR,
                Subject(QUEUE, queue.name, group.name, queue.topic),
                (
                    say("below", committed=row["committed"], queue=queue.name, min=row["min"]),
                    say("lost", lost=lost),
                ),
                marks=(marks.queue(queue.topic, queue.name),),
                reason=DELETED,
                touches=of_queue(group.name, queue),
                event=row["cause"],
                figures=of_one_queue(queue, {**ends(queue), "lost": lost}),
            )


def checks(view: ClusterView) -> Checked:
    rows = [queue.row for _, queue in view.group_queues()]
    return Checked(sum(row["min"] is not None and row["down"] is None for row in rows), len(rows))


CODE = "behind_min"
RULE = Rule(
    code=CODE,
    title="messages deleted unread",
    hold_ms=HOLD_MS,
    of_moment=True,
    sentences={
        "below": "The committed offset {committed} of {queue} is below its first message, {min}.",
        "lost": Plural("lost", "{lost} message was deleted unread.", "{lost} messages were deleted unread."),
    },
    find=find,
    healthy="No committed offset is below the first message",
    checks=checks,
    because_of=("consumers_too_slow", "offset_pinned"),
    lab="retention",
    incident="retention-overtakes-a-slow-group",
)
