"""Resets of a group's offsets."""


from sandbox.cluster.cluster import Cluster
from sandbox.commands.outcome import CarryOut
from sandbox.commands.reset.apply import apply_targets, checked_targets, undo_targets
from sandbox.control.actions import ResetOffsets, UndoReset
from sandbox.queries.questions.resets import draw_plan


def reset(cluster: Cluster, action: ResetOffsets) -> CarryOut:
    targets = checked_targets(cluster, action, lambda plan: draw_plan(cluster, action, plan))
    timestamp_ms = (action.value or 0) if action.target == "time" else -1

    def carry_out(seq: int, by: str) -> None:
        apply_targets(cluster, action.group, action.topic, action.method, targets, reset_id=f"r{seq}",
                      reason=action.reason, by=by, timestamp_ms=timestamp_ms)

    return carry_out


def undo(cluster: Cluster, action: UndoReset) -> CarryOut:
    """Back to each queue's offset before the reset, by the method that fits the group now."""
    done, targets = undo_targets(cluster, action.reset_id)

    def carry_out(seq: int, by: str) -> None:
        apply_targets(cluster, done["group"], done["topic"], "undo", targets, reset_id=f"r{seq}",
                      reason=f"undo of {action.reset_id}", by=by)

    return carry_out
