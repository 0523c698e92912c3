"""The plan of a reset in a sandbox, as the dialog shows it, and the `OffsetsView` of a sandbox.

The view reads brokers' stores and tables and in-process members in the current turn.
"""

from collections import Counter

from sandbox.cluster.cluster import Cluster
from sandbox.control.questions import PlanReset
from sandbox.kernel.errors import ActionRefused
from sandbox.message.queue import MessageQueue
from sandbox.queries import reset_plan
from sandbox.queries.questions.answers import answers
from sandbox.queries.reset_plan import Holding, Note, Refusal, ResetPlan, ResetWish, check_wish, make_plan
from sandbox.queries.rows.groups import GroupView
from sandbox.store.totals import total_per_s

HISTOGRAM_BARS = 60
HISTOGRAM_SAMPLES = 300  # messages sampled, spread evenly over all queues


@answers(PlanReset)
def plan(cluster: Cluster, question: PlanReset) -> dict[str, object]:
    return draw_plan(cluster, question, plan_reset(cluster, question))


def plan_reset(cluster: Cluster, wish: ResetWish) -> ResetPlan:
    """Return the plan of a reset.

    Raises ActionRefused (404, 409, 422) if the wish names something that does not exist or lacks a value.
    """
    check_wish(wish)
    return make_plan(SandboxOffsets(cluster, wish.group, wish.topic), wish)


def draw_plan(cluster: Cluster, wish: ResetWish, plan: ResetPlan) -> dict[str, object]:
    return reset_plan.draw_plan(cluster.journal.next_seq - 1, cluster.clock.now_ms(), wish, plan) | {
        "catch_up_ms": _catch_up_ms(cluster, wish, sum(row.lag_after for row in plan.rows)),
        "histogram": _histogram(cluster, plan),
    }


class SandboxOffsets:
    def __init__(self, cluster: Cluster, group: str, topic: str) -> None:
        self._cluster = cluster
        self._topic = topic
        self._view = GroupView(cluster, group)
        if not self._view.masters:
            raise ActionRefused(409, "No broker is running.", "Start a broker first.")
        self.queues = self._view.read_queues(topic)
        if not self.queues:
            raise ActionRefused(
                404, "Topic {topic} does not exist.", "Choose an existing topic.", field="topic", topic=topic
            )
        self.online_members = tuple(self._view.online_members())
        self.members = len(set(self.online_members) | self._view.known_members())

    def ends(self, mq: MessageQueue) -> tuple[int, int]:
        store = self._view.masters[mq.broker].store
        return max(0, store.min_offset(mq.topic, mq.queue_id)), store.max_offset(mq.topic, mq.queue_id)

    def committed(self, group: str, mq: MessageQueue) -> int | None:
        return self._view.masters[mq.broker].consumer_offsets.get(group, mq.topic, mq.queue_id)

    def offset_at(self, mq: MessageQueue, time_ms: int) -> int | None:
        return self._view.masters[mq.broker].store.offset_by_time(mq.topic, mq.queue_id, time_ms)

    def newest_ms(self, mq: MessageQueue) -> int | None:
        _, high = self.ends(mq)
        return self._view.masters[mq.broker].store.store_time(mq.topic, mq.queue_id, high - 1) if high else None

    def holding(self, mq: MessageQueue) -> Holding:
        held = self._view.process_queue(mq)
        lock = self._view.masters[mq.broker].locks.holder(self._view.group, mq)
        return Holding(
            self._view.owner(mq),
            self._view.in_memory(mq),
            held.count if held is not None and held.has_unfinished else 0,
            None if lock is None else self._cluster.label_of(lock.client_id),
        )

    def notes(self, mq: MessageQueue, target: int, method: str) -> list[Note]:
        notes: list[Note] = []
        broker, owner = self._view.masters[mq.broker], self._view.owner(mq)
        store = broker.store
        unit = store.unit(mq.topic, mq.queue_id, target) if target < self.ends(mq)[1] else None
        if unit is not None and store.max_physical_offset - unit.physical_offset > store.config.in_memory_bytes:
            notes.append(Note("cold", "old messages will be read from disk", {}))
        if owner is not None and self._view.is_silent(owner):
            text = "its owner {owner} does not answer"
            notes.append(Note("owner_silent", text, {"owner": self._cluster.label_of(owner)}))
        if method == "online" and self._view.pulls_by_itself(broker):
            notes.append(Note("not_heard", "a pull consumer does not hear a live reset; nothing will move here", {}))
        return notes

    def method(self, wish: ResetWish, *, of_all: bool) -> tuple[str, Refusal | None]:
        return wish.method, None

    def obstacle(self, method: str) -> Refusal | None:
        if self._view.model != "BROADCASTING":
            return None
        return Refusal(
            "Each member of a broadcasting group keeps its own offsets; the broker has none.",
            "Stop a member, then edit the offset file of that member.",
        )

    def without_offset(self, selected: list[MessageQueue]) -> list[str]:
        missing = [mq for mq in self._view.write_queues(self._topic) if self._view.committed(mq) is None]
        return [mq.row for mq in missing or selected if self._view.committed(mq) is None]


def _catch_up_ms(cluster: Cluster, wish: ResetWish, lag: int) -> int | None:
    """Return the time until the lag is gone, if members work as fast as their listeners can.

    None: never, or unknown.
    """
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
    if lag == 0:
        return 0
    come_per_s = total_per_s(broker.store.stats.put_per_s(wish.topic) for broker in view.masters.values())
    if come_per_s is None:
        return None
    return round(lag / (can_per_s - come_per_s) * 1000) if can_per_s > come_per_s else None


def _histogram(cluster: Cluster, plan: ResetPlan) -> list[dict[str, int]]:
    """Return the counts of stored messages in equal intervals of time, estimated from evenly spread samples."""
    total = sum(row.max_offset - row.min_offset for row in plan.rows)
    if total == 0:
        return []
    stride = max(1, total // HISTOGRAM_SAMPLES)
    times: list[int] = []
    for row in plan.rows:
        store = cluster.nodes.broker(row.mq.broker).running.store
        times += [
            at_ms
            for offset in range(row.min_offset, row.max_offset, stride)
            if (at_ms := store.store_time(row.mq.topic, row.mq.queue_id, offset)) is not None
        ]
    if not times:
        return []
    first_ms, last_ms = min(times), max(times)
    width_ms = max(1, -(-(last_ms - first_ms + 1) // HISTOGRAM_BARS))
    bars = Counter((at_ms - first_ms) // width_ms for at_ms in times)
    return [{"at_ms": first_ms + bar * width_ms, "count": bars[bar] * stride} for bar in range(max(bars) + 1)]
