"""Queues of a broker without a master that members read from its slave."""

from collections.abc import Iterator

from sandbox.findings import marks
from sandbox.findings.figure_tables import of_readers
from sandbox.findings.finding import BROKER, INFO, Checked, Finding, Subject, say
from sandbox.findings.name_lists import listed
from sandbox.findings.reasons import MASTER
from sandbox.findings.rule import Rule
from sandbox.findings.touches import of_queue
from sandbox.findings.view import ClusterView, GroupNow, QueueAt
from sandbox.kernel.sentences import Plural

HOLD_MS = 6_000
BY_SLAVE = ("slave", "slave_idle")


def find(view: ClusterView) -> Iterator[Finding]:
    by_broker: dict[str, list[tuple[GroupNow, QueueAt]]] = {}
    for group, queue in view.group_queues():
        if queue.row["down"] is not None and queue.row["down"]["reads"] in BY_SLAVE:
            by_broker.setdefault(queue.broker, []).append((group, queue))
    for broker, queues in by_broker.items():
        yield Finding(
            CODE,
            INFO,
            Subject(BROKER, broker),
            (
                say(
                    "reads",
                    queues=len({(queue.topic, queue.name) for _, queue in queues}),
                    broker=broker,
                    readers=listed(sorted({group.name for group, _ in queues})),
                ),
                say("older"),
            ),
            marks=tuple(marks.queue(queue.topic, queue.name) for _, queue in queues),
            reason=MASTER,
            touches=frozenset[str]().union(*(of_queue(group.name, queue) for group, queue in queues)),
            figures=of_readers(queues),
        )


def checks(view: ClusterView) -> Checked:
    rows = [queue.row for _, queue in view.group_queues()]
    known = sum(row["down"] is None for row in rows)
    return Checked(known, len(rows))


CODE = "slave_serves"
RULE = Rule(
    code=CODE,
    title="read from the slave",
    hold_ms=HOLD_MS,
    sentences={
        "reads": Plural(
            "queues",
            "{queues} queue of {broker} is read from the slave by {readers}.",
            "{queues} queues of {broker} are read from the slave by {readers}.",
        ),
        "older": "The slave's offsets can be older than the master's: messages may be delivered again.",
    },
    find=find,
    healthy="Members read from masters",
    checks=checks,
    because_of=("broker_down",),
    lab="master-dies",
)
