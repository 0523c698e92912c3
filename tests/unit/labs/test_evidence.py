"""Queries of checks on hand-written entries."""

import pytest

from sandbox.journal.events import (
    ActionTaken,
    Entry,
    Event,
    MemberStateChanged,
    MessagesConsumed,
    MessagesStored,
    OffsetCommitted,
    QueuesAssigned,
)
from sandbox.kernel.errors import ActionRefused
from sandbox.labs.attempt import Attempt
from sandbox.labs.catalogue import LABS
from sandbox.labs.evidence import SETUP, Evidence, first, last
from sandbox.labs.evidence_measures import done_to, finished_per_s, finished_twice, lag_at, out_of_order, unfinished
from sandbox.labs.lab import Truth
from sandbox.labs.truths import count_of, field_of, seconds_between
from sandbox.labs.verdict import Verdict

QUEUE = "orders/b/0"


def evidence(*events: tuple[int, Event], began: int = 0, cause: int | None = None) -> Evidence:
    """Return evidence of events with their times, numbered from 1."""
    made = Evidence({}, began)
    for seq, (at_ms, event) in enumerate(events, start=1):
        made.add(Entry(seq, at_ms, cause, event))
    return made


def stored(first: int, count: int) -> MessagesStored:
    return MessagesStored("orders", "b", 0, first, count, 0, 0)


def consumed(*offsets: int, outcome: str = "SUCCESS") -> MessagesConsumed:
    keys = tuple(f"key-{offset}" for offset in offsets)
    return MessagesConsumed("g", "c1", "orders", "b", 0, offsets, keys, keys, outcome, 0, 0, 1, "work")


def committed(offset: int) -> OffsetCommitted:
    return OffsetCommitted("g", "orders", "b", 0, offset, None, "timer", "c1")


def test_lag_is_what_is_stored_and_not_committed_then_and_now() -> None:
    found = evidence((0, stored(0, 10)), (1_000, committed(4)), (2_000, stored(10, 5)), (3_000, committed(12)))
    assert found.lag("g", "orders") == 3
    assert [lag_at(found, "g", "orders", at_ms) for at_ms in (0, 1_000, 2_500, 9_000)] == [10, 6, 11, 3]


def test_a_message_counts_as_finished_twice_by_its_queue_and_offset() -> None:
    found = evidence((0, stored(0, 4)), (1, consumed(0, 1)), (2, consumed(1, outcome="LATER")), (3, consumed(1, 2)))
    assert [row.offset for row in finished_twice(found.deliveries)] == [1]
    assert unfinished(found, "g", found.queues_of("orders")) == 1


def test_out_of_order_is_what_does_not_follow_the_one_before_it() -> None:
    found = evidence(
        (0, consumed(3)), (1, consumed(4, outcome="FAILED")), (2, consumed(4)), (3, consumed(6)), (4, consumed(5, 6))
    )
    assert [row.offset for row in out_of_order(found.deliveries)] == [6, 5]


def test_what_was_done_last_to_a_broker_is_known_apart_from_its_slave() -> None:
    found = evidence(
        *(
            (at_ms, ActionTaken(name, {"broker": "b", "broker_id": broker_id}, "owner"))
            for at_ms, (name, broker_id) in enumerate(
                (("HangBroker", 0), ("KillBroker", 0), ("KillBroker", 1), ("StartBroker", 0))
            )
        )
    )
    newest = done_to(found, "b", "KillBroker", "HangBroker")
    slave = done_to(found, "b", "KillBroker", broker_id=1)
    assert newest is not None
    assert slave is not None
    assert (newest.seq, slave.seq, done_to(found, "other", "KillBroker")) == (2, 3, None)


def test_a_rate_is_of_the_last_seconds() -> None:
    found = evidence((0, consumed(0)), (5_000, consumed(1, 2)), (10_000, consumed(3)))
    assert finished_per_s(found, "g", 10) == 0.3


def test_what_came_before_the_step_is_left_out_unless_asked_for() -> None:
    found = evidence((0, stored(0, 1)), (1, stored(1, 1)), (2, stored(2, 1)), began=2)
    assert [seen.seq for seen in found.of(MessagesStored)] == [3]
    assert [seen.seq for seen in found.of(MessagesStored, since=0)] == [1, 2, 3]


def test_actions_of_the_setup_are_not_the_student_s() -> None:
    found = evidence((0, ActionTaken("StopActor", {}, SETUP)), (1, ActionTaken("StopActor", {}, "student x")))
    assert [seen.seq for seen in found.actions("StopActor")] == [2]


def test_processes_are_known_by_the_label_of_their_actor() -> None:
    found = Evidence({})
    start = ActionTaken("StartConsumer", {"actor": "left", "copies": 2}, "student")
    for entry in (
        Entry(4, 0, None, start),
        Entry(5, 0, 4, MemberStateChanged("g", "c1", "starting", ())),
        Entry(6, 0, 4, MemberStateChanged("g", "c2", "starting", ())),
        Entry(7, 0, None, ActionTaken("RestartActor", {"actor": "left.1"}, "student")),
        Entry(8, 0, 7, MemberStateChanged("g", "c3", "starting", ())),
    ):
        found.add(entry)
    assert (found.clients("left.1"), found.clients("left.2"), found.clients("other")) == (["c1", "c3"], ["c2"], [])


def test_a_member_that_ended_has_no_assignment() -> None:
    def assigned(client_id: str) -> QueuesAssigned:
        return QueuesAssigned("g", client_id, "orders", "timer", "AVG", ("c1", "c2"), (QUEUE,), (QUEUE,), ())

    found = evidence((0, assigned("c1")), (1, assigned("c2")), (2, MemberStateChanged("g", "c1", "crashed", ())))
    assert list(found.assigned("g", "orders")) == ["c2"]


def test_a_verdict_names_its_events_once_and_in_order() -> None:
    verdict = Verdict.wrong("{given} is too much", given=7, rests_on=(9, 3, 9))
    assert (verdict.rests_on, verdict.sentence(), verdict.is_met) == ((3, 9), "7 is too much", False)


def test_an_attempt_that_became_too_long_says_so_and_takes_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sandbox.labs.attempt.MOST_EVENTS", 3)
    lab = LABS["members-and-queues"]
    attempt = Attempt(lab, "7", 1, began=0)
    for seq in range(1, 6):
        attempt.see(Entry(seq, seq, None, stored(seq, 1)))
    assert attempt.verdict.sentence() == "This attempt has reached its limit of 3 events; later events are ignored."
    assert attempt.evidence.count == 3
    with pytest.raises(ActionRefused, match="later events are ignored"):
        attempt.check_answer(1, "predict", "2")


def test_of_two_processes_with_one_client_id_the_assignment_stays_until_both_have_ended() -> None:
    def state(name: str) -> MemberStateChanged:
        return MemberStateChanged("g", "c1", name, ())

    begun = [
        (0, state("starting")),
        (1, state("starting")),
        (2, QueuesAssigned("g", "c1", "orders", "notified", "AVG", ("c1", "c1"), (QUEUE,), (QUEUE,), ())),
    ]
    assert list(evidence(*begun, (3, state("crashed"))).assigned("g", "orders")) == ["c1"]
    assert (
        evidence(*begun, (3, state("crashed")), (4, state("stopping")), (5, state("stopped"))).assigned("g", "orders")
        == {}
    )


def test_entries_actions_and_deliveries_are_filtered_by_their_fields() -> None:
    found = evidence(
        (0, stored(0, 4)),
        (1, MessagesStored("parcels", "b", 1, 0, 1, 0, 0)),
        (2, consumed(1, 2)),
        (3, consumed(3, outcome="FAILED")),
        (4, ActionTaken("CrashActor", {"actor": "A"}, "owner")),
        (5, ActionTaken("CrashActor", {"actor": "B"}, "owner")),
        (6, ActionTaken("CrashActor", {"actor": "A"}, SETUP)),
    )
    assert [entry.seq for entry in found.of(MessagesStored, topic="parcels", queue_id=1)] == [2]
    assert found.of(MessagesStored, topic="parcels", queue_id=0) == []
    assert [row.offset for row in found.deliveries_of("g", outcome="SUCCESS")] == [1, 2]
    assert [row.offset for row in found.deliveries_of("g", since=3)] == [3]
    assert [entry.seq for entry in found.actions("CrashActor", actor="A")] == [5]
    assert (first(found.actions("CrashActor")), last(found.actions("StopActor"))) == (
        found.actions("CrashActor")[0],
        None,
    )


def test_a_verdict_rests_on_entries_and_fills_in_the_numbers_that_its_text_names() -> None:
    rows = evidence((0, stored(0, 4)), (1, stored(4, 1))).of(MessagesStored)
    verdict = Verdict.met("{topic} has {count} of {{x}}", count=5, rests_on=[rows[1], None, *rows, 2])
    assert verdict.rests_on == (1, 2)
    assert verdict.filled({"topic": "orders", "count": 9, "group": "g"}).values == {"topic": "orders", "count": 5}
    assert verdict.filled({"topic": "orders"}).sentence() == "orders has 5 of {x}"


def test_truths_count_rows_read_a_field_and_measure_time() -> None:
    rows = evidence((0, stored(0, 4)), (2_500, stored(4, 1))).of(MessagesStored)
    assert count_of(rows) == Truth(2.0, (1, 2))
    assert (field_of(rows[1], "first_offset"), field_of(None, "count")) == (Truth(4.0, (2,)), Truth(0.0))
    assert (seconds_between(*rows), seconds_between(rows[0], None)) == (Truth(2.5, (1, 2)), Truth(0.0))
