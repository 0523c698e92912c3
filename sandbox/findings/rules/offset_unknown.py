"""Queues in which a group has no stored offset: all their messages count as lag (`queries.rows.lag`)."""

from collections.abc import Iterator

from sandbox.findings import marks
from sandbox.findings.figure_tables import ends, of_queues, stored
from sandbox.findings.finding import INFO, TOPIC, Checked, Finding, Subject, say
from sandbox.findings.reasons import COMMIT
from sandbox.findings.rule import Rule
from sandbox.findings.sampling import owner_key
from sandbox.findings.touches import of_group, of_queue
from sandbox.findings.view import ClusterView, GroupNow, QueueAt
from sandbox.kernel.sentences import Plural

HOLD_MS = 30_000
ROUTE_MS = 60_000  # a new queue comes with the route, 30 s, the rebalance after it, 20 s, and the first commit, 5 s


def find(view: ClusterView) -> Iterator[Finding]:
    for group in view.groups.values():
        if group.clustering:
            by_topic: dict[str, list[QueueAt]] = {}
            for queue in group.queues():
                if _has_no_offset(queue) and not _is_new(view, group, queue):
                    by_topic.setdefault(queue.topic, []).append(queue)
            for topic, queues in by_topic.items():
                yield _finding(group, topic, queues)


def _has_no_offset(queue: QueueAt) -> bool:
    """Return True if the queue had messages, and no offset of the group is stored."""
    return queue.row["from_zero"] and queue.row["down"] is None and int(queue.row["max"] or 0) > 0


def _is_new(view: ClusterView, group: GroupNow, queue: QueueAt) -> bool:
    """Return True if its first member may still come, or has come less than 30 s ago."""
    since_ms = view.history.unchanged_since_ms(owner_key(group.name, queue))
    return bool(group.online()) and (since_ms is None or view.at_ms - since_ms < ROUTE_MS - HOLD_MS)


def _finding(group: GroupNow, topic: str, queues: list[QueueAt]) -> Finding:
    waiting = sum(stored(queue.row) for queue in queues)
    return Finding(
        CODE,
        INFO,
        Subject(TOPIC, topic, group.name, topic),
        (
            say("unknown", queues=len(queues), topic=topic),
            say("waiting", waiting=waiting),
            say("begins") if group.online() else say("nobody_reads"),
        ),
        marks=tuple(marks.queue(queue.topic, queue.name) for queue in queues),
        reason=COMMIT,
        touches=of_group(group.name).union(*(of_queue(group.name, queue) for queue in queues)),
        figures=of_queues(
            queues, lambda queue: {**ends(queue), "waiting": stored(queue.row)}, total={"waiting": waiting}
        ),
    )


def checks(view: ClusterView) -> Checked:
    rows = [queue.row for _, queue in view.group_queues()]
    known = sum(
        row["down"] is None and (row["committed"] is not None or row["from_zero"] or row["max"] == "0") for row in rows
    )
    return Checked(known, len(rows))


CODE = "offset_unknown"
RULE = Rule(
    code=CODE,
    title="no stored offset",
    hold_ms=HOLD_MS,
    sentences={
        "unknown": Plural(
            "queues",
            "No offset is stored for {queues} queue of {topic}.",
            "No offset is stored for {queues} queues of {topic}.",
        ),
        "waiting": Plural(
            "waiting", "{waiting} stored message counts as lag.", "{waiting} stored messages count as lag."
        ),
        "begins": "ConsumeFromWhere sets where members begin; the first commit stores an offset.",
        "nobody_reads": "The group has no member online; ConsumeFromWhere sets where a new one begins.",
    },
    find=find,
    healthy="Every queue with messages has a committed offset",
    checks=checks,
    because_of=("queue_without_reader", "broker_down"),
    lab="start-offset",
)
