"""Who would get what: the strategy itself is asked, with members added, removed or made up."""

from typing import TYPE_CHECKING, Any

from sandbox.client.allocate import AllocateMessageQueueStrategy
from sandbox.control.questions import PlanRebalance
from sandbox.hosting.dividing import make_strategy
from sandbox.hosting.execute.divide import checked_strategy
from sandbox.hosting.groups import GroupView
from sandbox.hosting.snapshot.board import group_strategy
from sandbox.kernel.errors import ActionRefused, ClientError
from sandbox.message.queue import MessageQueue

if TYPE_CHECKING:
    from sandbox.hosting.sandbox import Sandbox

Shares = dict[str, list[MessageQueue]]


def plan(sandbox: "Sandbox", question: PlanRebalance) -> dict[str, Any]:
    view = GroupView(sandbox, question.group)
    now = view.read_queues(question.topic)
    members = view.online_members()
    gone = {sandbox.actors.get(name).client_id if name in sandbox.actors.by_label else name
            for name in question.remove}
    new = dict(zip(sandbox.actors.next_client_ids(question.add), sandbox.actors.next_labels(question.add), strict=True))
    after_members = sorted({member for member in members if member not in gone} | set(new))
    strategy = _strategy(sandbox, view, question)
    then = now if question.queues is None else [MessageQueue(question.topic, "broker-a", number)
                                                for number in range(question.queues)]
    before = _shares(group_strategy(sandbox, view), question.group, now, members)
    after = _shares(strategy, question.group, then, after_members)
    owner_before = {mq: member for member, mqs in before.items() for mq in mqs}
    owner_after = {mq: member for member, mqs in after.items() for mq in mqs}
    moves = sum(1 for mq, member in owner_after.items() if owner_before.get(mq) != member)
    return {
        "group": question.group, "topic": question.topic, "strategy": strategy.name, "before": _rows(before),
        "after": _rows(after), "moves": moves, "of": len(then),
        "idle": [new.get(member) or sandbox.label_of(member) for member, mqs in after.items() if not mqs],
        "labels": {member: new.get(member) or sandbox.label_of(member) for member in sorted({*before, *after})},
    }


def _strategy(sandbox: "Sandbox", view: GroupView, question: PlanRebalance) -> AllocateMessageQueueStrategy:
    if question.strategy is None:
        return group_strategy(sandbox, view)
    chosen = checked_strategy(sandbox, question, question.strategy, set(question.remove))
    return make_strategy(chosen, sandbox.actors)


def _shares(strategy: AllocateMessageQueueStrategy, group: str, mqs: list[MessageQueue],
            members: list[str]) -> Shares:
    """Every member's share.  Raises ActionRefused (422) when the strategy cannot divide these."""
    if not mqs or not members:
        return {member: [] for member in members}
    try:
        wanted = set(mqs)
        return {member: [mq for mq in strategy.allocate(group, member, mqs, members) if mq in wanted]
                for member in members}
    except ClientError as why:
        raise ActionRefused(422, "{strategy} cannot divide these queues: {why}.", "Choose another strategy.",
                            field="strategy", strategy=strategy.name, why=str(why)) from why


def _rows(shares: Shares) -> dict[str, list[str]]:
    return {member: [mq.row for mq in mqs] for member, mqs in shares.items()}
