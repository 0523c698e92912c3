"""Measures of the evidence that several labs use: lag at a time, rates, repetitions, newest changes."""

from collections import Counter

from sandbox.journal.events import ActionTaken, MemberStateChanged, MessagesStored, OffsetCommitted, TopicChanged
from sandbox.journal.events.members import ENDED
from sandbox.labs.evidence import Delivery, Evidence, Seen, queue_of


def lag_at(evidence: Evidence, group: str, topic: str, at_ms: int) -> int:
    """Return the number of messages that were stored and not committed at `at_ms`."""
    ends: dict[str, int] = {}
    for stored in evidence.of(MessagesStored, since=0):
        if stored.at_ms <= at_ms and stored.event.topic == topic:
            ends[queue_of(stored.event)] = stored.event.first_offset + stored.event.count
    commits: dict[str, int] = {}
    for commit in evidence.of(OffsetCommitted, since=0):
        if commit.at_ms <= at_ms and (commit.event.group, commit.event.topic) == (group, topic):
            commits[queue_of(commit.event)] = commit.event.offset
    return sum(end - commits.get(queue, 0) for queue, end in ends.items())


def finished_per_s(evidence: Evidence, group: str, over_s: int) -> float:
    """Return the messages per second that listeners finished with success, over the last `over_s` seconds."""
    first_ms = evidence.now_ms - over_s * 1000
    count = 0
    for row in reversed(evidence.deliveries):
        if row.at_ms <= first_ms:
            break
        count += row.group == group and row.outcome == "SUCCESS"
    return count / over_s


def finished_twice(rows: list[Delivery]) -> list[Delivery]:
    """Return the successes of an offset that had succeeded before in the same group."""
    entry: Counter[tuple[str, str, int]] = Counter()
    again = []
    for row in rows:
        if row.outcome == "SUCCESS":
            entry[row.group, row.queue, row.offset] += 1
            if entry[row.group, row.queue, row.offset] > 1:
                again.append(row)
    return again


def out_of_order(rows: list[Delivery]) -> list[Delivery]:
    """Return the successes that do not directly follow the previous one in their queue, ordered by their end."""
    following: dict[tuple[str, str], int] = {}
    unordered = []
    for row in rows:
        queue = row.group, row.queue
        if row.outcome == "SUCCESS":
            if row.offset != following.get(queue, row.offset):
                unordered.append(row)
            following[queue] = row.offset + 1
    return unordered


def unfinished(evidence: Evidence, group: str, queues: list[str], before: int | None = None) -> int:
    """Count the messages of these queues that no listener finished with success, now or before an event."""
    done = {
        (row.queue, row.offset)
        for row in evidence.deliveries
        if row.group == group and row.outcome == "SUCCESS" and (before is None or row.seq < before)
    }
    finished = Counter(queue for queue, _offset in done)
    return sum(evidence.end(queue) - finished[queue] for queue in queues)


def last_end(evidence: Evidence, group: str) -> Seen[MemberStateChanged] | None:
    """Return the end of the member that ended last if no member of the group is alive; None if one is."""
    newest = {entry.event.client_id: entry for entry in evidence.of(MemberStateChanged, since=0, group=group)}
    if any(entry.event.state not in ENDED for entry in newest.values()):
        return None
    return max(newest.values(), default=None, key=lambda entry: entry.seq)


def sends(evidence: Evidence, *, since: int | None = None) -> list[Seen[ActionTaken]]:
    """List the student's sends to the lab's topic, in the open step or since an event."""
    return [
        entry
        for entry in evidence.actions("SendMessages", since=since)
        if entry.event.fields["topic"] == evidence.numbers["topic"]
    ]


def stored_by(evidence: Evidence, send: Seen[ActionTaken]) -> list[Seen[MessagesStored]]:
    """List the messages stored in the lab's topic since a send."""
    return [
        entry for entry in evidence.of(MessagesStored, since=send.seq) if entry.event.topic == evidence.numbers["topic"]
    ]


def keys_of(send: Seen[ActionTaken]) -> list[str]:
    """Return the keys of the messages that a SendMessages sends."""
    fields = send.event.fields
    if fields["rows"]:
        return [row["key"] for row in fields["rows"]]
    return [fields["key"].replace("{n}", str(number)) for number in range(1, (fields["count"] or 1) + 1)]


def records_of(evidence: Evidence, key: str, since: int | None = None) -> dict[int, Delivery]:
    """Return the first delivery of each message with this key to the lab's group, by offset.

    The group reads one queue and receives all messages.
    """
    records: dict[int, Delivery] = {}
    for row in evidence.deliveries_of(evidence.numbers["group"], since=since):
        if row.key == key:
            records.setdefault(row.offset, row)
    return records


def done_to(
    evidence: Evidence, broker: str, *names: str, broker_id: int = 0, since: int | None = None
) -> Seen[ActionTaken] | None:
    """Return the newest of these actions on a broker, in the open step or since an event; None if there is none."""
    entries = [
        entry
        for name in names
        for entry in evidence.actions(name, since=since)
        if (entry.event.fields["broker"], entry.event.fields["broker_id"]) == (broker, broker_id)
    ]
    return max(entries, default=None, key=lambda entry: entry.seq)


def newest_change(evidence: Evidence, topic: str) -> Seen[TopicChanged] | None:
    """Return the newest change of the topic's numbers of queues in the open step."""
    changes = [entry for entry in evidence.of(TopicChanged) if entry.event.topic == topic]
    return changes[-1] if changes else None


def assignments(evidence: Evidence, group: str, topic: str) -> tuple[int, ...]:
    """Return the seqs of the newest assignment of each live member."""
    return tuple(entry.seq for entry in evidence.assigned(group, topic).values())
