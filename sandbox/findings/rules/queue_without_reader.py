"""Queues that no member of a group reads, although its members run.

Members read what their strategy assigns to them, of the queues below the topic's read count and with its read
permission (`RebalanceImpl.rebalanceByTopic`, `TopicPublishInfo`, spec client-behaviour 5.1).
"""

from collections.abc import Iterator

from sandbox.findings import marks
from sandbox.findings.figure_tables import of_members, stored
from sandbox.findings.figures import FigureRow, Figures, figures
from sandbox.findings.finding import ERROR, TOPIC, Checked, Finding, Remedy, Subject, say
from sandbox.findings.name_lists import listed
from sandbox.findings.reasons import ATTACHED, READER, STRATEGY
from sandbox.findings.rule import Rule
from sandbox.findings.sampling import owner_key
from sandbox.findings.view import ClusterView, GroupNow, QueueAt
from sandbox.kernel.sentences import Plural
from sandbox.queries.rows.lag import row_lag
from sandbox.queries.rows.snapshot import TopicRow

HOLD_MS = 25_000  # a rebalance takes up to 20 s
ROUTE_MS = 60_000  # a new queue comes with the route, 30 s, and the rebalance after it, 20 s
READ = 4


def find(view: ClusterView) -> Iterator[Finding]:
    for topic in view.topics.values():
        if topic["kind"] == "normal" and topic["write_queues"] > topic["read_queues"] and topic["permission"] & READ:
            yield from _beyond_read_count(view, topic)
    for group in view.groups.values():
        if group.clustering and any(row["state"] == "running" for row in group.online().values()):
            for name in group.topics:
                if group.readers(name):
                    yield from _unreadable(view, group, name)
                    yield from _unread(view, group, name)


def _beyond_read_count(view: ClusterView, topic: TopicRow) -> Iterator[Finding]:
    name, read, write = topic["topic"], topic["read_queues"], topic["write_queues"]
    hidden = [row for row in topic["queues"] if row["queue_id"] >= read]
    messages = sum(map(stored, hidden))
    groups = [group.name for group in view.groups.values() if name in group.topics]
    if messages > 0 and groups:
        yield Finding(
            CODE,
            ERROR,
            Subject(TOPIC, name, "", name),
            (
                say("counts", topic=name, write=write, read=read),
                say("hidden", messages=messages),
                say("unreadable_queues", queues=len(hidden)),
            ),
            touches=frozenset({f"topic {name}", *(f"group {group}" for group in groups)}),
            remedy=None
            if view.attached
            else Remedy(
                "grow",
                "ChangeTopic",
                {"topic": name, "read_queues": write},
                say("grows", topic=name, read=read, write=write, messages=messages),
            ),
            reason=ATTACHED if view.attached else "",
            figures=figures(
                [FigureRow({"queue": f"{row['broker']}:{row['queue_id']}", "waiting": stored(row)}) for row in hidden],
                total={"waiting": messages},
                beside={"write": write, "read": read},
            ),
        )


def _unreadable(view: ClusterView, group: GroupNow, topic: str) -> Iterator[Finding]:
    row = view.topics.get(topic)
    if row is not None and not row["permission"] & READ:
        permission = row["permission"]
        does = say("changes", topic=topic, permission=permission, changed=permission | READ)
        remedy = Remedy("permit", "ChangeTopic", {"topic": topic, "permission": permission | READ}, does)
        yield Finding(
            CODE,
            ERROR,
            Subject(TOPIC, topic, group.name, topic),
            (say("permission", group=group.name, topic=topic),),
            touches=frozenset({f"topic {topic}", f"group {group.name}"}),
            remedy=None if view.attached else remedy,
            reason=ATTACHED if view.attached else "",
        )


def _unread(view: ClusterView, group: GroupNow, topic: str) -> Iterator[Finding]:
    rows = [QueueAt(topic, name, row) for name, row in group.topics[topic].items()]
    unowned = [queue for queue in rows if queue.row["owner"] is None and queue.row["down"] is None]
    unassigned = [queue for queue in unowned if queue.row["assigned"] is None]
    idle = [queue for queue in unowned if queue not in unassigned and _is_idle(view, group, queue)]
    says = []
    for sentence, queues in (("unassigned", unassigned), ("unread", idle)):
        if queues:
            names = listed([queue.name for queue in queues])
            says.append(say(sentence, topic=topic, group=group.name, count=len(queues), queues=len(rows), names=names))
    waiting = sum(max(0, row_lag(queue.row) or 0) for queue in (*unassigned, *idle))
    if says:
        yield Finding(
            CODE,
            ERROR,
            Subject(TOPIC, topic, group.name, topic),
            (*says, *([say("waiting", waiting=waiting)] if waiting else [])),
            marks=tuple(marks.queue(topic, queue.name) for queue in (*unassigned, *idle)),
            touches=frozenset(
                {
                    f"group {group.name}",
                    *(f"queue {topic}/{queue.name}" for queue in (*unassigned, *idle)),
                    *(f"member {queue.row['assigned']}" for queue in idle),
                }
            ),
            reason=STRATEGY if unassigned else READER,
            figures=_figures(group, rows, [*unassigned, *idle], waiting),
        )


def _figures(group: GroupNow, queues: list[QueueAt], unread: list[QueueAt], waiting: int) -> Figures | None:
    """Return the queues of each member, and of no member, with those without a reader."""
    keys = [*group.online(), *({queue.row["assigned"] or "" for queue in unread} - group.online().keys())]
    own = {key: [queue for queue in queues if (queue.row["assigned"] or "") == key] for key in keys}
    lost = {key: [queue for queue in own[key] if queue in unread] for key in keys}
    return of_members(
        keys,
        lambda key: {
            "queues": len(own[key]),
            "unread": len(lost[key]),
            "names": listed([queue.name for queue in lost[key]]),
            "waiting": sum(max(0, row_lag(queue.row) or 0) for queue in lost[key]),
        },
        about=[key for key in keys if lost[key]],
        total={"queues": len(queues), "unread": len(unread), "waiting": waiting},
    )


def _is_idle(view: ClusterView, group: GroupNow, queue: QueueAt) -> bool:
    """Return True if the queue will have had no owner for `ROUTE_MS` once the finding opens."""
    assigned = group.members.get(queue.row["assigned"] or "")
    if view.attached and (assigned is None or assigned["queues"] is None):
        return False  # a member that does not report its queues may read it
    since_ms = view.history.unchanged_since_ms(owner_key(group.name, queue))
    return since_ms is not None and view.at_ms - since_ms >= ROUTE_MS - HOLD_MS


def checks(view: ClusterView) -> Checked:
    """Count the queues of clustering groups with members; of a master that is down, the owner is not known."""
    queues = [(group, queue) for group, queue in view.group_queues() if group.clustering and group.online()]
    return Checked(sum(_is_known(view, group, queue) for group, queue in queues), len(queues))


def _is_known(view: ClusterView, group: GroupNow, queue: QueueAt) -> bool:
    """Return False for a master that is down, and for a member of a real cluster that does not report its queues."""
    row, assigned = queue.row, group.members.get(queue.row["assigned"] or "")
    reports = not view.attached or row["owner"] is not None or (assigned is not None and assigned["queues"] is not None)
    return row["down"] is None and reports


CODE = "queue_without_reader"
RULE = Rule(
    code=CODE,
    title="queues without a reader",
    hold_ms=HOLD_MS,
    sentences={
        "unassigned": Plural(
            "count",
            "{count} of {queues} queues of {topic} is assigned to no member of {group} ({names}).",
            "{count} of {queues} queues of {topic} are assigned to no member of {group} ({names}).",
        ),
        "unread": Plural(
            "count",
            "{count} of {queues} queues of {topic} is assigned to a member that does not read it ({names}).",
            "{count} of {queues} queues of {topic} are assigned to members that do not read them ({names}).",
        ),
        "waiting": Plural("waiting", "{waiting} message waits in them.", "{waiting} messages wait in them."),
        "counts": "{topic} has {write} write queues and {read} read queues.",
        "hidden": Plural(
            "messages",
            "{messages} message is stored beyond the read queues.",
            "{messages} messages are stored beyond the read queues.",
        ),
        "unreadable_queues": Plural(
            "queues", "No member may read {queues} other queue.", "No member may read {queues} other queues."
        ),
        "permission": "{group} cannot read {topic}: its read permission is off.",
        "grows": Plural(
            "messages",
            "{topic} gets {write} read queues instead of {read}. After a rebalance members get {messages} message.",
            "{topic} gets {write} read queues instead of {read}. After a rebalance members get {messages} messages.",
        ),
        "changes": "The permission of {topic} changes from {permission} to {changed}. Clients see it within 30 s.",
        "grow": "Raise the read count…",
        "permit": "Permit reading…",
    },
    find=find,
    healthy="Every readable queue has a reader",
    checks=checks,
    because_of=(
        "same_client_id",
        "member_gone_not_expelled",
        "lock_held_by_gone_member",
        "member_hung",
        "subscriptions_differ",
        "permission",
        "broker_down",
        "rebalance_storm",
        "uneven_assignment",
    ),
    lab="write-and-read-counts",
)
