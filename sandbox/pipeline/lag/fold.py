"""The computation of lag rows from the entries of one journal, in order: a row per group, queue and second.

A second without changes has rows too.  A second is emitted when no entry of it can come any more.  Sequence numbers
rise with time, so that is when everything in it is *proven*.  The valve holds back flow events, and `FlowSkipped`
comes afterwards and names them.  A written flow event, a `FlowSkipped` or a keyframe shows that nothing older is
held back.  Facts wait until then.  This is the watermark: each sandbox has its own, as it has its own clock.

Values are unknown, never zero, where `FlowSkipped` covers them, where a crash or a full journal lost entries
(sequence numbers are missing), and where a killed broker keeps them.  A keyframe, or the next commit and the next
message, make them known again.
"""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from sandbox.journal.events import (
    FLOW,
    ActionTaken,
    BrokerStarted,
    BrokerStopped,
    ClockChanged,
    FlowSkipped,
    GroupChanged,
    Keyframe,
    MemberJoined,
    MemberLeft,
    MessagesStored,
    MinOffsetMoved,
    OffsetCommitted,
    QueueTaken,
    SubscriptionChanged,
    TopicChanged,
)
from sandbox.kernel import json_bytes
from sandbox.pipeline.lag.group_state import GroupState, Key, Slot
from sandbox.pipeline.lag.rows import SECOND_MS, WIDTHS_MS, Figures, Row

CARRY_AT_MOST_MS = 3_600_000
"""Brokers write every 30 s that they run: a journal without entries for longer was of a stopped sandbox."""

_Apply = Callable[["Fold", dict[str, object], int], None]


class JournalLine(NamedTuple):
    """An entry of the journal source; `line` (its fields as JSON) is set only for events in `WANTED`."""

    seq: int
    at_ms: int
    event: str
    line: str | None


class Held(NamedTuple):
    """An entry that waits until its second is proven."""

    at_ms: int
    event: str
    fields: dict[str, Any]


class Fold:
    """The computation over one journal.

    Call `take` with entries in order, then read `rows`, the emitted rows by table.  Empty them and continue.
    """

    def __init__(self) -> None:
        self.state = GroupState()
        self.seq: int | None = None  # of the last entry
        self.at_ms = 0  # its time
        self.proven_ms = 0
        self.true_to: int | None = None  # the last entry that is in the rows
        self.open_ms: int | None = None  # start of the open second
        self.held: list[Held] = []
        self.rows: dict[str, list[Row]] = {"seconds": [], **{name: [] for name in WIDTHS_MS}}

    def take(self, entries: Iterable[JournalLine]) -> None:
        for seq, at_ms, event, line in entries:
            if self.seq is not None and seq <= self.seq:
                continue
            at_ms = max(at_ms, self.at_ms)
            if self.seq is None:
                self._begin(seq, at_ms)
            elif seq != self.seq + 1:
                self._prove(at_ms, is_blind=True)
                self.state.lose_all()
            self.seq, self.at_ms = seq, at_ms
            if line is not None:
                self.held.append(Held(at_ms, event, json_bytes.loads(line)))
            if event in PROVING:
                self._prove(at_ms)
        self.state.trim()

    # Proof.

    def _begin(self, seq: int, at_ms: int) -> None:
        self.open_ms = at_ms - at_ms % SECOND_MS
        self.proven_ms = at_ms
        if seq == 0:
            self.state.is_known = self.state.commits_are_known = True
        else:
            self.state.lose_all()

    def _prove(self, at_ms: int, *, is_blind: bool = False) -> None:
        """Apply all waiting entries: up to `at_ms` none can be missing, except those held back or lost.

        `is_blind`: entries since `proven_ms` are lost.
        """
        held, self.held = self.held, []
        last = held[-1] if held else None
        skipped = last.fields if last is not None and last.event == "FlowSkipped" else None
        if is_blind:
            self._pass(held, from_ms=self.proven_ms, to_ms=at_ms, lose=self.state.lose_all)
        elif skipped is not None:
            self._pass(held[:-1], from_ms=skipped["from_ms"], to_ms=at_ms, lose=lambda: self._skip(skipped))
            for key, _, end in skipped["stored"]:
                self.state.queue(_key(key)).ends_at(end + 1, counted=False)
        else:
            self._pass(held, from_ms=None, to_ms=at_ms, lose=lambda: None)
        self.proven_ms = at_ms
        self.true_to = self.seq

    def _pass(self, held: list[Held], *, from_ms: int | None, to_ms: int, lose: Callable[[], None]) -> None:
        """Apply these entries in order and emit the seconds up to `to_ms`.

        From `from_ms` on every second begins with `lose`.
        """
        lost = False
        for entry in [*held, None]:
            at_ms = to_ms if entry is None else entry.at_ms
            if from_ms is not None and at_ms >= from_ms and not lost:
                self._advance(from_ms, lambda: None)
                lose()
                lost = True
            if entry is not None and entry.event == "ClockChanged" and entry.fields["reason"] == "jump":
                self._leap(at_ms)
            self._advance(at_ms, lose if lost else lambda: None)
            if entry is not None and (apply := APPLY.get(entry.event)) is not None:
                apply(self, entry.fields, entry.at_ms)
                if lost:
                    lose()

    def _skip(self, skipped: dict[str, Any]) -> None:
        for key, _, _ in skipped["stored"]:
            queue = self.state.queue(_key(key))
            queue.lose()
            queue.produced = None
        if skipped["others"]:  # these may contain commits
            self.state.lose_commits()

    # Seconds.

    def _advance(self, at_ms: int, begin: Callable[[], None]) -> None:
        """Emit the seconds that end at or before `at_ms`; call `begin` at the start of each following one.

        After a long gap jump instead of carrying values on.
        """
        assert self.open_ms is not None
        if at_ms - self.open_ms > CARRY_AT_MOST_MS:
            self._leap(at_ms)
        while self.open_ms + SECOND_MS <= at_ms:
            self._close()
            begin()

    def _leap(self, at_ms: int) -> None:
        """Close the open second after a jump of the clock and continue at `at_ms`; the skipped time has no rows."""
        assert self.open_ms is not None
        if at_ms - at_ms % SECOND_MS > self.open_ms:
            self._close()
            self._flush(tuple(WIDTHS_MS))
            self.open_ms = at_ms - at_ms % SECOND_MS

    def _close(self) -> None:
        assert self.open_ms is not None
        begin, end = self.open_ms, self.open_ms + SECOND_MS
        for slot, figures in self.state.second(end):
            self._out("seconds", slot, begin, figures)
            for name, width_ms in WIDTHS_MS.items():
                slot.rolls[name].add(begin - begin % width_ms, figures)
        self._flush(tuple(name for name, width_ms in WIDTHS_MS.items() if end % width_ms == 0))
        self.open_ms = end

    def _flush(self, names: tuple[str, ...]) -> None:
        for slot in self.state.slots.values() if names else ():
            for name in names:
                roll = slot.rolls[name]
                if roll.from_ms is not None:
                    self._out(name, slot, roll.from_ms, roll.figures)
                    roll.from_ms = None

    def _out(self, table: str, slot: Slot, from_ms: int, figures: Figures) -> None:
        self.rows[table].append(Row(slot.group, slot.key[0], slot.queue, from_ms, figures))

    # Events.

    def _stored(self, row: dict[str, Any], at_ms: int) -> None:
        self.state.queue(_place(row)).stored(row["first_offset"], row["count"], at_ms)

    def _committed(self, row: dict[str, Any], at_ms: int) -> None:
        slot = self.state.slot(row["group"], _place(row), row["client_id"])
        slot.commits(row["offset"], row["previous"], row["by"])

    def _taken(self, row: dict[str, Any], at_ms: int) -> None:
        self.state.slot(row["group"], _place(row), row["client_id"]).start = row["start_offset"]

    def _min_moved(self, row: dict[str, Any], at_ms: int) -> None:
        self.state.queue(_place(row)).min_offset = row["offset"]

    def _topic(self, row: dict[str, Any], at_ms: int) -> None:
        self.state.topic(row["topic"], row["broker"], row["read_queues"], row["permission"], row["how"])

    def _subscribed(self, row: dict[str, Any], at_ms: int) -> None:
        self.state.subscribe(row["group"], row["topic"], on=row["replaced"] is None or bool(row["expression"]))

    def _joined(self, row: dict[str, Any], at_ms: int) -> None:
        self.state.models[row["group"]] = row["model"]

    def _left(self, row: dict[str, Any], at_ms: int) -> None:
        self.state.leave(row["group"], row["client_id"])

    def _group(self, row: dict[str, Any], at_ms: int) -> None:
        if row["changes"].get("deleted"):
            self.state.delete_group(row["group"], row["broker"])

    def _stopped(self, row: dict[str, Any], at_ms: int) -> None:
        if row["broker_id"] == 0 and row["how"] != "clean":
            self.state.unclean.add(row["broker"])
            self.state.lose_broker(row["broker"])

    def _started(self, row: dict[str, object], at_ms: int) -> None:
        if row["broker_id"] == 0 and row["broker"] in self.state.unclean:
            self.state.unclean.discard(row["broker"])
            self.state.lose_broker(row["broker"])

    def _acted(self, row: dict[str, Any], at_ms: int) -> None:
        if row["action"] == "PromoteSlave":  # its log and its offsets may differ from its master's
            self.state.unclean.add(row["fields"]["broker"])

    def _drawn(self, row: dict[str, Any], at_ms: int) -> None:
        self.state.draw(row["snapshot"])


def _place(row: dict[str, Any]) -> Key:
    return row["topic"], row["broker"], row["queue_id"]


def _key(text: str) -> Key:
    topic, broker, queue_id = text.rsplit("/", 2)
    return topic, broker, int(queue_id)


APPLY: dict[str, _Apply] = {
    event.__name__: apply
    for event, apply in {
        MessagesStored: Fold._stored,
        OffsetCommitted: Fold._committed,
        QueueTaken: Fold._taken,
        MinOffsetMoved: Fold._min_moved,
        TopicChanged: Fold._topic,
        SubscriptionChanged: Fold._subscribed,
        MemberJoined: Fold._joined,
        MemberLeft: Fold._left,
        GroupChanged: Fold._group,
        BrokerStopped: Fold._stopped,
        BrokerStarted: Fold._started,
        ActionTaken: Fold._acted,
        Keyframe: Fold._drawn,
    }.items()
}

WANTED: frozenset[str] = frozenset(APPLY) | {FlowSkipped.__name__, ClockChanged.__name__}
"""Events whose lines are needed; of the others only seq and time are."""

PROVING: frozenset[str] = frozenset(event.__name__ for event in FLOW) | {FlowSkipped.__name__, Keyframe.__name__}
