"""The invariant that a reset without faults around it reaches its target."""

from sandbox.journal.events import Entry, MessagesConsumed, OffsetCommitted, OffsetsReset
from sandbox.message.queue import MessageQueue
from sandbox.simulation.observed import Observed, Played, wants
from sandbox.simulation.setup import TOPIC
from sandbox.simulation.violation import Violation

CARRIED_OUT_MS = 45_000  # 10 s of waiting at each member, one rebalance, one round of commits


def check_resets(observed: Observed) -> list[Violation]:
    """Return violations by resets that were executed without faults around them.

    Backward: the group gets every message again.  Forward: it continues from there (spec client-behaviour 9).
    """
    violations: list[Violation] = []
    for step in observed.played:
        if step.kind == "calm reset":
            entry = next(
                (
                    entry
                    for entry in observed.entries
                    if entry.cause == step.seq and isinstance(entry.event, OffsetsReset)
                ),
                None,
            )
            if entry is not None:
                violations += _one(observed, step, entry)
    return violations


def _one(observed: Observed, step: Played, entry: Entry) -> list[Violation]:
    reset = entry.event
    assert isinstance(reset, OffsetsReset)
    later = [other for other in observed.entries if other.seq > entry.seq]
    violations: list[Violation] = []
    for key, before, after in reset.rows:
        queue = MessageQueue.from_key(key)
        if after < before:
            begun = _begun_again(later, reset, queue, step)
            missing = sorted(_wanted(observed, reset.group, queue, after, before) - begun)
            if missing:
                violations.append(
                    Violation(
                        "reset",
                        (
                            f"{reset.group} was moved back from {before} to {after} of {key} at {entry.at_ms} "
                            f"and never got {missing[0]}{f' and {len(missing) - 1} more' if missing[1:] else ''} again"
                        ),
                    )
                )
        elif after > before:
            committed = _committed_by(later, reset.group, queue, before, entry.at_ms + CARRIED_OUT_MS)
            if committed < after:
                violations.append(
                    Violation(
                        "reset",
                        (
                            f"{reset.group} was moved on from {before} to {after} of {key} at {entry.at_ms} "
                            f"and stood at {committed} {CARRIED_OUT_MS // 1000} s later"
                        ),
                    )
                )
    return violations


def _wanted(observed: Observed, group: str, queue: MessageQueue, first: int, end: int) -> set[int]:
    shape = observed.group(group)
    held = observed.final.masters[queue.broker].messages
    if shape is None or queue.topic != TOPIC:
        return set()
    return {
        offset
        for offset in range(first, end)
        if (stored := held.get((queue, offset))) is not None and wants(shape, queue.topic, stored.tags)
    }


def _begun_again(later: list[Entry], reset: OffsetsReset, queue: MessageQueue, step: Played) -> set[int]:
    return {
        offset
        for entry in later
        if isinstance(entry.event, MessagesConsumed)
        and entry.event.group == reset.group
        and (entry.event.topic, entry.event.broker, entry.event.queue_id) == queue
        and entry.event.started_ms >= step.at_ms
        and entry.event.outcome != "IGNORED"
        for offset in entry.event.offsets
    }


def _committed_by(later: list[Entry], group: str, queue: MessageQueue, before: int, until_ms: int) -> int:
    for entry in later:
        event = entry.event
        if entry.at_ms > until_ms:
            break
        if (
            isinstance(event, OffsetCommitted)
            and event.group == group
            and (event.topic, event.broker, event.queue_id) == queue
        ):
            before = event.offset
    return before
