"""Recent journal facts about each client process: its steps, its states, the queues it acquired, and its refusals.

A dead process has no objects left to read; these facts remain.
"""

from sandbox.journal.events import (
    Entry,
    LifecycleStep,
    LockDenied,
    MemberStateChanged,
    QueueDropped,
    QueuesAssigned,
    QueueTaken,
    RouteLearned,
)
from sandbox.message.queue import MessageQueue
from sandbox.queries.rows.clients import MarkRow, StateRow, StepRow

CLIENTS_KEPT = 128
STEPS_KEPT = 48  # of one process: two phases of each group it hosts
STATES_KEPT = 24
MARKS_KEPT = 48


class ClientLife:
    """Facts about one client process.  Rows are plain values, oldest first.

    The first half of the marks is never dropped.
    """

    __slots__ = ("began_ms", "group", "marks", "states", "steps", "unfinished")

    def __init__(self, began_ms: int) -> None:
        self.began_ms = began_ms
        self.group: str | None = None
        self.steps: list[StepRow] = []
        self.states: list[StateRow] = []
        self.marks: list[MarkRow] = []
        self.unfinished: dict[str, list[list[str]]] = {}  # queue key → offset runs, as it hung, stopped or died

    def step(self, at_ms: int, event: LifecycleStep) -> None:
        self.steps.append(
            {
                "group": event.group,
                "phase": event.phase,
                "step": event.step,
                "name": event.name,
                "began_ms": at_ms - event.took_ms,
                "took_ms": event.took_ms,
            }
        )
        del self.steps[:-STEPS_KEPT]

    def state(self, at_ms: int, event: MemberStateChanged) -> None:
        self.states.append({"at_ms": at_ms, "state": event.state, "group": event.group})
        del self.states[:-STATES_KEPT]
        if event.unfinished:
            self.unfinished = {key: [[str(first), str(last)] for first, last in runs] for key, runs in event.unfinished}

    def mark(self, row: MarkRow) -> None:
        self.marks.append(row)
        if len(self.marks) > MARKS_KEPT:
            del self.marks[MARKS_KEPT // 2]  # keep the first half: the start of a process matters most


class ClientLives:
    """Client lives by client id.  At the limit, the process whose last fact is oldest is dropped first."""

    def __init__(self) -> None:
        self._lives: dict[str, ClientLife] = {}

    def get(self, client_id: str) -> ClientLife | None:
        return self._lives.get(client_id)

    def known(self) -> list[str]:
        return list(self._lives)

    def note(self, entry: Entry) -> None:
        """Record a journal entry if it is a fact about a client process."""
        seq, at_ms, _, event, _ = entry
        match event:
            case LifecycleStep():
                self._of(event.client_id, at_ms, event.group).step(at_ms, event)
            case MemberStateChanged():
                self._of(event.client_id, at_ms, event.group).state(at_ms, event)
            case RouteLearned():
                self._of(event.client_id, at_ms).mark(
                    {"seq": str(seq), "at_ms": at_ms, "what": "route", "topic": event.topic}
                )
            case QueuesAssigned():
                self._of(event.client_id, at_ms, event.group).mark(
                    {
                        "seq": str(seq),
                        "at_ms": at_ms,
                        "what": "assigned",
                        "topic": event.topic,
                        "trigger": event.trigger,
                        "count": len(event.queues),
                    }
                )
            case QueueTaken():
                self._of(event.client_id, at_ms, event.group).mark(
                    {
                        "seq": str(seq),
                        "at_ms": at_ms,
                        "what": "taken",
                        "queue": _queue(event),
                        "offset": str(event.start_offset),
                        "trace": list(event.trace),
                    }
                )
            case QueueDropped():
                self._of(event.client_id, at_ms, event.group).mark(
                    {"seq": str(seq), "at_ms": at_ms, "what": "dropped", "queue": _queue(event), "reason": event.reason}
                )
            case LockDenied():
                self._of(event.client_id, at_ms, event.group).mark(
                    {
                        "seq": str(seq),
                        "at_ms": at_ms,
                        "what": "denied",
                        "queue": _queue(event),
                        "holder": event.holder,
                        "left_ms": event.left_ms,
                    }
                )

    def _of(self, client_id: str, at_ms: int, group: str | None = None) -> ClientLife:
        life = self._lives.pop(client_id, None) or ClientLife(at_ms)
        life.group = life.group or group
        self._lives[client_id] = life
        if len(self._lives) > CLIENTS_KEPT:
            del self._lives[next(iter(self._lives))]
        return life


def _queue(event: QueueTaken | QueueDropped | LockDenied) -> str:
    return MessageQueue(event.topic, event.broker, event.queue_id).key
