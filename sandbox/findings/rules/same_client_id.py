"""Connections that share one client id: each takes the share of its id's first entry in the member list.

RocketMQ lists members by connection (`ConsumerGroupInfo.getAllClientId`), so the list names the id twice, and no member
takes the shares of its further entries.
"""

from collections.abc import Iterator

from sandbox.findings import marks
from sandbox.findings.figure_tables import of_members
from sandbox.findings.finding import ERROR, MEMBER, Checked, Finding, Remedy, Subject, say
from sandbox.findings.name_lists import listed
from sandbox.findings.reasons import ATTACHED, OUTSIDE
from sandbox.findings.rule import Rule
from sandbox.findings.view import ClusterView, GroupNow
from sandbox.kernel.sentences import Plural

HOLD_MS = 10_000  # a process that restarts with its id is listed twice until its old connection closes


def find(view: ClusterView) -> Iterator[Finding]:
    for group in view.groups.values():
        for client_id in group.shared_ids if group.clustering else ():
            yield _finding(view, group, client_id)


def _finding(view: ClusterView, group: GroupNow, client_id: str) -> Finding:
    keys = [key for key in group.members if key == client_id or key.startswith(f"{client_id} ")]
    connections = max((group.members[key]["same_id"] for key in keys), default=2)
    unread = [queue for queue in group.queues() if queue.row["owner"] is None and queue.row["assigned"] is None]
    shared = listed([queue.name for queue in group.queues() if queue.row["owner"] in keys])  # a row names one owner
    copy = group.members[keys[-1]]["actor"] if keys else None
    return Finding(
        CODE,
        ERROR,
        Subject(MEMBER, client_id, group.name),
        (
            say("shared", connections=connections, client_id=client_id),
            *([say("unread", queues=len(unread))] if unread else []),
        ),
        marks=(
            *(marks.member(key) for key in keys),
            *(marks.queue(queue.topic, queue.name) for queue in unread),
        ),
        touches=frozenset(
            {
                f"group {group.name}",
                *(f"member {key}" for key in (client_id, *keys)),
                *(f"queue {queue.topic}/{queue.name}" for queue in unread),
            }
        ),
        remedy=None
        if copy is None
        else Remedy("stop", "StopActor", {"actor": copy}, say("stops", who=keys[-1], unread=len(unread))),
        reason=ATTACHED if view.attached else OUTSIDE if copy is None else "",
        figures=of_members(
            keys,
            lambda key: {"connections": group.members[key]["same_id"], "names": shared},
            beside={"unread": len(unread)},
        ),
    )


def checks(view: ClusterView) -> Checked:
    """Count the members of clustering groups, and those that brokers list."""
    groups = [group for group in view.groups.values() if group.clustering]
    return Checked(sum(len(group.listed()) for group in groups), sum(len(group.online()) for group in groups))


CODE = "same_client_id"
RULE = Rule(
    code=CODE,
    title="members share a client id",
    hold_ms=HOLD_MS,
    sentences={
        "shared": "{connections} connections share the client id {client_id}: each is assigned the same queues.",
        "unread": Plural("queues", "{queues} queue has no reader.", "{queues} queues have no reader."),
        "stops": Plural(
            "unread",
            "{who} leaves the group. After the rebalance {unread} more queue has a reader.",
            "{who} leaves the group. After the rebalance {unread} more queues have a reader.",
        ),
        "stop": "Stop the copy…",
    },
    find=find,
    healthy="Every member has its own client id",
    checks=checks,
    lab="members-and-queues",
    incident="one-client-id-twice",
)
