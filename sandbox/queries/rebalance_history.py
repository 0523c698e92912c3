"""The history of each group's queues, from the journal's facts: rebalance rounds, moves and claims.

It lacks the time while a sandbox slept, and the rounds of external clients.
"""

from collections import Counter, deque
from collections.abc import Iterable
from typing import Any, NamedTuple

from sandbox.journal.events import (
    ActionTaken,
    Entry,
    MemberJoined,
    MemberLeft,
    MembersNotified,
    MemberStateChanged,
    QueueDropped,
    QueuesAssigned,
    QueueTaken,
    RouteLearned,
    TopicChanged,
)
from sandbox.message.queue import MessageQueue
from sandbox.queries.rows.rebalance import Happening, MoveRow, RoundRow

ROUNDS_KEPT = 48  # of all members and topics
MOVES_KEPT = 40
HAPPENINGS_KEPT = 32
GROUPS_KEPT = 64
GONE = ("crashed", "stopped", "refused")


class LetGo(NamedTuple):
    """The last release of a queue: client id, time and reason.  All None: no member held it.

    Without a time, the client still holds the queue.
    """

    client_id: str | None = None
    at_ms: int | None = None
    why: str | None = None


class GroupHistory:
    """The history of one group.  Rows are plain values, oldest first; a row may still change while it is kept."""

    def __init__(self) -> None:
        self.rounds: deque[RoundRow] = deque(maxlen=ROUNDS_KEPT)
        self.moves: deque[MoveRow] = deque(maxlen=MOVES_KEPT)
        self.happenings: deque[Happening] = deque(maxlen=HAPPENINGS_KEPT)  # events after which members rebalance
        self._claims: dict[tuple[str, str], dict[str, int]] = {}  # (client, topic) → queue key → since, ms
        self._unclaimed: dict[str, int] = {}  # queue key → when the last claim on it ended, ms
        self._holders: dict[str, dict[str, int]] = {}  # queue key → client → since, ms
        self._holds: Counter[tuple[str, str]] = Counter()  # (queue key, client) → processes with its id that hold it
        self._processes: Counter[str] = Counter()  # client → processes with its id
        self._left: dict[str, LetGo] = {}  # queue key → its last release

    def claimed_since_ms(self, client_id: str, mq: MessageQueue) -> int | None:
        return self._claims.get((client_id, mq.topic), {}).get(mq.key)

    def queues_of(self, client_id: str, since_ms: int) -> set[str]:
        """Return the keys of the queues that a client holds, or released at `since_ms` or later."""
        held = {key for key, holders in self._holders.items() if client_id in holders}
        left = {key for key, last in self._left.items() if last.client_id == client_id and _since(last.at_ms, since_ms)}
        moved = {
            move["queue"] for move in self.moves if move["from"] == client_id and _since(move["left_ms"], since_ms)
        }
        return held | left | moved

    def unclaimed_since_ms(self, mq: MessageQueue) -> int | None:
        return self._unclaimed.get(mq.key)

    def note(self, seq: int, at_ms: int, what: str, client_id: str | None = None, reason: str | None = None) -> None:
        """Record an event after which members rebalance."""
        self.happenings.append({"seq": str(seq), "at_ms": at_ms, "what": what, "who": client_id, "why": reason})

    def divided(self, seq: int, at_ms: int, event: QueuesAssigned, because: Happening | None) -> None:
        before = self._claims.get((event.client_id, event.topic), {})
        self._claims[event.client_id, event.topic] = {key: before.get(key, at_ms) for key in event.queues}
        self._ended(set(before) - set(event.queues), at_ms)
        self.rounds.append(
            {
                "seq": str(seq),
                "at_ms": at_ms,
                "client_id": event.client_id,
                "topic": event.topic,
                "trigger": event.trigger,
                "strategy": event.strategy or None,
                "members": len(event.members),
                "queues": len(event.queues),
                "added": list(event.added),
                "dropped": list(event.dropped),
                "because": because,
                "behind_ms": None if because is None else at_ms - because["at_ms"],
            }
        )
        for move in self.moves:  # they were notified just before their round
            if move["because"] is None and move["to"] == event.client_id and move["queue"] in event.added:
                move["because"], move["round"] = because, str(seq)

    def last_round_ms(self, client_id: str, topic: str) -> int:
        """Return the time of the member's last recorded assignment of the topic, or -1."""
        return next(
            (row["at_ms"] for row in reversed(self.rounds) if row["client_id"] == client_id and row["topic"] == topic),
            -1,
        )

    def taken(self, seq: int, at_ms: int, event: QueueTaken) -> None:
        key = MessageQueue(event.topic, event.broker, event.queue_id).key
        holders = self._holders.setdefault(key, {})
        still = next((client for client in holders if client != event.client_id), None)
        if still is None and event.client_id in holders:
            still = event.client_id  # another process with its client id has it
        source, left_ms, reason = self._left.get(key, LetGo()) if still is None else LetGo(still)
        holders[event.client_id] = at_ms
        self._holds[key, event.client_id] += 1
        self.moves.append(
            {
                "seq": str(seq),
                "queue": key,
                "from": source,
                "to": event.client_id,
                "left_ms": left_ms,
                "left_why": reason,
                "taken_ms": at_ms,
                "start_offset": str(event.start_offset),
                "because": None,
                "round": None,
            }
        )

    def dropped(self, at_ms: int, client_id: str, key: str, reason: str) -> None:
        self._holds[key, client_id] -= 1
        if self._holds[key, client_id] > 0:
            return  # another process with its client id has it still
        del self._holds[key, client_id]
        self._holders.get(key, {}).pop(client_id, None)
        self._left[key] = LetGo(client_id, at_ms, reason)
        for move in self.moves:  # another member had taken it before
            if move["queue"] == key and move["from"] == client_id and move["left_ms"] is None:
                move["left_ms"], move["left_why"] = at_ms, reason

    def gone(self, at_ms: int, client_id: str, reason: str) -> None:
        """Record the end of a process: its claims and holds end, unless another process with its client id runs."""
        self._processes[client_id] -= 1
        left = self._processes[client_id]
        if left > 0:
            for pair in [pair for pair in self._holds if pair[1] == client_id]:
                self._holds[pair] = min(left, self._holds[pair])
            return
        del self._processes[client_id]
        for pair in [pair for pair in self._holds if pair[1] == client_id]:
            del self._holds[pair]
        for pair in [pair for pair in self._claims if pair[0] == client_id]:
            self._ended(self._claims.pop(pair), at_ms)
        for key in [key for key, holders in self._holders.items() if client_id in holders]:
            self.dropped(at_ms, client_id, key, reason)

    def began(self, client_id: str) -> None:
        """Record the start of a process with this client id."""
        self._processes[client_id] += 1

    def _ended(self, keys: Iterable[str], at_ms: int) -> None:
        self._unclaimed |= dict.fromkeys(keys, at_ms)


class RebalanceHistory:
    """The history of all groups of a sandbox; at the limit the group without facts for longest is dropped."""

    def __init__(self) -> None:
        self._groups: dict[str, GroupHistory] = {}
        self._topics: dict[str, Happening] = {}  # topic → its last change
        self._routes: dict[tuple[str, str], Happening] = {}  # (client, topic) → when it last learned a new route

    def group(self, name: str) -> GroupHistory:
        """Return the history of a group, empty without facts."""
        return self._groups.get(name) or GroupHistory()

    def note(self, entry: Entry) -> None:
        """Record a journal entry if it is a fact about queues or members."""
        seq, at_ms, _, event, _ = entry
        match event:
            case QueuesAssigned():
                self._of(event.group).divided(seq, at_ms, event, self._because(event))
            case QueueTaken():
                self._of(event.group).taken(seq, at_ms, event)
            case QueueDropped():
                key = MessageQueue(event.topic, event.broker, event.queue_id).key
                self._of(event.group).dropped(at_ms, event.client_id, key, event.reason)
            case MemberStateChanged():
                self._state(seq, at_ms, event)
            case MemberJoined():
                self._of(event.group).note(seq, at_ms, "joined", event.client_id, event.broker)
            case MemberLeft():
                self._of(event.group).note(seq, at_ms, "left", event.client_id, event.reason)
            case MembersNotified(why="topics"):
                self._of(event.group).note(seq, at_ms, "topics", None, event.broker)
            case TopicChanged():
                self._topics[event.topic] = {
                    "seq": str(seq),
                    "at_ms": at_ms,
                    "what": "topic",
                    "who": event.broker,
                    "why": event.how,
                }
            case RouteLearned():
                changed = self._topics.get(event.topic)
                self._routes[event.client_id, event.topic] = {
                    "seq": str(seq),
                    "at_ms": at_ms,
                    "what": "route",
                    "who": event.name_server,
                    "why": None,
                    "topic_changed_ms": None if changed is None else changed["at_ms"],
                }
                _bound(self._routes, 4 * GROUPS_KEPT)
            case ActionTaken(action="SetStrategy"):
                self._of(str(event.fields.get("group"))).note(
                    seq, at_ms, "strategy", event.by, str(event.fields.get("strategy"))
                )

    def _state(self, seq: int, at_ms: int, event: MemberStateChanged) -> None:
        group = self._of(event.group)
        if event.state in GONE:
            group.gone(at_ms, event.client_id, event.state)
        elif event.state == "starting":
            group.began(event.client_id)
        elif event.state == "running":
            group.note(seq, at_ms, "running", event.client_id)

    def _because(self, event: QueuesAssigned) -> Happening | None:
        """Return the newest event that can have reached this member since its last assignment of the topic.

        A notification is about members and topics; a round by the timer may have any cause.
        """
        group = self._of(event.group)
        since_ms = group.last_round_ms(event.client_id, event.topic)
        heard = {"notified": ("joined", "left", "topics"), "started": ("running",), "resumed": ("running",)}
        kinds = heard.get(event.trigger, ("joined", "left", "topics", "strategy"))
        causes = [
            row
            for row in group.happenings
            if row["what"] in kinds
            and row["at_ms"] >= since_ms
            and (row["what"] != "running" or row["who"] == event.client_id)
        ]
        route = self._routes.get((event.client_id, event.topic))
        if event.trigger == "timer" and route is not None and route["at_ms"] >= since_ms:
            causes.append(route)
        return max(causes, key=lambda row: (row["at_ms"], int(row["seq"])), default=None)

    def _of(self, name: str) -> GroupHistory:
        group = self._groups.pop(name, None) or GroupHistory()
        self._groups[name] = group
        _bound(self._groups, GROUPS_KEPT)
        return group


def _since(at_ms: int | None, since_ms: int) -> bool:
    return at_ms is not None and at_ms >= since_ms


def _bound(table: dict[Any, Any], most: int) -> None:
    while len(table) > most:
        del table[next(iter(table))]
