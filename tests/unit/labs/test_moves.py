"""Which queues moved, and whether they had to, from entries written by hand."""

from sandbox.journal.events import (
    Entry,
    Event,
    MemberStateChanged,
    MessagesConsumed,
    QueuesAssigned,
    QueueTaken,
)
from sandbox.labs.evidence import Evidence
from sandbox.labs.queue_moves import Lives, given_again, moves_since, needless


def evidence(*events: Event) -> Evidence:
    """Return evidence of events numbered from 1, a second apart."""
    made = Evidence({"group": "g", "topic": "orders"})
    for seq, event in enumerate(events, start=1):
        made.add(Entry(seq, seq * 1_000, None, event))
    return made


def state(client_id: str, name: str) -> MemberStateChanged:
    return MemberStateChanged("g", client_id, name, ())


def took(client_id: str, *queue_ids: int, topic: str = "orders") -> list[Event]:
    return [QueueTaken("g", client_id, topic, "b", queue_id, 0, (), "") for queue_id in queue_ids]


def divided(client_id: str, *members: str) -> QueuesAssigned:
    return QueuesAssigned("g", client_id, "orders", "notified", "AVG", members, (), (), ())


def consumed(client_id: str, *offsets: int, outcome: str = "SUCCESS", topic: str = "orders") -> MessagesConsumed:
    keys = tuple(f"key-{offset}" for offset in offsets)
    return MessagesConsumed("g", client_id, topic, "b", 0, offsets, keys, keys, outcome, 0, 0, 1, "work")


BEGIN = (
    state("a", "starting"),
    state("b", "starting"),
    *took("a", 0, 1),
    divided("a", "a", "b"),
    *took("b", 2, 3),
    divided("b", "a", "b"),
)


def found(*events: Event) -> list[tuple[int, bool]]:
    seen = evidence(*BEGIN, *events)
    return [(int(move.queue[-1]), move.needless) for move in moves_since(seen, Lives(seen), len(BEGIN))]


def test_a_queue_of_a_member_that_left_had_to_move() -> None:
    assert found(state("a", "stopping"), *took("b", 0, 1)) == [(0, False), (1, False)]


def test_a_queue_for_a_member_that_came_had_to_move() -> None:
    assert found(state("c", "starting"), *took("c", 3), divided("c", "a", "b", "c")) == [(3, False)]


def test_between_members_that_stay_no_queue_has_to_move() -> None:
    assert found(state("c", "starting"), *took("c", 3), divided("c", "a", "b", "c"), *took("b", 1)) == [
        (3, False),
        (1, True),
    ]


def test_other_topics_are_not_counted() -> None:
    assert found(*took("b", 0, topic="%RETRY%g")) == []


def test_of_no_moves_none_is_needless() -> None:
    assert needless([]) == 0


def test_a_message_counts_as_given_again_whatever_became_of_it() -> None:
    seen = evidence(
        consumed("a", 0, 1),
        consumed("a", 2, outcome="INTERRUPTED"),
        consumed("b", 1, 2, 3),
        consumed("b", 1, topic="%RETRY%g"),
    )
    assert (given_again(seen, 0), given_again(seen, 3)) == (2, 0)
