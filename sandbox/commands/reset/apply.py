"""A reset of offsets: compare with the preview, execute, check for a minute, undo."""

from collections.abc import Callable, Mapping
from typing import Any

from sandbox.client.push_consumer import PushConsumer
from sandbox.cluster.cluster import Cluster
from sandbox.control.actions import ExpectedQueue, ResetOffsets
from sandbox.journal.events import OffsetsReset, ResetStepDone
from sandbox.kernel.errors import ActionRefused
from sandbox.message.queue import MessageQueue
from sandbox.queries.reset_plan import PlannedQueue, Refusal, ResetPlan, fingerprint, plan_reset
from sandbox.queries.rows.groups import GroupView
from sandbox.remoting.bodies import ResetOffsetBody
from sandbox.remoting.codes import RequestCode
from sandbox.remoting.command import FLAG_ONEWAY, RemotingCommand
from sandbox.remoting.headers import ResetOffsetHeader

NEVER = -1  # in journal rows: no offset was stored
WATCH_S = 60.0  # a late commit within this time is reported
LOOK_AGAIN = "Look at the new preview and apply again."
UNDO_MS = 24 * 3_600_000
KEPT = 20  # resets that can be undone

Targets = dict[MessageQueue, int]


def checked_targets(cluster: Cluster, action: ResetOffsets,
                    draw: Callable[[ResetPlan], dict[str, Any]]) -> Targets:
    """The target of each queue.  Raises ActionRefused, as `targets_of`."""
    return targets_of(plan_reset(cluster, action), action, draw)


def targets_of(plan: ResetPlan, action: ResetOffsets, draw: Callable[[ResetPlan], dict[str, Any]]) -> Targets:
    """The target of each queue by a fresh plan.

    Raises ActionRefused: 409 when the preview was for other options, when the method cannot be used, or when the state
    differs from the preview (`details` is the new plan, formatted by `draw`); 422 when queues are skipped and the
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
        raise ActionRefused(409, "The topic has queues the preview did not show.", LOOK_AGAIN, details=draw(plan))
    if not plan.moving:
        raise ActionRefused(409, "No queue has a target.", "Choose another one.", details=draw(plan))
    if plan.skipped and action.confirm != action.group:
        raise ActionRefused(422, "{count} messages would be skipped for good.",
                            "Type the name of the group to confirm.", field="confirm", count=plan.skipped)
    return {row.mq: _target_of(action, row, shown.get(row.mq.row)) for row in plan.moving}


def _refused(refusal: Refusal, details: dict[str, Any]) -> ActionRefused:
    return ActionRefused(409, refusal.message, refusal.hint, details=details, **refusal.values)


def _changed(action: ResetOffsets, row: PlannedQueue, shown: ExpectedQueue) -> Refusal | None:
    """Why this queue differs from the preview; a commit that only advanced is no reason."""
    assert row.target is not None
    queue, seen = row.mq.row, shown.target
    if seen is None:
        return Refusal("{queue} has a target now that it had not.", LOOK_AGAIN, {"queue": queue})
    if action.target == "latest":
        return None
    if action.target != "shift" and row.target != seen:
        return Refusal("The target of {queue} is {now} now, not {seen}.", LOOK_AGAIN,
                       {"queue": queue, "now": row.target, "seen": seen})
    if seen < row.min_offset:
        return Refusal("The messages before {low} of {queue} are gone, so {seen} cannot be reached.", LOOK_AGAIN,
                       {"low": row.min_offset, "queue": queue, "seen": seen})
    before, now = or_never(shown.committed), or_never(row.committed)
    if now < before:
        return Refusal("The stored offset of {queue} went back from {before} to {now}.", LOOK_AGAIN,
                       {"queue": queue, "before": before, "now": now})
    if before < seen < now:
        return Refusal("The stored offset of {queue} passed {seen}: it is {now} now.", LOOK_AGAIN,
                       {"queue": queue, "seen": seen, "now": now})
    return None


def _target_of(action: ResetOffsets, row: PlannedQueue, shown: ExpectedQueue | None) -> int:
    """The target in the preview, except for the end of a queue, which moves."""
    assert row.target is not None
    if action.target == "latest" or shown is None or shown.target is None:
        return row.target
    return shown.target


def apply_targets(cluster: Cluster, group: str, topic: str, method: str, targets: Targets, *, reset_id: str,
                  reason: str, by: str, timestamp_ms: int = 0) -> None:
    """Send the reset to the members (online), or write the brokers' tables (offline, and undo without members)."""
    view = GroupView(cluster, group)
    before = {mq: view.committed(mq) for mq in targets}
    cluster.journal.write(reset_fact(reset_id, group, method, before, targets, reason=reason, by=by))
    cluster.record.resets.append({
        "id": reset_id, "group": group, "topic": topic, "at_ms": cluster.clock.now_ms(),
        "rows": [[mq.broker, mq.queue_id, before[mq], targets[mq]] for mq in sorted(targets)]})
    del cluster.record.resets[:-KEPT]
    if (stats := cluster.actors.group_stats.get(group)) is not None:
        for mq, offset in targets.items():
            stats.reset(mq, offset)
    members = view.registered()
    if members:
        _send_to_members(cluster, view, topic, targets, timestamp_ms)
        ResetWatch(cluster, reset_id, group, targets, set(members)).begin()
    else:
        for mq, offset in sorted(targets.items()):
            view.masters[mq.broker].consumer_offsets.commit(group, mq.topic, mq.queue_id, offset, "reset")


def reset_fact(reset_id: str, group: str, method: str, before: Mapping[MessageQueue, int | None], targets: Targets, *,
               reason: str, by: str) -> OffsetsReset:
    rows = tuple((mq.key, or_never(before[mq]), targets[mq]) for mq in sorted(targets))
    return OffsetsReset(
        reset_id=reset_id, group=group, method=method, rows=rows,
        skipped=sum(max(0, after - max(old, 0)) for _, old, after in rows),
        replayed=sum(max(0, old - after) for _, old, after in rows if old != NEVER), reason=reason, by=by)


def _send_to_members(cluster: Cluster, view: GroupView, topic: str, targets: Targets, timestamp_ms: int) -> None:
    """Request 220 to every member, once, by any broker that knows it: the table has its queues of all brokers."""
    reached: set[str] = set()
    body = ResetOffsetBody({(mq.topic, mq.broker, mq.queue_id): offset for mq, offset in targets.items()})
    ext = ResetOffsetHeader(topic, view.group, timestamp_ms, force=False).to_ext()
    for broker in view.masters.values():
        group = broker.consumers.groups.get(view.group)
        for client_id, member in sorted(group.members.items()) if group is not None else ():
            if client_id not in reached:
                reached.add(client_id)
                encoded = body.encode_for_c() if member.language == "CPP" else body.encode()
                kind = broker.connections.serialize_type(member.channel)
                broker.connections.send(member.channel, RemotingCommand(
                    RequestCode.RESET_CONSUMER_CLIENT_OFFSET, ext, encoded, flag=FLAG_ONEWAY, serialize_type=kind))


def undo_targets(cluster: Cluster, reset_id: str) -> tuple[dict[str, Any], Targets]:
    """Targets of an undo.  Raises ActionRefused: 404 unknown, 409 too old, or messages deleted meanwhile."""
    done = next((row for row in cluster.record.resets if row["id"] == reset_id), None)
    if done is None:
        raise ActionRefused(404, "There is no reset {reset_id} to undo.", field="reset_id", reset_id=reset_id)
    if cluster.clock.now_ms() - done["at_ms"] > UNDO_MS:
        raise ActionRefused(409, "The reset is older than 24 hours.", "Make a new one.")
    targets: Targets = {}
    for broker, queue_id, before, _ in done["rows"]:
        if before is None:
            continue  # no offset was stored before: nothing to restore
        low = cluster.nodes.broker(broker).running.store.min_offset(done["topic"], queue_id)
        if before < low:
            raise ActionRefused(409, "Messages before {low} of {queue} were deleted since.", "Make a new reset.",
                                low=low, queue=f"{broker}:{queue_id}")
        targets[MessageQueue(done["topic"], broker, queue_id)] = before
    if not targets:
        raise ActionRefused(409, "Nothing was stored before that reset.", "Make a new one.")
    return done, targets


class ResetWatch:
    """Compares plan and state a minute after an online reset: did a late commit overwrite a target?"""

    def __init__(self, cluster: Cluster, reset_id: str, group: str, targets: Targets, members: set[str]) -> None:
        self._cluster = cluster
        self._reset_id = reset_id
        self._group = group
        self._targets = targets
        self._members = members

    def begin(self) -> None:
        """In-process members report their steps; of external ones only the request is known."""
        view = GroupView(self._cluster, self._group)
        for client_id in sorted(self._members):
            actor = view.by_client.get(client_id)
            if actor is not None and isinstance(actor.consumer, PushConsumer):
                actor.consumer.reset_id = self._reset_id
            else:
                self._step(client_id, "told")
        self._cluster.clock.call_later(WATCH_S, self._end)

    def _end(self) -> None:
        view = GroupView(self._cluster, self._group)
        if any(view.pulls_by_itself(broker) for broker in view.masters.values()):
            return  # they got the request but have no listener: nothing to verify
        overwritten = [mq for mq, target in self._targets.items()
                       if mq.broker in view.masters and or_never(view.committed(mq)) < target]
        for client_id in sorted(self._members):
            mine = any(view.owner(mq) == client_id for mq in overwritten)
            self._step(client_id, "overwritten" if mine else "verified")

    def _step(self, client_id: str, step: str) -> None:
        self._cluster.journal.write(ResetStepDone(self._reset_id, client_id, step))


def or_never(offset: int | None) -> int:
    return NEVER if offset is None else offset
