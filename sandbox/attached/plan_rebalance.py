"""Rebalance plans for a real cluster, with strategies that need only members and queues."""

from sandbox.attached.picture import Picture
from sandbox.attached.snapshot.group_reports import COLOURS, GroupSeen
from sandbox.cluster.actors.strategies import make_strategy
from sandbox.control.questions import PlanRebalance
from sandbox.kernel.errors import ActionRefused
from sandbox.queries.questions import rebalance as shared

MADE_UP = "new member {number}"


def plan(picture: Picture, question: PlanRebalance) -> dict[str, object]:
    """Return the plan of a rebalance, in the shape of `queries.questions.rebalance.plan`.

    Raises ActionRefused: 404 for an unknown topic, 422 for a strategy that needs rooms or lists.
    """
    view = GroupSeen(picture, question.group)
    now = [mq for mq in picture.read_queues(question.topic) if picture.is_routed(mq.broker)]
    if not now:
        raise ActionRefused(
            404, "Topic {topic} does not exist.", "Choose an existing topic.", field="topic", topic=question.topic
        )
    name = question.strategy or (view.strategy if view.strategy in shared.COMPARED else shared.COMPARED[0])
    if name not in shared.COMPARED:
        raise ActionRefused(
            422,
            "{strategy} needs queue lists or machine rooms, which a real cluster does not report.",
            "Choose another strategy.",
            field="strategy",
            strategy=name,
        )
    known = view.online_members()
    labels, members = _members(question, known)
    strategy = make_strategy({"strategy": name, "virtual_nodes": question.virtual_nodes}, shared.Nowhere())
    count = len(now) if question.queues is None else question.queues
    then = now if count == len(now) else shared.made_up_queues(question.topic, count, now)
    before = view.shares(now)
    after = shared.shares_of(strategy, question.group, then, members)
    return {
        "group": question.group,
        "topic": question.topic,
        "strategy": name,
        "before": shared.rows_of(before),
        "after": shared.rows_of(after),
        "moves": shared.moves_between(before, after),
        "of": len(then),
        "idle": [labels.get(member, member) for member, mqs in after.items() if not mqs],
        "labels": {member: labels.get(member, member) for member in sorted({*before, *after})},
        "colours": {member: position % COLOURS for position, member in enumerate(sorted({*before, *after}))},
        "members": members,
        "queues": [mq.row for mq in then],
        "ring": shared.ring_of(strategy, then, members),
        "rooms": None,
        "compared": shared.compared(
            strategy, question, before, shared.Divided(now, known), shared.Divided(then, members)
        ),
    }


def _members(question: PlanRebalance, known: list[str]) -> tuple[dict[str, str], list[str]]:
    """Return the labels of invented members by client id, and all members of the plan in the clients' order."""
    stay, add = [member for member in known if member not in question.remove], question.add
    if question.members is not None:
        stay, add = stay[: question.members], max(0, question.members - len(stay))
    labels = {f"~new-{number:02}": MADE_UP.format(number=number) for number in range(1, add + 1)}
    return labels, sorted([*stay, *labels])
