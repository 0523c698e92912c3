"""A `Fold` as JSON, so that the next batch can continue it."""

from sandbox.kernel import json_bytes
from sandbox.pipeline.lag.fold import Fold, Held
from sandbox.pipeline.lag.group_state import Slot
from sandbox.pipeline.lag.queue_ends import QueueEnds
from sandbox.pipeline.lag.rows import Roll


def dump(fold: Fold) -> bytes:
    """Return the state of the fold as JSON, without the emitted rows."""
    state = fold.state
    return json_bytes.dumps(
        {
            "seq": fold.seq,
            "at_ms": fold.at_ms,
            "proven_ms": fold.proven_ms,
            "true_to": fold.true_to,
            "open_ms": fold.open_ms,
            "held": [list(held) for held in fold.held],
            "is_known": state.is_known,
            "commits_are_known": state.commits_are_known,
            "misses_messages": state.misses_messages,
            "misses_commits": state.misses_commits,
            "queues": [[*key, *queue.to_json()] for key, queue in state.queues.items()],
            "readable": [[*key, count] for key, count in state.readable.items()],
            "subscribed": sorted(state.subscribed),
            "models": state.models,
            "unclean": sorted(state.unclean),
            "slots": [
                [
                    slot.group,
                    slot.key,
                    slot.member,
                    slot.committed,
                    slot.consumed,
                    slot.start,
                    {name: roll.to_json() for name, roll in slot.rolls.items()},
                ]
                for slot in state.slots.values()
            ],
        }
    )


def load(text: bytes | str) -> Fold:
    value = json_bytes.loads(text)
    fold = Fold()
    fold.seq, fold.at_ms, fold.proven_ms = value["seq"], value["at_ms"], value["proven_ms"]
    fold.true_to, fold.open_ms = value["true_to"], value["open_ms"]
    fold.held = [Held(*held) for held in value["held"]]
    state = fold.state
    state.is_known, state.commits_are_known = value["is_known"], value["commits_are_known"]
    state.misses_messages, state.misses_commits = value["misses_messages"], value["misses_commits"]
    state.queues = {
        (topic, broker, queue_id): QueueEnds.from_json(rest) for topic, broker, queue_id, *rest in value["queues"]
    }
    state.readable = {(topic, broker): count for topic, broker, count in value["readable"]}
    state.subscribed = {(group, topic) for group, topic in value["subscribed"]}
    state.models, state.unclean = value["models"], set(value["unclean"])
    for group, (topic, broker, queue_id), member, committed, consumed, start, rolls in value["slots"]:
        slot = Slot(group, (topic, broker, queue_id), member, committed)
        slot.consumed, slot.start = consumed, start
        slot.rolls = {name: Roll.from_json(roll) for name, roll in rolls.items()}
        state.slots[group, slot.key, member] = slot
    return fold
