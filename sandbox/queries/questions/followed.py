"""Consequences of an action, from the facts after it: new owners of queues, and messages delivered again."""

from collections.abc import Iterable
from typing import NamedTuple

from sandbox.cluster.cluster import Cluster
from sandbox.control.questions import WhatFollowed
from sandbox.journal.events import (
    ActionTaken,
    CrashRepeated,
    Entry,
    MemberStateChanged,
    OffsetsReset,
    QueueDropped,
    QueueTaken,
)
from sandbox.journal.journal import Overrun
from sandbox.message.queue import MessageQueue
from sandbox.queries.questions.answers import answers
from sandbox.queries.rows.followed import DONE, SETTLED_MS, UNKNOWN, WAITING, Followed, FollowedSentence
from sandbox.queries.rows.groups import EXPIRE_MS
from sandbox.queries.snapshot_cache import cache_of

AT_ONCE_MS = 100
NAMED = 6  # queues whose names a sentence has; above that it has their number
QUIET_MS = 1_000  # without a queue that changes its owner: the rebalance is over
NOTHING: Followed = {"state": UNKNOWN, "sentences": []}


class After(NamedTuple):
    """An action and the facts from it on."""

    cluster: Cluster
    entry: Entry
    action: ActionTaken
    entries: list[Entry]

    @property
    def settled(self) -> bool:
        return self.cluster.clock.now_ms() - self.entry.at_ms >= SETTLED_MS

    def state_change(self, state: str) -> MemberStateChanged | None:
        """Return the change to this state that the action caused."""
        return next(
            (
                entry.event
                for entry in self.entries
                if entry.cause == self.entry.seq
                and isinstance(entry.event, MemberStateChanged)
                and entry.event.state == state
            ),
            None,
        )


@answers(WhatFollowed)
def followed(cluster: Cluster, question: WhatFollowed) -> Followed:
    """Return the consequences of the action `seq`, in sentences."""
    try:
        entries = cluster.journal.since(question.seq)
    except Overrun:
        return NOTHING
    if not entries or not isinstance(entries[0].event, ActionTaken):
        return NOTHING
    after = After(cluster, entries[0], entries[0].event, entries)
    match after.action.action:
        case "CrashActor":
            return _crash(after)
        case "StopActor":
            return _stop(after)
        case "HangActor":
            return _hang(after)
        case "StartConsumer" | "RestartActor":
            return _start(after)
        case "ResetOffsets" | "UndoReset":
            return _reset(after)
    return NOTHING


def _crash(after: After) -> Followed:
    left = after.state_change("crashed")
    if left is None:
        return NOTHING
    took, complete = _taken(after, left)
    again = sum(
        entry.event.count
        for entry in after.entries
        if isinstance(entry.event, CrashRepeated) and entry.event.client_id == left.client_id
    )
    sentences = [_say("crashed", who=_label(after, left.client_id)), *took]
    if again:
        sentences.append(_say("again", messages=again))
    elif after.settled:
        sentences.append(_say("never_again"))
    return _answer(after.settled or (complete and again > 0), sentences)


def _stop(after: After) -> Followed:
    left = after.state_change("stopped") or after.state_change("stopping")
    if left is None:
        return NOTHING
    took, complete = _taken(after, left)
    stopped = after.state_change("stopped") is not None
    return _answer(
        stopped and (complete or after.settled),
        [*([_say("stopped", who=_label(after, left.client_id))] if stopped else []), *took],
    )


def _hang(after: After) -> Followed:
    left = after.state_change("hung")
    if left is None:
        return NOTHING
    queues = len(_queues_before(after, left))
    return _answer(True, [_say("hangs", who=_label(after, left.client_id), kept_ms=EXPIRE_MS, queues=queues)])


def _start(after: After) -> Followed:
    """Return the queues of the member that the action started.  Of several copies, only the first is named."""
    begun = after.state_change("starting")
    if begun is None:
        return NOTHING
    label = _label(after, begun.client_id)
    moves = [
        (entry.at_ms, entry.event)
        for entry in after.entries
        if isinstance(entry.event, QueueTaken | QueueDropped)
        and entry.event.group == begun.group
        and not entry.event.topic.startswith("%")
    ]
    held: dict[str, int] = {}  # by queue, since when
    for at_ms, event in moves:
        if event.client_id != begun.client_id:
            continue
        if isinstance(event, QueueTaken):
            held[_key(event)] = at_ms
        else:
            held.pop(_key(event), None)
    if held and after.cluster.clock.now_ms() - moves[-1][0] >= QUIET_MS:
        after_ms = max(held.values()) - after.entry.at_ms
        has = "has_at_once" if after_ms < AT_ONCE_MS else "has"
        return _answer(True, [_say(has, who=label, queues=len(held), after_ms=after_ms)])
    return _answer(after.settled, [_say("has_none", who=label)] if after.settled and not held else [])


def _reset(after: After) -> Followed:
    reset = next((entry.event for entry in after.entries if isinstance(entry.event, OffsetsReset)), None)
    if reset is None:
        return _answer(after.settled, [])
    return _answer(
        True,
        [
            _say("replayed", replayed=int(reset.replayed)),
            *([_say("skipped", skipped=int(reset.skipped))] if reset.skipped else []),
        ],
    )


def _taken(after: After, left: MemberStateChanged) -> tuple[list[FollowedSentence], bool]:
    """Return the sentence about the queues of a member that left, and True once all have another owner."""
    queues = _queues_before(after, left)
    takers = [
        entry
        for entry in after.entries
        if isinstance(entry.event, QueueTaken)
        and entry.event.group == left.group
        and entry.event.client_id != left.client_id
        and _key(entry.event) in queues
    ]
    if not queues:
        return [], True
    if not takers:
        return ([_say("untaken")] if after.settled else []), False
    taken = {_key(entry.event): entry for entry in reversed(takers) if isinstance(entry.event, QueueTaken)}  # the first
    by = sorted({_label(after, _client(entry)) for entry in taken.values()})
    after_ms = max(entry.at_ms for entry in taken.values()) - after.entry.at_ms
    took = "took" if len(taken) <= NAMED else "took_many"
    values = {"by": ", ".join(by), "queues": len(taken), "names": _names(after, taken), "after_ms": after_ms}
    return [_say(f"{took}_at_once" if after_ms < AT_ONCE_MS else took, **values)], len(taken) == len(queues)


def _names(after: After, keys: Iterable[str]) -> str:
    """Return the names of queues in their order, separated by commas: `q0`, or `broker-a:0` if there are brokers."""
    queues = sorted(MessageQueue.from_key(key) for key in keys)
    one_broker = len({node.name for node in after.cluster.nodes.brokers}) == 1
    return ", ".join(f"q{mq.queue_id}" if one_broker else mq.row for mq in queues)


def _queues_before(after: After, left: MemberStateChanged) -> set[str]:
    """Return the keys of the queues that the member had at the time of the action."""
    history = cache_of(after.cluster).rebalances.group(left.group)
    return {key for key in history.queues_of(left.client_id, after.entry.at_ms) if not key.startswith("%")}


def _key(event: QueueTaken | QueueDropped) -> str:
    return f"{event.topic}/{event.broker}/{event.queue_id}"


def _client(entry: Entry) -> str:
    assert isinstance(entry.event, QueueTaken)
    return entry.event.client_id


def _label(after: After, client_id: str) -> str:
    return after.cluster.actors.label_of(client_id) or after.cluster.label_of(client_id)


def _say(sentence: str, **values: object) -> FollowedSentence:
    return {"sentence": sentence, "values": values}


def _answer(done: bool, sentences: list[FollowedSentence]) -> Followed:
    return {"state": DONE if done else WAITING, "sentences": sentences}
