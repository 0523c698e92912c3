"""Undo points of attached clusters: the newest reset of a group on a topic can be undone once, within a day."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from django.utils import timezone

from queueviz.models import Cluster, UndoPoint
from sandbox.commands.reset import undo
from sandbox.control.actions import UndoReset
from sandbox.kernel.errors import ActionRefused

LIFE = timedelta(milliseconds=undo.UNDO_MS)


def remember(cluster: Cluster, result: Mapping[str, object], actor: str) -> None:
    """Store the offsets before a reset, from the journal's `OffsetsReset`.  Points older than a day are deleted."""
    done = undo.UndoPoint.of(result)
    cluster.undo_points.filter(at__lt=timezone.now() - LIFE).delete()
    cluster.undo_points.create(
        reset_id=done.reset_id,
        group=done.group,
        topic=done.topic,
        who=actor,
        before={f"{broker}:{queue_id}": old for (broker, queue_id), old in done.before.items()},
    )


def open_points(cluster: Cluster) -> list[UndoPoint]:
    """Return the undo points that can be used now, the newest first."""
    newest: dict[tuple[str, str], UndoPoint] = {}
    for point in cluster.undo_points.filter(at__gt=timezone.now() - LIFE).order_by("-pk"):
        newest.setdefault((point.group, point.topic), point)
    return [point for point in newest.values() if point.undone_at is None]


def point_for(cluster: Cluster, action: UndoReset) -> UndoPoint:
    """Return the undo point of the reset that `action` names.

    Raises ActionRefused: 404 unknown, 409 undone already, or not the newest.
    """
    point = cluster.undo_points.filter(reset_id=action.reset_id).first()
    if point is None:
        raise ActionRefused(
            404, "Offset reset {reset_id} cannot be undone: not found.", field="reset_id", reset_id=action.reset_id
        )
    if point.undone_at is not None:
        raise ActionRefused(409, "This reset is already undone.", "Make a new reset.")
    if cluster.undo_points.filter(group=point.group, topic=point.topic, pk__gt=point.pk).exists():
        raise ActionRefused(
            409,
            "The offsets of {group} were reset again on {topic} after this reset.",
            "Only the newest reset can be undone.",
            group=point.group,
            topic=point.topic,
        )
    return point


def value_of(point: UndoPoint) -> undo.UndoPoint:
    """Return the undo point as the engine's type."""
    before = {(queue.rpartition(":")[0], int(queue.rpartition(":")[2])): old for queue, old in point.before.items()}
    return undo.UndoPoint(point.reset_id, point.group, point.topic, int(point.at.timestamp() * 1000), before)


def mark_undone(point: UndoPoint) -> None:
    point.undone_at = timezone.now()
    point.save(update_fields=["undone_at"])
