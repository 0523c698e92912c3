"""The state at an event: the keyframe before it with the changes of the events since then.

| field | changed by |
|---|---|
| `seq`, `at_ms` | every entry |
| `rate` | ClockChanged |
| `topics[].queues[].max`, `min` | MessagesStored, MinOffsetMoved |
| `groups[].queues[].committed`, `from_zero` | OffsetCommitted (clustering) |
| `groups[].lag` | computed of both (`rows.lag`), but for the messages in the retry topic |
| `groups[].queues[].owner` | QueueTaken, QueueDropped, MemberStateChanged |
| `groups[].queues[].flow_control` | FlowControlChanged, and every change of owner |
| `groups[].queues[].cause` | every fact that names the queue |

No event carries the other fields: their values are the keyframe's.  `Folded.carried` names the fields that hold at
the event, so that a reader marks all others as the keyframe's.
"""

from collections.abc import Iterable
from copy import deepcopy
from typing import Any, NamedTuple

from sandbox.journal.events import (
    FLOW,
    BrokerStarted,
    BrokerStopped,
    ClockChanged,
    Entry,
    FlowControlChanged,
    FlowSkipped,
    GroupChanged,
    MemberStateChanged,
    MessagesStored,
    MinOffsetMoved,
    OffsetCommitted,
    OffsetsReset,
    PullAnswered,
    PullSuspended,
    QueueDropped,
    QueueTaken,
    SandboxSlept,
    SandboxWoken,
    TopicChanged,
    UnflushedLost,
)
from sandbox.message.queue import MessageQueue
from sandbox.queries.rows.lag import row_lag
from sandbox.queries.rows.snapshot import Snapshot

TOPIC_FIELDS = frozenset({"min", "max"})
GROUP_FIELDS = frozenset({"committed", "owner", "flow_control", "cause"})
SKIPPED = {"max", "committed"}  # carried by flow events only
ENDED = {"stopped", "crashed", "refused"}
BREAKS = (BrokerStarted, BrokerStopped, GroupChanged, SandboxSlept, SandboxWoken, TopicChanged, UnflushedLost)
"""After these, rows come and go and values change in ways that no event carries."""


class Folded(NamedTuple):
    """The state at an event.

    `carried`: by `topics` and `groups/<name>`, the fields of their queues that hold at the event.
    """

    snapshot: Snapshot
    carried: dict[str, frozenset[str]]


def fold(keyframe: Snapshot, entries: Iterable[Entry], at: int) -> Folded:
    """Return the state at event `at`, from the keyframe and the entries after it.

    `entries` begin after the keyframe's `seq` and continue to the next keyframe.  Those after `at` are needed for
    entries that the valve held back: they are written late and may belong before `at`.
    """
    state = _Fold(keyframe)
    for entry in entries:
        if entry.seq <= at:
            state.apply(entry)
        elif isinstance(entry.event, FlowSkipped) and entry.event.from_ms <= state.at_ms:
            state.lose(SKIPPED)
    return state.folded()


class _Fold:
    def __init__(self, keyframe: Snapshot) -> None:
        self._keyframe = keyframe
        self._snapshot: Any = deepcopy(keyframe)
        self.at_ms: int = self._snapshot["at_ms"]
        self._ends: dict[MessageQueue, Any] = {
            MessageQueue(topic["topic"], row["broker"], row["queue_id"]): row
            for topic in self._snapshot["topics"]
            for row in topic["queues"]
        }
        groups: list[Any] = [group for group in self._snapshot["groups"] if group["model"] == "CLUSTERING"]
        self._queues: dict[tuple[str, MessageQueue], Any] = {
            (group["group"], MessageQueue(row["topic"], row["broker"], row["queue_id"])): row
            for group in groups
            for row in group["queues"]
        }
        self._ours = {
            (group["group"], member["client_id"])
            for group in groups
            for member in group["members"]
            if member["transport"] == "loopback"
        }
        keys = [(group["group"], member["client_id"].partition(" ")) for group in groups for member in group["members"]]
        self._shared = {(group, client_id) for group, (client_id, more, _) in keys if more}
        self._carried = {"topics": TOPIC_FIELDS} | {f"groups/{group['group']}": GROUP_FIELDS for group in groups}

    def apply(self, entry: Entry) -> None:
        event = entry.event
        self._snapshot["seq"], self._snapshot["at_ms"], self.at_ms = str(entry.seq), entry.at_ms, entry.at_ms
        if isinstance(event, BREAKS):
            self.lose(TOPIC_FIELDS | GROUP_FIELDS)
        self._note_cause(entry)
        match event:
            case ClockChanged():
                self._snapshot["rate"] = event.rate
            case FlowSkipped():
                self.lose(SKIPPED)
            case MessagesStored():
                self._end(event, "max", event.first_offset + event.count)
            case MinOffsetMoved():
                self._end(event, "min", event.offset)
            case OffsetCommitted():
                self._row(event, committed=str(event.offset))
            case QueueTaken() | QueueDropped() if (event.group, event.client_id) in self._shared:
                self.lose({"owner"}, f"groups/{event.group}")  # which of its processes no event says
            case MemberStateChanged() if self._is_shared(event):
                self.lose({"owner"}, f"groups/{event.group}")
            case QueueTaken():
                self._ours.add((event.group, event.client_id))
                self._row(event, owner=event.client_id, flow_control=None)
            case QueueDropped():
                self._leave(event.group, event.client_id, MessageQueue(event.topic, event.broker, event.queue_id))
            case MemberStateChanged() if event.state in ENDED:
                self._leave(event.group, event.client_id, None)
            case FlowControlChanged():
                self._row(event, flow_control=event.limit)
            case PullAnswered() | PullSuspended() if (event.group, event.client_id) not in self._ours:
                self.lose({"owner"}, f"groups/{event.group}")  # of a wire client, the one that pulled last

    def lose(self, fields: Iterable[str], path: str | None = None) -> None:
        """Mark these fields as no longer carried by events: the keyframe's values are used.

        `path`: only for the queues of this list; None for all.
        """
        for name in [path] if path is not None else list(self._carried):
            if name in self._carried:
                self._carried[name] -= frozenset(fields)

    def folded(self) -> Folded:
        """Return the folded state.  Fields that events no longer cover get the keyframe's values back."""
        before: Any = self._keyframe
        for now, then in zip(self._snapshot["topics"], before["topics"], strict=True):
            self._restore(now, then, TOPIC_FIELDS - self._carried["topics"])
        for now, then in zip(self._snapshot["groups"], before["groups"], strict=True):
            self._restore(now, then, GROUP_FIELDS - self._carried.get(f"groups/{now['group']}", frozenset()))
            self._count(now)
        return Folded(self._snapshot, self._carried)

    def _count(self, group: Any) -> None:
        """Compute the group's lag if its queues and offsets hold at the event; otherwise keep the keyframe's.

        A queue with a committed offset no longer counts from 0.
        """
        for row in group["queues"]:
            if row.get("from_zero") and row["committed"] is not None:
                row["from_zero"] = False
        known_fields = self._carried.get(f"groups/{group['group']}", frozenset())
        if "max" not in self._carried["topics"] or "committed" not in known_fields or "lag" not in group:
            return
        lags = [
            row_lag({**row, "max": self._ends[mq]["max"] if mq in self._ends else None})
            for row in group["queues"]
            for mq in [MessageQueue(row["topic"], row["broker"], row["queue_id"])]
        ]
        known = [lag for lag in lags if lag is not None]
        again = group["counts"]["retrying"] or 0
        group["lag"] = str(sum(known) + again) if known or again else None

    def _restore(self, now: Any, then: Any, fields: Iterable[str]) -> None:
        for row, row_then in zip(now["queues"], then["queues"], strict=True):
            row.update({name: row_then[name] for name in fields})

    def _end(self, event: MessagesStored | MinOffsetMoved, field: str, offset: int) -> None:
        row = self._ends.get(MessageQueue(event.topic, event.broker, event.queue_id))
        if row is not None:  # others are queues of the system's topics
            row[field] = str(offset)

    def _row(self, event: OffsetCommitted | QueueTaken | FlowControlChanged, **fields: str | None) -> None:
        row = self._queues.get((event.group, MessageQueue(event.topic, event.broker, event.queue_id)))
        if row is not None:
            row.update(fields)

    def _is_shared(self, event: MemberStateChanged) -> bool:
        """Return True if several processes share the client id: a second one starts while the first holds queues."""
        member = event.group, event.client_id
        if event.state == "starting" and member in self._ours:
            self._shared.add(member)
        return member in self._shared

    def _leave(self, group: str, client_id: str, mq: MessageQueue | None) -> None:
        for (name, queue), row in self._queues.items():
            if name == group and row["owner"] == client_id and mq in (None, queue):
                row.update(owner=None, flow_control=None)

    def _note_cause(self, entry: Entry) -> None:
        event: Any = entry.event
        if type(event) in FLOW:
            return
        if isinstance(event, OffsetsReset):
            named = [(event.group, MessageQueue.from_key(row[0])) for row in event.rows]
        elif getattr(event, "queue_id", None) is not None:
            mq = MessageQueue(event.topic, event.broker, event.queue_id)
            named = [key for key in self._queues if key[1] == mq and key[0] == getattr(event, "group", key[0])]
        else:
            return
        for key in named:
            if key in self._queues:
                self._queues[key]["cause"] = str(entry.seq)
