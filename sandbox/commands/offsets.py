"""Where a group goes on, moved on purpose."""

from typing import TYPE_CHECKING

from sandbox.commands.outcome import CarryOut
from sandbox.commands.reset.apply import apply_targets, checked_targets, undo_targets
from sandbox.control.actions import ResetOffsets, UndoReset
from sandbox.queries.questions.resets import draw_plan

if TYPE_CHECKING:
    from sandbox.hosting.sandbox import Sandbox


def reset(sandbox: "Sandbox", action: ResetOffsets) -> CarryOut:
    targets = checked_targets(sandbox, action, lambda plan: draw_plan(sandbox, action, plan))
    timestamp_ms = (action.value or 0) if action.target == "time" else -1

    def carry_out(seq: int, by: str) -> None:
        apply_targets(sandbox, action.group, action.topic, action.method, targets, reset_id=f"r{seq}",
                      reason=action.reason, by=by, timestamp_ms=timestamp_ms)

    return carry_out


def undo(sandbox: "Sandbox", action: UndoReset) -> CarryOut:
    """Back to where each queue stood, by whichever way the group can be reached now."""
    done, targets = undo_targets(sandbox, action.reset_id)

    def carry_out(seq: int, by: str) -> None:
        apply_targets(sandbox, done["group"], done["topic"], "undo", targets, reset_id=f"r{seq}",
                      reason=f"undo of {action.reset_id}", by=by)

    return carry_out
