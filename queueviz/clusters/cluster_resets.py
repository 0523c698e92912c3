"""Operators' actions on attached clusters: resets only, confirmed with the group's name, with two audit records.

The first record is written before the request to the cluster, so that a reset without a response is recorded too.
The second has the result (`of` names the first record).  Refused attempts are recorded as well.
"""

from dataclasses import asdict
from typing import TypedDict

from queueviz import engine
from queueviz.access import policy
from queueviz.access.policy import Visit
from queueviz.access.rate_limits import Rate
from queueviz.access.visitor import Visitor
from queueviz.clusters import attached_clusters, reset_undo
from queueviz.models import AuditRecord, Cluster, UndoPoint
from queueviz.sandboxes import ownership
from sandbox.attached.confirmation import confirmed
from sandbox.control.actions import Action, ResetOffsets, UndoReset
from sandbox.control.questions import PlanReset, Question
from sandbox.control.rights import Actor
from sandbox.kernel.errors import ActionRefused, EngineBusy, SandboxError

PATIENCE_S = 10.0  # brokers far away are asked queue by queue
MOST_FACTS = 100  # after the action, among which its result is looked for
ATTEMPTS = Rate(1 / 60, 20, what="actions")  # that are written down, of one address


def act(visitor: Visitor, visit: Visit, action: Action, by: Actor) -> int:
    """Execute a reset or an undo on an attached cluster and return the number of the action's event.

    Like `visitor_actions.act`, for a visitor who is allowed to do so.
    """
    cluster = visit.sandbox
    assert isinstance(cluster, Cluster)
    what = _name_of(action)
    point: UndoPoint | None = None
    asked: AuditRecord | None = None
    try:
        if isinstance(action, UndoReset):
            point = reset_undo.point_for(cluster, action)
            confirmed(action.confirm, point.group)
        elif isinstance(action, ResetOffsets):
            confirmed(action.confirm, action.group)
        attached_clusters.demand(visit)
        asked = ownership.record(visitor, what, cluster.slug, plan=_plan(action, point), before=_before(visit, action))
        undo = reset_undo.value_of(point) if point is not None else None
        seq = engine.answer(engine.port().act(cluster.slug, action, by, undo=undo), PATIENCE_S)
    except EngineBusy:
        if asked is None:
            raise
        ownership.record(visitor, f"{what}-unknown", cluster.slug, of=asked.pk, group=_group(action, point))
        raise ActionRefused(
            504,
            "The cluster has not answered yet. Its offsets may or may not be reset.",
            "Check the journal and the offsets before you try again.",
        ) from None
    except SandboxError as refused:
        partly = (refused.details or {}).get("began") if isinstance(refused, ActionRefused) else None
        to: AskedRecord = (
            {"of": asked.pk, "group": _group(action, point)} if asked is not None else {"plan": _plan(action, point)}
        )
        done: DoneRecord = _done(visitor, cluster, action, int(partly)) if partly is not None else {}
        ownership.record(visitor, f"{what}-refused", cluster.slug, why=str(refused), **to, **done)
        raise
    if point is not None:
        reset_undo.mark_undone(point)
    ownership.record(
        visitor,
        f"{what}-done",
        cluster.slug,
        of=asked.pk,
        group=_group(action, point),
        **_done(visitor, cluster, action, seq),
    )
    return seq


def refuse(visitor: Visitor, visit: Visit, action: Action) -> policy.Forbidden:
    """Return the refusal of an action that the visitor may not do, and record the attempt.

    The number of recorded attempts per address is limited.
    """
    error = policy.forbidden(visitor, visit)
    if isinstance(action, policy.ATTACHED_ACTIONS) and ATTEMPTS.admits(visitor.origin):
        ownership.record(
            visitor, f"{_name_of(action)}-refused", visit.sandbox.slug, why=str(error), plan=asdict(action)
        )
    return error


def ask(visit: Visit, question: Question) -> dict[str, object]:
    """Return the answer to a question, as `visitor_actions.ask`.  The engine may have to query the cluster."""
    attached_clusters.demand(visit)
    return engine.answer(engine.port().ask(visit.sandbox.slug, question), PATIENCE_S)


class AskedRecord(TypedDict, total=False):
    """The request in an audit record: the number of an earlier record, or the plan."""

    of: int
    group: str
    plan: dict[str, object]


class DoneRecord(TypedDict, total=False):
    """The result of a reset in an audit record."""

    seq: str
    result: dict[str, object] | None


def _name_of(action: Action) -> str:
    return "undo-reset" if isinstance(action, UndoReset) else "reset"


def _group(action: Action, point: UndoPoint | None) -> str:
    return point.group if point is not None else str(getattr(action, "group", ""))


def _plan(action: Action, point: UndoPoint | None) -> dict[str, object]:
    """Return the requested plan for the audit.  For an undo it has the offsets to restore."""
    plan = asdict(action)
    return plan if point is None else plan | {"group": point.group, "topic": point.topic, "back_to": point.before}


def _before(visit: Visit, action: Action) -> dict[str, str | None]:
    """Return the stored offsets before a reset, by queue.

    They are those of the preview, or are read now for a program without a preview.
    """
    if not isinstance(action, ResetOffsets):
        return {}
    if action.expected:
        return {row.queue: None if row.committed is None else str(row.committed) for row in action.expected}
    wish = PlanReset(
        group=action.group,
        topic=action.topic,
        target=action.target,
        value=action.value,
        source_group=action.source_group,
        queues=action.queues,
        method=action.method,
    )
    plan = engine.answer(engine.port().ask(visit.sandbox.slug, wish), PATIENCE_S)
    return {row["queue"]: row["committed"] for row in plan["rows"] if row["selected"]}


def _done(visitor: Visitor, cluster: Cluster, action: Action, seq: int) -> DoneRecord:
    """Return the result from the journal for the audit record, and store an undo point after a reset."""
    result = _result(cluster.slug, seq)
    if result is not None and isinstance(action, ResetOffsets):
        reset_undo.remember(cluster, result, ownership.called(visitor))
    return {"seq": str(seq), "result": result}


def _result(slug: str, seq: int) -> dict[str, object] | None:
    """Return the `OffsetsReset` event that this action caused, or None if the journal does not have it yet."""
    try:
        entries = engine.answer(engine.port().entries(slug, seq, MOST_FACTS, facts_only=True))
    except SandboxError:
        return None
    mine = (row for row in entries.rows if row["type"] == "OffsetsReset" and str(row.get("cause")) == str(seq))
    return next(mine, None)
