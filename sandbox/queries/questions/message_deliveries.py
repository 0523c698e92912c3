"""Pulls and deliveries of some messages, from the journal's memory."""

from collections.abc import Mapping
from typing import NamedTuple

from sandbox.cluster.cluster import Cluster
from sandbox.journal.events import (
    Entry,
    Event,
    FlowSkipped,
    MessageConsumedOnce,
    MessagesConsumed,
    MessagesFiltered,
    MessagesStored,
    PullAnswered,
)
from sandbox.message.queue import MessageQueue
from sandbox.queries.queue_history import OfQueue, QueueKey
from sandbox.queries.snapshot_cache import cache_of
from sandbox.remoting.codes import ResponseCode

Row = dict[str, object]
Places = Mapping[QueueKey, Mapping[int, int]]
"""Queue → offset → step of the chain."""

ROWS = 100  # of deliveries, and of pulls, of one group: the newest


class Heard(NamedTuple):
    """Facts about some messages from the journal's memory.

    `deliveries` and `pulls` by group, oldest first.  `stored`: by step, the seq of its MessagesStored.  `from_ms`:
    begin of the memory.  `skipped`: details of one of the messages were left out of the journal.
    """

    deliveries: dict[str, list[Row]]
    pulls: dict[str, list[Row]]
    stored: dict[int, str]
    from_ms: int | None
    from_seq: int
    skipped: bool


def heard_of(cluster: Cluster, places: Places) -> Heard:
    """Return the pulls, deliveries and stores of these messages in the journal's memory (10 000 entries)."""
    journal, history = cluster.journal, cache_of(cluster).queue_history
    history.read(journal)
    heard = Heard(
        {},
        {},
        {},
        journal.memory_from_ms,
        journal.first_in_memory,
        skipped=any(_covers(entry.event, places) for entry in history.skips),
    )
    for entry in sorted((entry for key in places for entry in history.of(key)), key=lambda entry: entry.seq):
        event = entry.event
        assert isinstance(event, OfQueue)
        _note(cluster, heard, entry, places[event.topic, event.broker, event.queue_id])
    return heard


def _note(cluster: Cluster, heard: Heard, entry: Entry, steps: Mapping[int, int]) -> None:
    seq, at_ms, _, event, _ = entry
    match event:
        case MessagesConsumed():
            for offset in event.offsets:
                if offset in steps:
                    _add(
                        heard.deliveries,
                        event.group,
                        {
                            "seq": str(seq),
                            "step": steps[offset],
                            "client_id": event.client_id,
                            "actor": cluster.actors.names_of(event.client_id),
                            "started_ms": event.started_ms,
                            "ended_ms": at_ms,
                            "outcome": event.outcome,
                            "reconsume_times": event.reconsume_times,
                            "thread": event.thread,
                            "handler": event.handler,
                            "batch": len(event.offsets),
                            "once": False,
                        },
                    )
        case MessageConsumedOnce() if event.offset in steps:
            _add(
                heard.deliveries,
                event.group,
                {
                    "seq": str(seq),
                    "step": steps[event.offset],
                    "client_id": event.client_id,
                    "actor": cluster.actors.names_of(event.client_id),
                    "started_ms": at_ms - event.took_ms,
                    "ended_ms": at_ms,
                    "outcome": event.result,
                    "reconsume_times": None,
                    "thread": None,
                    "handler": None,
                    "batch": 1,
                    "once": True,
                },
            )
        case MessagesFiltered():
            for offset in event.offsets:
                if offset in steps:
                    _add(heard.pulls, event.group, _pull(cluster, seq, at_ms, event, steps[offset], "filtered"))
        case PullAnswered(code=ResponseCode.SUCCESS):
            for offset, step in steps.items():
                if event.asked <= offset < event.next_offset:
                    _add(heard.pulls, event.group, _pull(cluster, seq, at_ms, event, step, "pulled"))
        case MessagesStored():
            for offset, step in steps.items():
                if event.first_offset <= offset < event.first_offset + event.count:
                    heard.stored[step] = str(seq)


def _pull(cluster: Cluster, seq: int, at_ms: int, event: MessagesFiltered | PullAnswered, step: int, what: str) -> Row:
    return {
        "seq": str(seq),
        "step": step,
        "client_id": event.client_id,
        "actor": cluster.actors.names_of(event.client_id),
        "at_ms": at_ms,
        "what": what,
    }


def _add(table: dict[str, list[Row]], group: str, row: Row) -> None:
    rows = table.setdefault(group, [])
    rows.append(row)
    del rows[:-ROWS]


def _covers(event: Event, places: Places) -> bool:
    """Return True if `event` says that pulls or deliveries of one of the messages were left out of the journal.

    A range is `<group> <queue key>`, first and last offset.
    """
    assert isinstance(event, FlowSkipped)
    for name, first, last in (*event.pulled, *event.consumed):
        mq = MessageQueue.from_key(name.rpartition(" ")[2])
        steps = places.get((mq.topic, mq.broker, mq.queue_id))
        if steps and any(first <= offset <= last for offset in steps):
            return True
    return False
