"""A topic that refuses reads or writes by its permission.

Brokers refuse the request with NO_PERMISSION, and name servers leave the topic out of routes for it
(`PermName`, spec broker-behaviour 2 and 3.1).
"""

from collections.abc import Iterator

from sandbox.findings.finding import TOPIC, WARNING, Checked, Finding, Remedy, Subject, say
from sandbox.findings.reasons import ATTACHED
from sandbox.findings.rule import Rule
from sandbox.findings.view import ClusterView
from sandbox.kernel.sentences import Plural
from sandbox.queries.rows.snapshot import TopicRow

HOLD_MS = 2_000
READ, WRITE = 4, 2


def find(view: ClusterView) -> Iterator[Finding]:
    for row in view.topics.values():
        if row["kind"] == "normal" and row["permission"] & (READ | WRITE) != READ | WRITE:
            yield _finding(view, row)


def _finding(view: ClusterView, row: TopicRow) -> Finding:
    topic, permission = row["topic"], row["permission"]
    groups = [group.name for group in view.groups.values() if group.online() and topic in group.topics]
    producers = sum(1 for each in view.producers if each["topic"] == topic and each["state"] == "running")
    says = []
    if not permission & READ:
        says += [say("reads", topic=topic, permission=permission)]
        says += [say("groups", groups=len(groups))] if groups else []
    if not permission & WRITE:
        says += [say("writes", topic=topic, permission=permission)]
        says += [say("producers", producers=producers)] if producers else []
    does = say("changes", topic=topic, permission=permission, changed=permission | READ | WRITE)
    remedy = Remedy("permit", "ChangeTopic", {"topic": topic, "permission": permission | READ | WRITE}, does)
    return Finding(
        CODE,
        WARNING,
        Subject(TOPIC, topic, "", topic),
        tuple(says),
        touches=frozenset({f"topic {topic}", *(f"group {group}" for group in groups)}),
        remedy=None if view.attached else remedy,
        reason=ATTACHED if view.attached else "",
    )


def checks(view: ClusterView) -> Checked:
    """Count the topics, and those whose masters all run."""
    topics = [row for row in view.topics.values() if row["kind"] == "normal"]
    return Checked(sum(all(queue["known_at_ms"] is None for queue in row["queues"]) for row in topics), len(topics))


CODE = "permission"
RULE = Rule(
    code=CODE,
    title="requests refused",
    hold_ms=HOLD_MS,
    of_moment=True,
    sentences={
        "reads": "{topic} refuses reads (permission {permission}).",
        "writes": "{topic} refuses writes (permission {permission}).",
        "groups": Plural("groups", "{groups} group reads it.", "{groups} groups read it."),
        "producers": Plural("producers", "{producers} producer sends to it.", "{producers} producers send to it."),
        "changes": "The permission of {topic} changes from {permission} to {changed}. Clients see it within 30 s.",
        "permit": "Permit reads and writes…",
    },
    find=find,
    healthy="Every topic permits reads and writes",
    checks=checks,
    lab="write-and-read-counts",
)
