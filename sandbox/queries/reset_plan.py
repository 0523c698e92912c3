"""What a reset of offsets would do, queue by queue: the one computation behind preview and apply (product 4.9).

Values only; nothing here changes anything.
"""

from collections.abc import Callable, Mapping
from hashlib import sha256
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

from sandbox.broker.broker import Broker
from sandbox.cluster.cluster import Cluster
from sandbox.kernel.errors import ActionRefused
from sandbox.message.queue import MessageQueue
from sandbox.queries.rows.groups import GroupView


class ResetWish(Protocol):
    """What `PlanReset` and `ResetOffsets` have in common."""

    @property
    def group(self) -> str: ...
    @property
    def topic(self) -> str: ...
    @property
    def target(self) -> str: ...
    @property
    def value(self) -> int | None: ...
    @property
    def source_group(self) -> str | None: ...
    @property
    def queues(self) -> tuple[str, ...]: ...
    @property
    def method(self) -> str: ...


class Note(NamedTuple):
    """A remark on one row; the page makes a sentence of the code and the values."""

    code: str
    text: str
    values: dict[str, Any]


class PlannedQueue(NamedTuple):
    """One queue.  `target` None: this reset says nothing about it.  Offsets are plain numbers here."""

    mq: MessageQueue
    min_offset: int
    max_offset: int
    committed: int | None
    in_memory: int | None
    target: int | None
    owner: str | None
    selected: bool
    notes: tuple[Note, ...]

    @property
    def again(self) -> int:
        """Messages the group has had that it will get again."""
        if not self.selected or self.target is None or self.committed is None:
            return 0
        return max(0, self.committed - max(self.target, self.min_offset))

    @property
    def skipped(self) -> int:
        """Messages the group will never get."""
        if not self.selected or self.target is None:
            return 0
        return max(0, self.target - max(self.committed or 0, self.min_offset))

    @property
    def lag_after(self) -> int:
        after = self.target if self.selected and self.target is not None else self.committed
        return max(0, self.max_offset - (after if after is not None else self.min_offset))


class Refusal(NamedTuple):
    """Why it cannot be done now, and what to do; `values` fill the `{names}` of the message."""

    message: str
    hint: str
    values: Mapping[str, Any] = MappingProxyType({})

    @property
    def sentence(self) -> str:
        return self.message.format(**self.values)


class ResetPlan(NamedTuple):
    """A whole plan; `refused` says why the chosen method cannot be used now."""

    rows: tuple[PlannedQueue, ...]
    online_members: tuple[str, ...]
    members: int
    refused: Refusal | None

    @property
    def moving(self) -> list[PlannedQueue]:
        return [row for row in self.rows if row.selected and row.target is not None]

    @property
    def skipped(self) -> int:
        return sum(row.skipped for row in self.rows)

    @property
    def again(self) -> int:
        return sum(row.again for row in self.rows)


def plan_reset(cluster: Cluster, wish: ResetWish) -> ResetPlan:
    """Raises ActionRefused (404, 422) when the wish names what is not there or lacks a value."""
    check_wish(wish)
    view = GroupView(cluster, wish.group)
    if not view.masters:
        raise ActionRefused(409, "No broker is running.", "Start one first.")
    queues = view.read_queues(wish.topic)
    if not queues:
        raise ActionRefused(404, "There is no topic {topic}.", "Choose one that exists.", field="topic",
                            topic=wish.topic)
    wanted = set(wish.queues) or {mq.row for mq in queues}
    unknown = wanted - {mq.row for mq in queues}
    if unknown:
        raise ActionRefused(422, "{topic} has no queue {queue}.", "Choose one of its queues.", field="queues",
                            topic=wish.topic, queue=sorted(unknown)[0])
    rows = tuple(_row(cluster, view, wish, mq, selected=mq.row in wanted) for mq in queues)
    online = tuple(view.online_members())
    return ResetPlan(rows, online, len(set(online) | view.known_members()), _refusal(view, wish, rows, online))


def _row(cluster: Cluster, view: GroupView, wish: ResetWish, mq: MessageQueue, *, selected: bool) -> PlannedQueue:
    broker = cluster.nodes.broker(mq.broker).running
    store = broker.store
    low, high = max(0, store.min_offset(mq.topic, mq.queue_id)), store.max_offset(mq.topic, mq.queue_id)
    committed = broker.consumer_offsets.get(wish.group, mq.topic, mq.queue_id)
    wished = _wished(broker, wish, mq, committed, low, high)
    target, notes = fitted(wished, low, high)
    notes += _remarks(cluster, view, wish, broker, mq, committed, target, high)
    return PlannedQueue(mq, low, high, committed, view.in_memory(mq), target, view.owner(mq), selected, tuple(notes))


def fitted(wished: int | None, low: int, high: int) -> tuple[int | None, list[Note]]:
    """Into what the queue holds."""
    if wished is not None and wished < low:
        text = "raised from {wished} to the first message still there"
        return low, [Note("raised_to_min", text, {"wished": wished})]
    if wished is not None and wished > high:
        return high, [Note("lowered_to_max", "lowered from {wished} to the end", {"wished": wished})]
    return wished, []


def _wished(broker: Broker, wish: ResetWish, mq: MessageQueue, committed: int | None, low: int,
            high: int) -> int | None:
    return wished_offset(
        wish, committed, low, high, at_time=lambda: broker.store.offset_by_time(mq.topic, mq.queue_id, wish.value or 0),
        copied=lambda: broker.consumer_offsets.get(wish.source_group or "", mq.topic, mq.queue_id))


def wished_offset(wish: ResetWish, committed: int | None, low: int, high: int, *, at_time: Callable[[], int | None],
                  copied: Callable[[], int | None]) -> int | None:
    """Where the group shall go on, before it is fitted into what the queue holds; None: it stays where it is.

    `at_time` finds the wished moment's offset, `copied` the other group's.
    """
    value = wish.value or 0
    match wish.target:
        case "time":
            return at_time()
        case "earliest":
            return low
        case "latest":
            return high
        case "offset":
            return value
        case "shift":
            return None if committed is None else committed + value
        case _:
            return copied()


def _remarks(cluster: Cluster, view: GroupView, wish: ResetWish, broker: Broker, mq: MessageQueue,
             committed: int | None, target: int | None, high: int) -> list[Note]:
    notes: list[Note] = []
    if committed is None:
        notes.append(Note("no_stored", "the group has no stored offset here", {}))
    if target is None:
        return notes
    store = broker.store
    if wish.target == "time" and high > 0:
        newest_ms = store.store_time(mq.topic, mq.queue_id, high - 1)
        if newest_ms is not None and newest_ms < (wish.value or 0):
            notes.append(Note("after_last", "no message at or after that time; RocketMQ takes the last one",
                              {"last_ms": newest_ms}))
    unit = store.unit(mq.topic, mq.queue_id, target) if target < high else None
    if unit is not None and store.max_physical_offset - unit.physical_offset > store.config.in_memory_bytes:
        notes.append(Note("cold", "old messages will be read from disk", {}))
    held = view.process_queue(mq)
    if held is not None and held.has_unfinished:
        notes.append(Note("held", "{count} messages lie with its member", {"count": held.count}))
    lock = broker.locks.holder(wish.group, mq)
    if lock is not None:
        notes.append(Note("locked_by", "locked by {holder}", {"holder": cluster.label_of(lock.client_id)}))
    owner = view.owner(mq)
    if owner is not None and view.is_silent(owner):
        notes.append(Note("owner_silent", "its owner {owner} does not answer", {"owner": cluster.label_of(owner)}))
    if wish.method == "online" and view.pulls_by_itself(broker):
        notes.append(Note("not_heard", "a pull consumer does not hear a live reset; nothing will move here", {}))
    return notes


def fingerprint(wish: ResetWish) -> str:
    """The same for the same wish: a preview carries it, and an apply that wishes anything else is refused."""
    said = (wish.group, wish.topic, wish.target, wish.value, wish.source_group, sorted(set(wish.queues)), wish.method)
    return sha256(repr(said).encode()).hexdigest()[:16]


def check_wish(wish: ResetWish) -> None:
    """Raises ActionRefused (422) when it lacks a value, or has one it has no use for."""
    if wish.target in ("time", "offset", "shift") and wish.value is None:
        raise ActionRefused(422, "A reset to {target} needs a value.", "Give it one.", field="value",
                            target=wish.target)
    if wish.target != "copy_of" and wish.source_group:
        raise ActionRefused(422, "Only copy_of reads a source group.", "Leave it out, or choose copy_of.",
                            field="source_group")
    if wish.target == "copy_of" and not wish.source_group:
        raise ActionRefused(422, "Which group shall be copied?", "Choose one.", field="source_group")


def _refusal(view: GroupView, wish: ResetWish, rows: tuple[PlannedQueue, ...],
             online: tuple[str, ...]) -> Refusal | None:
    if view.model == "BROADCASTING":
        return Refusal("A broadcasting group keeps its offsets with each member; the broker has none.",
                       "Stop a member and edit its own file.")
    if wish.method == "offline":
        if online:
            return Refusal("Members of the group are online and would overwrite it.",
                           "Stop them, or choose the live method.")
        return None
    if not online:
        return Refusal("Nobody of the group is online to be told (code 206).", "Choose the offline method.")
    missing = [mq.row for mq in view.write_queues(wish.topic)
               if view.committed(mq) is None] or [row.mq.row for row in rows if row.committed is None and row.selected]
    if missing:
        return Refusal("The group has no stored offset in {queues}; the broker refuses then (code 1).",
                       "Let it consume there once, or stop it and choose the offline method.",
                       {"queues": ", ".join(missing)})
    return None
