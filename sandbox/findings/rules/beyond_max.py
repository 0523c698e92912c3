"""A committed offset beyond the end of its queue: the log lost messages, or an offset was set by hand."""

from collections.abc import Iterator

from sandbox.findings import marks
from sandbox.findings.figure_tables import ends, of_one_queue
from sandbox.findings.finding import ERROR, QUEUE, Checked, Finding, Subject, say
from sandbox.findings.reasons import RESET
from sandbox.findings.rule import Rule
from sandbox.findings.touches import of_queue
from sandbox.findings.view import ClusterView
from sandbox.kernel.sentences import Plural

HOLD_MS = 4_000


def find(view: ClusterView) -> Iterator[Finding]:
    for group, queue in view.group_queues():
        row = queue.row
        if row["committed"] is None or row["max"] is None or row["down"] is not None:
            continue
        beyond = int(row["committed"]) - int(row["max"])
        if beyond > 0:
            yield Finding(
                CODE,
                ERROR,
                Subject(QUEUE, queue.name, group.name, queue.topic),
                (
                    say("beyond", committed=row["committed"], queue=queue.name, max=row["max"]),
                    say("skipped", beyond=beyond),
                ),
                marks=(marks.queue(queue.topic, queue.name),),
                reason=RESET,
                touches=of_queue(group.name, queue),
                event=row["cause"],
                figures=of_one_queue(queue, {**ends(queue), "beyond": beyond}),
            )


def checks(view: ClusterView) -> Checked:
    rows = [queue.row for _, queue in view.group_queues()]
    return Checked(sum(row["max"] is not None and row["down"] is None for row in rows), len(rows))


CODE = "beyond_max"
RULE = Rule(
    code=CODE,
    title="offset beyond the end",
    hold_ms=HOLD_MS,
    of_moment=True,
    sentences={
        "beyond": "The committed offset {committed} of {queue} is beyond its end, {max}.",
        "skipped": Plural(
            "beyond",
            "Members would skip the next {beyond} message of the queue.",
            "Members would skip the next {beyond} messages of the queue.",
        ),
    },
    find=find,
    healthy="No committed offset is beyond the end",
    checks=checks,
    lab="reset-by-time",
    incident="lost-with-the-master",
)
