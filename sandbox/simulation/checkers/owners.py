"""The invariant that no queue has two owners with a lock."""

from bisect import bisect_right
from typing import NamedTuple

from sandbox.journal.events import BrokerStopped, MessagesConsumed, QueueLocked
from sandbox.message.queue import MessageQueue
from sandbox.simulation.observed import Observed
from sandbox.simulation.violation import Violation

TRUSTED_MS = 30_000  # rocketmq.client.rebalance.lockMaxLiveTime: how long a member uses a lock it was granted
ANSWER_MS = 3_000  # a member counts from the answer, which may take as long as a call's timeout
FORGETFUL_MS = TRUSTED_MS + ANSWER_MS
"""A broker that ends loses its locks, and the next client to ask gets them, while the old owner still uses its own for
this long (spec broker-behaviour 6: locks live in memory, a restart loses all).  The same after a jump of a broker's
clock: it counts the 60 s of a lock on that clock.
"""


class _Grant(NamedTuple):
    at_ms: int
    seq: int
    client_id: str


def check_owners(observed: Observed) -> list[Violation]:
    """Return the queues with two owners as violations, by the members' lock state and by the messages processed."""
    stops = [
        (entry.at_ms, entry.event.broker)
        for entry in observed.entries
        if isinstance(entry.event, BrokerStopped) and entry.event.broker_id == 0
    ]
    stops += [(step.at_ms, step.fields["broker"]) for step in observed.played if step.action == "SkewClock"]
    return [*_trusting(observed, stops), *_working(observed, stops)]


def _trusting(observed: Observed, stops: list[tuple[int, str]]) -> list[Violation]:
    return [
        Violation(
            "owners",
            f"{shared.queue.key} was trusted to {' and '.join(shared.members)} of {shared.group} at {shared.at_ms}",
        )
        for shared in observed.shared
        if not _forgotten(stops, shared.queue.broker, shared.at_ms)
    ]


def _working(observed: Observed, stops: list[tuple[int, str]]) -> list[Violation]:
    """Return a violation for each member that began a message of an orderly group without the queue's lock.

    The member must have got and renewed the lock, and no other member may have got it since.
    """
    orderly = {group.name for group in observed.setup.groups if group.kind == "orderly"}
    grants: dict[tuple[str, MessageQueue], list[_Grant]] = {}
    violations: list[Violation] = []
    for entry in observed.entries:
        event = entry.event
        if isinstance(event, QueueLocked):
            queue = MessageQueue(event.topic, event.broker, event.queue_id)
            grants.setdefault((event.group, queue), []).append(_Grant(entry.at_ms, entry.seq, event.client_id))
    for entry in observed.entries:
        event = entry.event
        if not isinstance(event, MessagesConsumed) or event.group not in orderly:
            continue
        queue = MessageQueue(event.topic, event.broker, event.queue_id)
        known = grants.get((event.group, queue), [])
        before = known[: bisect_right(known, event.started_ms, key=lambda grant: grant.at_ms)]
        mine = max((n for n, grant in enumerate(before) if grant.client_id == event.client_id), default=None)
        what = f"{event.client_id} of {event.group} began {queue.key}@{event.offsets[0]} at {event.started_ms}"
        if mine is None:
            violations.append(Violation("owners", f"{what} and never had its lock"))
        elif event.started_ms - before[mine].at_ms > TRUSTED_MS + ANSWER_MS:
            violations.append(
                Violation("owners", f"{what}, {event.started_ms - before[mine].at_ms} ms after its last lock")
            )
        elif not _forgotten(stops, queue.broker, event.started_ms):
            others = [
                grant
                for grant in before[mine + 1 :]
                if grant.client_id != event.client_id and grant.at_ms < event.started_ms and grant.seq < entry.seq
            ]  # time goes back with a kill
            violations += [
                Violation("owners", f"{what}, though {other.client_id} had got its lock at {other.at_ms}")
                for other in others[:1]
            ]
    return violations


def _forgotten(stops: list[tuple[int, str]], broker: str, at_ms: int) -> bool:
    return any(broker == name and 0 <= at_ms - stopped_ms <= FORGETFUL_MS for stopped_ms, name in stops)
