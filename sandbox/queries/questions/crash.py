"""The preview of the messages that a crash would cause to be redelivered."""

from typing import Any

from sandbox.cluster.actors.consumer_actor import ConsumerActor
from sandbox.cluster.cluster import Cluster
from sandbox.control.questions import PlanCrash
from sandbox.queries.questions.answers import answers
from sandbox.queries.rows.groups import GroupView
from sandbox.queries.snapshot.redelivery import notes_of, redelivered_of

Row = dict[str, Any]


@answers(PlanCrash)
def plan(cluster: Cluster, question: PlanCrash) -> Row:
    """Return the messages that a crash of this actor's process would cause to be redelivered.

    {"actor", "again", "queues": [{"group", "topic", "queue", "done", "begun"}], "notes": as `redelivery.notes_of`}.
    `again` is a maximum, as a commit may be in progress; `queues`: the queues with such messages.  A queue that
    another member with the same client id holds has no new owner, so none of its messages is redelivered.
    """
    actor = cluster.actors.get(question.actor)
    members = [member for member in cluster.actors.consumers() if member.lives and member.instance is actor.instance]
    rows = [row for member in members for row in _rows(cluster, member)]
    notes = [
        note
        for member in members
        for note in notes_of(GroupView(cluster, member.group), [(member, mq) for mq, _ in member.owned_queues()])
    ]
    return {
        "actor": actor.label,
        "again": sum(row["done"] + row["begun"] for row in rows),
        "queues": rows,
        "notes": sorted(set(notes)),
    }


def _rows(cluster: Cluster, member: ConsumerActor) -> list[Row]:
    view, now_ms = GroupView(cluster, member.group), cluster.clock.now_ms()
    cached = [
        (mq, *redelivered_of(view, member, mq, now_ms))
        for mq, _ in member.owned_queues()
        if not view.is_read_beside(member, mq)
    ]
    return [
        {"group": member.group, "topic": mq.topic, "queue": mq.row, "done": done, "begun": begun}
        for mq, done, begun in sorted(cached)
        if done + begun
    ]
