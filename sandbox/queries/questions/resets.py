"""What a reset would do, as the dialog shows it."""

from collections import Counter
from typing import Any

from sandbox.cluster.cluster import Cluster
from sandbox.control.questions import PlanReset
from sandbox.queries.reset_plan import PlannedQueue, Refusal, ResetPlan, ResetWish, fingerprint, plan_reset
from sandbox.queries.rows.groups import GroupView

HISTOGRAM_BARS = 60
HISTOGRAM_SAMPLES = 300  # messages looked at, spread evenly over all queues


def plan(cluster: Cluster, question: PlanReset) -> dict[str, Any]:
    return draw_plan(cluster, question, plan_reset(cluster, question))


def draw_plan(cluster: Cluster, wish: ResetWish, plan: ResetPlan) -> dict[str, Any]:
    return {
        "seq": str(cluster.journal.next_seq - 1), "at_ms": cluster.clock.now_ms(), **draw_rows(wish, plan),
        "catch_up_ms": _catch_up_ms(cluster, wish, sum(row.lag_after for row in plan.rows)),
        "histogram": _histogram(cluster, plan),
    }


def draw_rows(wish: ResetWish, plan: ResetPlan) -> dict[str, Any]:
    """What wish and plan say by themselves."""
    return {
        "group": wish.group, "topic": wish.topic, "target": wish.target,
        "value": None if wish.value is None else str(wish.value),
        "method": wish.method, "fingerprint": fingerprint(wish),
        "online": bool(plan.online_members), "online_members": len(plan.online_members),
        "members": plan.members,
        "refused": None if plan.refused is None else draw_refusal(plan.refused),
        "rows": [_draw_row(row) for row in plan.rows],
        "delivered_again": plan.again, "skipped": plan.skipped,
        "lag_after": sum(row.lag_after for row in plan.rows),
        "warnings": sum(len(row.notes) for row in plan.rows if row.selected),
    }


def draw_refusal(refused: Refusal) -> dict[str, Any]:
    return {"message": refused.sentence, "hint": refused.hint, "pattern": refused.message,
            "values": dict(refused.values)}


def _draw_row(row: PlannedQueue) -> dict[str, Any]:
    change = None if row.target is None or row.committed is None else row.target - row.committed
    return {
        "queue": row.mq.row, "broker": row.mq.broker, "queue_id": row.mq.queue_id, "min": str(row.min_offset),
        "max": str(row.max_offset), "committed": _text(row.committed), "in_memory": _text(row.in_memory),
        "target": _text(row.target), "change": None if change is None else f"{change:+d}" if change else "0",
        "again": row.again, "skipped": row.skipped,
        "notes": [{"code": note.code, "text": note.text.format(**note.values), "values": note.values}
                  for note in row.notes],
        "owner": row.owner, "selected": row.selected,
    }


def _catch_up_ms(cluster: Cluster, wish: ResetWish, lag: int) -> int | None:
    """Until the lag is gone, if the members work as fast as their listeners can; None: never, or nobody knows."""
    view = GroupView(cluster, wish.group)
    queues = len(view.read_queues(wish.topic))
    can_per_s = 0.0
    for actor in view.actors:
        if actor.state != "running":
            continue
        low, high = actor.listener.work_ms if actor.listener is not None else (0, 0)
        orderly = actor.settings.listener == "orderly"
        hands = max(1, queues // len(view.actors)) if orderly else actor.settings.threads
        can_per_s += hands * 1000 / max(1.0, (low + high) / 2)
    come_per_s = sum(broker.store.stats.put_per_s(wish.topic) for broker in view.masters.values())
    if lag == 0:
        return 0
    return round(lag / (can_per_s - come_per_s) * 1000) if can_per_s > come_per_s else None


def _histogram(cluster: Cluster, plan: ResetPlan) -> list[dict[str, int]]:
    """When the stored messages came, in bars of one length; counts are estimated from evenly spread samples."""
    total = sum(row.max_offset - row.min_offset for row in plan.rows)
    if total == 0:
        return []
    stride = max(1, total // HISTOGRAM_SAMPLES)
    times: list[int] = []
    for row in plan.rows:
        store = cluster.nodes.broker(row.mq.broker).running.store
        times += [at_ms for offset in range(row.min_offset, row.max_offset, stride)
                  if (at_ms := store.store_time(row.mq.topic, row.mq.queue_id, offset)) is not None]
    if not times:
        return []
    first_ms, last_ms = min(times), max(times)
    width_ms = max(1, -(-(last_ms - first_ms + 1) // HISTOGRAM_BARS))
    bars = Counter((at_ms - first_ms) // width_ms for at_ms in times)
    return [{"at_ms": first_ms + bar * width_ms, "count": bars[bar] * stride} for bar in range(max(bars) + 1)]


def _text(offset: int | None) -> str | None:
    return None if offset is None else str(offset)
