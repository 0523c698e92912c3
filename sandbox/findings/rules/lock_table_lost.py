"""Queues of an ordered group without a lock: their broker restarted, and locks are in its memory only.

A member that gets a queue again within 20 s of losing it may release its new lock (`RebalancePushImpl.unlockDelay`):
then one queue has no lock, and its broker has not restarted.
"""

from collections.abc import Iterator

from sandbox.findings import marks
from sandbox.findings.figure_tables import of_queues
from sandbox.findings.finding import BROKER, WARNING, Checked, Finding, Subject, say
from sandbox.findings.reasons import ENDS
from sandbox.findings.rule import Rule
from sandbox.findings.touches import of_queue
from sandbox.findings.view import ClusterView, GroupNow, QueueAt
from sandbox.kernel.sentences import Plural
from sandbox.queries.rows.board import QueueRow

HOLD_MS = 2_000
RESTARTED_MS = 40_000  # members connect again within a heartbeat, 30 s, and lock every 20 s


def find(view: ClusterView) -> Iterator[Finding]:
    if view.attached:  # a real broker does not show its locks
        return
    by_broker: dict[tuple[str, str], list[QueueAt]] = {}
    for group, queue in view.group_queues():
        if _is_lost(view, group, queue):
            by_broker.setdefault((queue.broker, group.name), []).append(queue)
    for (broker, name), queues in by_broker.items():
        yield Finding(
            CODE,
            WARNING,
            Subject(BROKER, broker, name),
            (say("lost", queues=len(queues), group=name, broker=broker), say("again")),
            marks=tuple(marks.queue(queue.topic, queue.name) for queue in queues),
            reason=ENDS,
            touches=frozenset[str]().union(*(of_queue(name, queue) for queue in queues)),
            figures=of_queues(
                [queue for queue in view.groups[name].queues() if queue.broker == broker],
                lambda queue: {"holder": "" if queue.row["lock"] is None else queue.row["lock"]["holder"]},
                about=queues,
            ),
        )


def _is_lost(view: ClusterView, group: GroupNow, queue: QueueAt) -> bool:
    row, owner = queue.row, queue.row["owner"]
    since_ms = (view.masters_since_ms or {}).get(queue.broker)
    return (
        since_ms is not None
        and view.at_ms - since_ms <= RESTARTED_MS
        and group.orderly
        and group.clustering
        and row["down"] is None
        and row["lock"] is None
        and owner is not None
        and owner in group.members
        and group.members[owner]["state"] == "running"
    )


def checks(view: ClusterView) -> Checked:
    """Count the queues of orderly groups with members, and those whose owner has a lock that is not expired."""
    rows = [queue.row for group, queue in view.group_queues() if group.orderly and group.clustering and group.online()]
    return Checked(0 if view.attached else sum(_is_locked(view, row) for row in rows), len(rows))


def _is_locked(view: ClusterView, row: QueueRow) -> bool:
    lock = row["lock"]
    return (
        row["down"] is None
        and lock is not None
        and lock["expires_at_ms"] > view.at_ms
        and lock["holder"] == row["owner"]
    )


CODE = "lock_table_lost"
RULE = Rule(
    code=CODE,
    title="locks lost",
    hold_ms=HOLD_MS,
    sentences={
        "lost": Plural(
            "queues",
            "{broker} restarted without its lock table: {queues} queue of {group} has an owner and no lock.",
            "{broker} restarted without its lock table: {queues} queues of {group} have an owner and no lock.",
        ),
        "again": "Members lock their queues again within 20 s; until then another member can lock them.",
    },
    find=find,
    healthy="Ordered queues are locked by their owners",
    checks=checks,
    because_of=("broker_down",),
    lab="orderly-lock",
)
