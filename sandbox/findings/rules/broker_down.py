"""A broker whose master does not run: its queues accept no message, and are read from a slave or not at all."""

from collections.abc import Iterator

from sandbox.findings.figure_tables import of_readers
from sandbox.findings.finding import BROKER, ERROR, Checked, Finding, Remedy, Subject, say
from sandbox.findings.name_lists import listed
from sandbox.findings.reasons import ATTACHED
from sandbox.findings.rule import Rule
from sandbox.findings.view import ClusterView
from sandbox.kernel.sentences import Plural
from sandbox.queries.rows.snapshot import BrokerRow

HOLD_MS = 4_000
DOWN = ("stopped", "killed", "hung", "power_cut", "unreachable")


def find(view: ClusterView) -> Iterator[Finding]:
    for node, row in view.brokers.items():
        if row["role"] == "master" and row["state"] in DOWN:
            yield _finding(view, node, row)


def _finding(view: ClusterView, node: str, row: BrokerRow) -> Finding:
    queues = [
        (group, queue) for group, queue in view.group_queues() if queue.broker == row["broker"] and queue.row["down"]
    ]
    shared = {(queue.topic, queue.name) for _, queue in queues}
    unread = {
        group.name
        for group, queue in queues
        if queue.row["down"] is not None and queue.row["down"]["reads"] == "nobody"
    }
    ordered = {group.name for group, _ in queues if group.orderly and group.clustering}
    return Finding(
        CODE,
        ERROR,
        Subject(BROKER, node),
        (
            say("down", broker=row["broker"], state=row["state"]),
            say("stores", queues=len(shared), names=listed(sorted({name for _, name in shared}))),
            *([say("unread", groups=len(unread), readers=listed(sorted(unread)))] if unread else []),
            *([say("ordered", groups=len(ordered), readers=listed(sorted(ordered)))] if ordered else []),
        ),
        touches=frozenset(
            {
                f"broker {row['broker']}",
                *(f"group {group.name}" for group, _ in queues),
                *(f"queue {topic}/{name}" for topic, name in shared),
            }
        ),
        remedy=None
        if view.attached
        else Remedy(
            "resume" if row["state"] == "hung" else "start",
            "ResumeBroker" if row["state"] == "hung" else "StartBroker",
            {"broker": row["broker"]},
            say("runs", broker=row["broker"], queues=len(shared)),
        ),
        reason=ATTACHED if view.attached else "",
        figures=of_readers(
            queues,
            total={"queues": len(shared)},
            beside={"unread_groups": len(unread), "ordered_groups": len(ordered)},
        ),
    )


def checks(view: ClusterView) -> Checked:
    known = sum(row["state"] != "unknown" for row in view.brokers.values())
    return Checked(known, len(view.brokers))


CODE = "broker_down"
RULE = Rule(
    code=CODE,
    title="no master",
    hold_ms=HOLD_MS,
    of_moment=True,
    sentences={
        "down": "{broker} has no master ({state}).",
        "stores": Plural(
            "queues",
            "{queues} queue of the broker accepts no message ({names}).",
            "{queues} queues of the broker accept no message ({names}).",
        ),
        "unread": Plural(
            "groups",
            "{groups} group cannot read its messages ({readers}).",
            "{groups} groups cannot read its messages ({readers}).",
        ),
        "ordered": Plural(
            "groups",
            "{groups} ordered group cannot renew its locks ({readers}). Only a master grants them.",
            "{groups} ordered groups cannot renew their locks ({readers}). Only a master grants them.",
        ),
        "runs": Plural(
            "queues",
            "{broker} runs again as master: its {queues} queue accepts messages, and is read from it.",
            "{broker} runs again as master: its {queues} queues accept messages, and are read from it.",
        ),
        "start": "Start {broker}…",
        "resume": "Resume {broker}…",
    },
    find=find,
    healthy="Every broker has a master",
    checks=checks,
    lab="master-dies",
    incident="lost-with-the-master",
)
