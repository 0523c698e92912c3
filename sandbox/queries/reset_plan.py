"""The plan of an offset reset, queue by queue: one computation for preview and apply (product 4.9).

Sandboxes and real clusters supply an `OffsetsView`; this module changes nothing.
"""

from collections.abc import Mapping
from hashlib import sha256
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

from sandbox.control.actions import ResetOffsets
from sandbox.control.questions import PlanReset
from sandbox.kernel.errors import ActionRefused
from sandbox.message.queue import MessageQueue

ResetWish = PlanReset | ResetOffsets


class Note(NamedTuple):
    """A remark on one row; the page makes a sentence of the code and the values."""

    code: str
    text: str
    values: dict[str, object]


class PlannedQueue(NamedTuple):
    """One queue of a plan.  `target` is None if the reset leaves its offset unchanged.  Offsets are numbers here."""

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
        """Number of messages delivered before that the group will get again."""
        if not self.selected or self.target is None or self.committed is None:
            return 0
        return max(0, self.committed - max(self.target, self.min_offset))

    @property
    def skipped(self) -> int:
        """Number of messages that the group will never get."""
        if not self.selected or self.target is None:
            return 0
        return max(0, self.target - max(self.committed or 0, self.min_offset))

    @property
    def lag_after(self) -> int:
        after = self.target if self.selected and self.target is not None else self.committed
        return max(0, self.max_offset - (after if after is not None else self.min_offset))


class Refusal(NamedTuple):
    """The reason why a reset is not possible now, and the next step; `values` fill the `{names}` of the message."""

    message: str
    hint: str
    values: Mapping[str, Any] = MappingProxyType({})

    @property
    def sentence(self) -> str:
        return self.message.format(**self.values)


class ResetPlan(NamedTuple):
    """A plan of all queues.

    `refused`: the reason why the method cannot be used now.  `method`: the method that is used.  `instead`: the
    reason, if that is not the requested one.
    """

    rows: tuple[PlannedQueue, ...]
    online_members: tuple[str, ...]
    members: int
    refused: Refusal | None
    method: str
    instead: Refusal | None

    @property
    def moving(self) -> list[PlannedQueue]:
        return [row for row in self.rows if row.selected and row.target is not None]

    @property
    def skipped(self) -> int:
        return sum(row.skipped for row in self.rows)

    @property
    def again(self) -> int:
        return sum(row.again for row in self.rows)


class Holding(NamedTuple):
    """A queue's member: its client id, its offset in memory, its unfinished messages, and the lock's holder."""

    owner: str | None
    in_memory: int | None
    unfinished: int
    locked_by: str | None


class OffsetsView(Protocol):
    """The input of a plan: a topic's queues, and the offsets and members of a group, all of one turn."""

    queues: list[MessageQueue]  # readable; at least one
    online_members: tuple[str, ...]
    members: int

    def ends(self, mq: MessageQueue) -> tuple[int, int]:
        """Return the minimum and maximum offset, 0 or more."""

    def committed(self, group: str, mq: MessageQueue) -> int | None: ...
    def offset_at(self, mq: MessageQueue, time_ms: int) -> int | None: ...

    def newest_ms(self, mq: MessageQueue) -> int | None:
        """Return the store time of the last message; None: unknown, or no message."""

    def holding(self, mq: MessageQueue) -> Holding: ...

    def notes(self, mq: MessageQueue, target: int, method: str) -> list[Note]:
        """Return the remarks on one queue that only this kind of cluster can make."""

    def method(self, wish: ResetWish, *, of_all: bool) -> tuple[str, Refusal | None]:
        """Return the method that will be used, and the reason if it is not the requested one."""

    def obstacle(self, method: str) -> Refusal | None:
        """Return an obstacle that only this kind of cluster has.

        Examples: the offsets are not at the brokers, or a broker reaches no member.
        """

    def without_offset(self, selected: list[MessageQueue]) -> list[str]:
        """Return the queues for which the broker refuses an online reset: the group has no stored offset there."""


def make_plan(view: OffsetsView, wish: ResetWish) -> ResetPlan:
    """Return the plan of a checked wish.  Raises ActionRefused (422) if it names a queue that does not exist."""
    known = {mq.row for mq in view.queues}
    selected = set(wish.queues) or known
    if unknown := sorted(selected - known):
        raise ActionRefused(
            422,
            "{topic} has no queue {queue}.",
            "Choose a queue of this topic.",
            field="queues",
            topic=wish.topic,
            queue=unknown[0],
        )
    method, instead = view.method(wish, of_all=selected == known)
    rows = tuple(_row(view, wish, mq, method, selected=mq.row in selected) for mq in view.queues)
    refused = _refusal(view, [row.mq for row in rows if row.selected], method, instead)
    return ResetPlan(rows, view.online_members, view.members, refused, method, instead)


def _row(view: OffsetsView, wish: ResetWish, mq: MessageQueue, method: str, *, selected: bool) -> PlannedQueue:
    low, high = view.ends(mq)
    committed = view.committed(wish.group, mq)
    target, notes = _fitted(_wished(view, wish, mq, committed), low, high)
    holding = view.holding(mq)
    if committed is None:
        notes.append(Note("no_stored", "the group has no stored offset here", {}))
    if target is not None:
        notes += [*_remarks(view, wish, mq, holding), *view.notes(mq, target, method)]
    return PlannedQueue(mq, low, high, committed, holding.in_memory, target, holding.owner, selected, tuple(notes))


def _wished(view: OffsetsView, wish: ResetWish, mq: MessageQueue, committed: int | None) -> int | None:
    """Return the requested offset, before it is limited to the queue's range.  None: the offset stays unchanged."""
    value = wish.value or 0
    match wish.target:
        case "time":
            return view.offset_at(mq, value)
        case "earliest":
            return view.ends(mq)[0]
        case "latest":
            return view.ends(mq)[1]
        case "offset":
            return value
        case "shift":
            return None if committed is None else committed + value
        case _:
            return view.committed(wish.source_group or "", mq)


def _fitted(wished: int | None, low: int, high: int) -> tuple[int | None, list[Note]]:
    """Return the requested offset limited to the queue's range, and a note if it was changed."""
    if wished is not None and wished < low:
        text = "raised from {wished} to the first message still there"
        return low, [Note("raised_to_min", text, {"wished": wished})]
    if wished is not None and wished > high:
        return high, [Note("lowered_to_max", "lowered from {wished} to the end", {"wished": wished})]
    return wished, []


def _remarks(view: OffsetsView, wish: ResetWish, mq: MessageQueue, holding: Holding) -> list[Note]:
    notes: list[Note] = []
    newest_ms = view.newest_ms(mq) if wish.target == "time" else None
    if newest_ms is not None and newest_ms < (wish.value or 0):
        notes.append(
            Note("after_last", "no message at or after that time; RocketMQ takes the last one", {"last_ms": newest_ms})
        )
    if holding.unfinished:
        notes.append(Note("held", "{count} messages lie with its member", {"count": holding.unfinished}))
    if holding.locked_by is not None:
        notes.append(Note("locked_by", "locked by {holder}", {"holder": holding.locked_by}))
    return notes


def _refusal(view: OffsetsView, selected: list[MessageQueue], method: str, instead: Refusal | None) -> Refusal | None:
    if (obstacle := view.obstacle(method)) is not None:
        return obstacle
    if method == "offline":
        return (
            (
                instead
                or Refusal(
                    "Members of the group are online and would overwrite the offsets.",
                    "Stop all members of the group, or choose the live method.",
                )
            )
            if view.online_members
            else None
        )
    if not view.online_members:
        return Refusal(
            "No member of the group is online; the broker refuses an online reset (206).", "Choose the offline method."
        )
    if missing := view.without_offset(selected):
        return Refusal(
            "The group has no stored offset in {queues}; the broker refuses the reset (code 1).",
            "Let the group consume these queues once, or stop the group and choose the offline method.",
            {"queues": ", ".join(missing)},
        )
    return None


def fingerprint(wish: ResetWish) -> str:
    """Return a hash of the wish.

    A preview carries it, and an apply with another wish is refused.
    """
    fields = (wish.group, wish.topic, wish.target, wish.value, wish.source_group, sorted(set(wish.queues)), wish.method)
    return sha256(repr(fields).encode()).hexdigest()[:16]


def check_wish(wish: ResetWish) -> None:
    """Raise ActionRefused (422) if the wish lacks a value, or has a value that its target does not use."""
    if wish.target in ("time", "offset", "shift") and wish.value is None:
        raise ActionRefused(
            422, "A reset to {target} requires a value.", "Enter a value.", field="value", target=wish.target
        )
    if wish.target != "copy_of" and wish.source_group:
        raise ActionRefused(
            422, "Only copy_of uses a source group.", "Omit the source group, or choose copy_of.", field="source_group"
        )
    if wish.target == "copy_of" and not wish.source_group:
        raise ActionRefused(
            422, "No source group was chosen.", "Choose the group to copy offsets from.", field="source_group"
        )


def draw_plan(seq: int, at_ms: int, wish: ResetWish, plan: ResetPlan) -> dict[str, object]:
    """Return the plan as JSON values.

    The values that a cluster supplies are left out: the catch-up time and the times of the messages.
    """
    return {
        "seq": str(seq),
        "at_ms": at_ms,
        "group": wish.group,
        "topic": wish.topic,
        "target": wish.target,
        "value": None if wish.value is None else str(wish.value),
        "method": plan.method,
        "fingerprint": fingerprint(wish),
        "online": bool(plan.online_members),
        "online_members": len(plan.online_members),
        "members": plan.members,
        "refused": None if plan.refused is None else draw_refusal(plan.refused),
        "rows": [_draw_row(row) for row in plan.rows],
        "delivered_again": plan.again,
        "skipped": plan.skipped,
        "lag_after": sum(row.lag_after for row in plan.rows),
        "warnings": sum(len(row.notes) for row in plan.rows if row.selected),
        "catch_up_ms": None,
        "histogram": [],
    }


def draw_refusal(refused: Refusal) -> dict[str, object]:
    return {
        "message": refused.sentence,
        "hint": refused.hint,
        "pattern": refused.message,
        "values": dict(refused.values),
    }


def _draw_row(row: PlannedQueue) -> dict[str, object]:
    change = None if row.target is None or row.committed is None else row.target - row.committed
    return {
        "queue": row.mq.row,
        "broker": row.mq.broker,
        "queue_id": row.mq.queue_id,
        "min": str(row.min_offset),
        "max": str(row.max_offset),
        "committed": _text(row.committed),
        "in_memory": _text(row.in_memory),
        "target": _text(row.target),
        "change": None if change is None else f"{change:+d}" if change else "0",
        "again": row.again,
        "skipped": row.skipped,
        "notes": [
            {"code": note.code, "text": note.text.format(**note.values), "values": note.values} for note in row.notes
        ],
        "owner": row.owner,
        "selected": row.selected,
    }


def _text(offset: int | None) -> str | None:
    return None if offset is None else str(offset)
