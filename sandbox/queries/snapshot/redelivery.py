"""Messages that would be redelivered if members crashed now."""

from collections.abc import Iterable

from sandbox.cluster.actors.consumer_actor import ConsumerActor
from sandbox.message.queue import MessageQueue
from sandbox.queries.rows.groups import GroupView
from sandbox.queries.start_offset import beginning_of_next

SLAVE, UNKNOWN = "slave", "unknown"

Held = list[tuple[ConsumerActor, MessageQueue]]


def redelivered_on_crash(view: GroupView, topic: str, now_ms: int) -> int | None:
    """Return the number of messages that would be redelivered if all members of the group crashed now.

    These are the messages, finished or in processing, at or above the offset at which a new owner would begin.
    None: only wire members hold queues, and they do not report their listeners.
    """
    held = _held(view, topic)
    if not held and any(view.wire_owner(mq) is not None for mq in view.read_queues(topic)):
        return None
    again: dict[tuple[str, MessageQueue], int] = {}  # of two members with one client id both have the same messages
    for actor, mq in held:
        key = view.row_of(actor) if _keeps_its_own(actor) else actor.client_id, mq
        again[key] = max(again.get(key, 0), sum(redelivered_of(view, actor, mq, now_ms)))
    return sum(again.values())


def redelivered_of(view: GroupView, actor: ConsumerActor, mq: MessageQueue, now_ms: int) -> tuple[int, int]:
    """Return the messages of one held queue that would be redelivered: the numbers of finished and of begun ones."""
    if _keeps_its_own(actor):
        return actor.redelivered(mq, None)  # its own file says where it goes on
    begin = beginning_of_next(view, mq, actor.settings, now_ms)
    return actor.redelivered(mq, begin) if begin is not None else (0, 0)


def redelivered_notes(view: GroupView, topic: str) -> list[str]:
    """Return the notes on `redelivered_on_crash` where its offsets are not those of a running master."""
    return notes_of(view, _held(view, topic))


def notes_of(view: GroupView, held: Iterable[tuple[ConsumerActor, MessageQueue]]) -> list[str]:
    """Return the notes on these held queues.

    `slave`: a master is down and a new owner would begin at its slave's offset, up to 10 s older than the master's
    last one.  `unknown`: a master is down and has no slave, so these queues are not counted.
    """
    down = {mq.broker for actor, mq in held if mq.broker in view.down and not _keeps_its_own(actor)}
    return [
        note for note, brokers in ((SLAVE, down & view.slaves.keys()), (UNKNOWN, down - view.slaves.keys())) if brokers
    ]


def _held(view: GroupView, topic: str) -> Held:
    return [
        (actor, mq)
        for actor in view.actors
        if actor.consumer is not None and actor.lives
        for mq in actor.consumer.process_queues
        if mq.topic == topic
    ]


def _keeps_its_own(actor: ConsumerActor) -> bool:
    return actor.settings.model == "BROADCASTING" and actor.settings.offset_store == "default"
