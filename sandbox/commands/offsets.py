"""Actions that reset a group's offsets and undo a reset."""

from typing import Any

from sandbox.cluster.cluster import Cluster
from sandbox.commands.executors import executes
from sandbox.commands.outcome import CarryOut
from sandbox.commands.reset.apply import apply_targets
from sandbox.commands.reset.targets import targets_of
from sandbox.commands.reset.undo import UndoPoint, checked_point, undo_targets
from sandbox.control.actions import ResetOffsets, UndoReset
from sandbox.message.queue import MessageQueue
from sandbox.queries.questions.resets import draw_plan, plan_reset


@executes(ResetOffsets)
def reset(cluster: Cluster, action: ResetOffsets) -> CarryOut:
    targets = targets_of(plan_reset(cluster, action), action, lambda plan: draw_plan(cluster, action, plan))
    timestamp_ms = (action.value or 0) if action.target == "time" else -1

    def carry_out(seq: int, by: str) -> None:
        apply_targets(
            cluster,
            action.group,
            action.topic,
            action.method,
            targets,
            reset_id=f"r{seq}",
            reason=action.reason,
            by=by,
            timestamp_ms=timestamp_ms,
        )

    return carry_out


@executes(UndoReset)
def undo(cluster: Cluster, action: UndoReset) -> CarryOut:
    """Restore each queue's offset before the reset, by the method that fits the group now."""

    def min_offset(mq: MessageQueue) -> int:
        return cluster.nodes.broker(mq.broker).running.store.min_offset(mq.topic, mq.queue_id)

    recorded = next((_point(row) for row in cluster.record.resets if row["id"] == action.reset_id), None)
    point = checked_point(recorded, action.reset_id, cluster.clock.now_ms())
    targets = undo_targets(point, min_offset)

    def carry_out(seq: int, by: str) -> None:
        apply_targets(
            cluster,
            point.group,
            point.topic,
            "undo",
            targets,
            reset_id=f"r{seq}",
            reason=f"undo of {action.reset_id}",
            by=by,
        )

    return carry_out


def _point(row: dict[str, Any]) -> UndoPoint:
    return UndoPoint(
        row["id"],
        row["group"],
        row["topic"],
        row["at_ms"],
        {(broker, queue_id): before for broker, queue_id, before, _ in row["rows"]},
    )
