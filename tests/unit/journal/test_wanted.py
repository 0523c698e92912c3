"""Which events a reader wants: by kind, and by the words of a search."""

import pytest

from sandbox.journal.event_filter import EventFilter, Term, is_step


def row(type_: str, **fields: object) -> dict[str, object]:
    return {"seq": "7", "at_ms": 1, "type": type_, "cause": None, **fields}


@pytest.mark.parametrize(
    "step",
    [
        row("OffsetsPersisted", file="consumerOffset.json", entries=8),
        row("QueueLocked", how="renewed"),
        row("QueuesAssigned", topic="orders", added=[], dropped=[]),
        row("QueuesAssigned", topic="%RETRY%g", added=["broker-a:0"], dropped=[]),
    ],
)
def test_steps_of_something_another_fact_reports_are_left_out(step: dict[str, object]) -> None:
    assert is_step(step)
    assert not (EventFilter("told").takes(str(step["type"])) and EventFilter("told").fits(step))
    assert EventFilter("facts").takes(str(step["type"]))
    assert EventFilter("facts").fits(step)


def test_a_lock_that_changed_hands_and_a_rebalance_that_moved_a_queue_are_reported() -> None:
    for fact in (row("QueueLocked", how="taken_over"), row("QueuesAssigned", topic="t", added=["b:0"], dropped=[])):
        assert EventFilter("told").takes(str(fact["type"]))
        assert EventFilter("told").fits(fact)


def test_only_causes_are_what_someone_did_and_all_holds_flow_too() -> None:
    assert [kind for kind in ("ActionTaken", "ClockChanged", "PullAnswered") if EventFilter("actions").takes(kind)] == [
        "ActionTaken"
    ]
    assert not EventFilter("facts").takes("PullAnswered")
    assert EventFilter("all").takes("PullAnswered")
    assert EventFilter("all").takes("Keyframe")


def test_every_word_of_a_search_must_be_in_the_kind_or_in_a_value_however_deep() -> None:
    crash = row("ActionTaken", action="CrashActor", fields={"actor": "Anna"}, by="owner")
    assert EventFilter("told", (Term("crash"), Term("anna"))).fits(crash)
    assert not EventFilter("told", (Term("crash"), Term("bert"))).fits(crash)
    assert not EventFilter("told", (Term("fields"),)).fits(crash), "names of fields are no values"


def test_a_word_of_another_language_finds_the_kinds_and_values_it_stands_for() -> None:
    crashed = row("MemberStateChanged", state="crashed")
    assert not Term("崩溃").fits(crashed)
    assert Term("崩溃", values=frozenset({"crashed"})).fits(crashed)
    assert Term("崩溃", kinds=frozenset({"MemberStateChanged"})).fits(crashed)
