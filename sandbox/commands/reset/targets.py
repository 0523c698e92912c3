"""Comparison of a fresh reset plan with the preview: each queue's new offset, and its event."""

from collections.abc import Callable, Mapping

from sandbox.control.actions import ExpectedQueue, ResetOffsets
from sandbox.journal.events import OffsetsReset
from sandbox.kernel.errors import ActionRefused
from sandbox.message.queue import MessageQueue
from sandbox.queries.reset_plan import PlannedQueue, Refusal, ResetPlan, fingerprint

NEVER = -1  # in journal rows: no offset was stored
LOOK_AGAIN = "Check the new preview and apply again."

Targets = dict[MessageQueue, int]


def targets_of(plan: ResetPlan, action: ResetOffsets, draw: Callable[[ResetPlan], dict[str, object]]) -> Targets:
    """Return the new offset of each queue by a fresh plan.

    Raises ActionRefused: 409 if the preview was for other options, if the method cannot be used, or if the state
    differs from the preview (`details` is the new plan, formatted by `draw`); 422 if queues are skipped and the
    group's name was not typed.
    """
    if action.fingerprint not in (None, fingerprint(action)):
        raise ActionRefused(409, "The form was changed after this preview.", LOOK_AGAIN, details=draw(plan))
    if plan.refused is not None:
        raise _refused(plan.refused, draw(plan))
    shown = {row.queue: row for row in action.expected}
    for row in plan.moving:
        changed = _changed(action, row, shown[row.mq.row]) if row.mq.row in shown else None
        if changed is not None:
            raise _refused(changed, draw(plan))
    if shown and {row.mq.row for row in plan.moving} - set(shown):
        raise ActionRefused(409, "The topic has queues that the preview did not show.", LOOK_AGAIN, details=draw(plan))
    if not plan.moving:
        raise ActionRefused(409, "No queue has a target offset.", "Choose another target.", details=draw(plan))
    if plan.skipped and action.confirm != action.group:
        raise ActionRefused(
            422,
            "{count} messages would be skipped permanently.",
            "Type the name of the group to confirm.",
            field="confirm",
            count=plan.skipped,
        )
    return {row.mq: _target_of(action, row, shown.get(row.mq.row)) for row in plan.moving}


def _refused(refusal: Refusal, details: dict[str, object]) -> ActionRefused:
    return ActionRefused(409, refusal.message, refusal.hint, details=details, **refusal.values)


def _changed(action: ResetOffsets, row: PlannedQueue, shown: ExpectedQueue) -> Refusal | None:
    """Return the reason why this queue differs from the preview, or None; an advanced commit is no reason."""
    assert row.target is not None
    queue, expected = row.mq.row, shown.target
    if expected is None:
        return Refusal("{queue} now has a target; it had none in the preview.", LOOK_AGAIN, {"queue": queue})
    if action.target == "latest":
        return None
    if action.target != "shift" and row.target != expected:
        return Refusal(
            "The target of {queue} is now {now}; the preview showed {seen}.",
            LOOK_AGAIN,
            {"queue": queue, "now": row.target, "seen": expected},
        )
    if expected < row.min_offset:
        return Refusal(
            "The messages of {queue} before {low} were deleted, so the target {seen} cannot be reached.",
            LOOK_AGAIN,
            {"low": row.min_offset, "queue": queue, "seen": expected},
        )
    before, now = or_never(shown.committed), or_never(row.committed)
    if now < before:
        return Refusal(
            "The stored offset of {queue} moved back from {before} to {now}.",
            LOOK_AGAIN,
            {"queue": queue, "before": before, "now": now},
        )
    if before < expected < now:
        return Refusal(
            "The stored offset of {queue} passed the target {seen}: it is now {now}.",
            LOOK_AGAIN,
            {"queue": queue, "seen": expected, "now": now},
        )
    return None


def _target_of(action: ResetOffsets, row: PlannedQueue, shown: ExpectedQueue | None) -> int:
    """Return the target in the preview; for the end of a queue, which moves, the current one."""
    assert row.target is not None
    if action.target == "latest" or shown is None or shown.target is None:
        return row.target
    return shown.target


def reset_fact(
    reset_id: str,
    group: str,
    method: str,
    before: Mapping[MessageQueue, int | None],
    targets: Targets,
    *,
    reason: str,
    by: str,
) -> OffsetsReset:
    rows = tuple((mq.key, or_never(before[mq]), targets[mq]) for mq in sorted(targets))
    return OffsetsReset(
        reset_id=reset_id,
        group=group,
        method=method,
        rows=rows,
        skipped=sum(max(0, after - max(old, 0)) for _, old, after in rows),
        replayed=sum(max(0, old - after) for _, old, after in rows if old != NEVER),
        reason=reason,
        by=by,
    )


def or_never(offset: int | None) -> int:
    return NEVER if offset is None else offset
