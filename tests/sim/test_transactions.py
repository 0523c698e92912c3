"""Transactions in a whole sandbox: producers that decide or do not, brokers that ask, people who end them by hand."""

from typing import Any

import pytest

from sandbox.journal.events import (
    ActionTaken,
    MessagesConsumed,
    MessagesStored,
    TransactionChecked,
    TransactionEnded,
    TransactionPrepared,
)
from sandbox.kernel.errors import ActionRefused
from sandbox.simulation.world import World
from tests.beginnings import world_with
from tests.seed.stage import WireLog

HALF = "RMQ_SYS_TRANS_HALF_TOPIC"
world = world_with({"orders": 4})


def transactor(world: World, label: str = "shop", *, per_s: float = 5, **change: Any) -> None:
    world.act("StartProducer", actor=label, topic="orders", rate_per_s=per_s, transactional=True)
    if change:
        world.act("ChangeActor", actor=label, **change)


def facts(world: World, kind: type) -> list[Any]:
    return [entry.event for entry in world.entries(kind)]


def stored(world: World, topic: str) -> int:
    return sum(event.count for event in facts(world, MessagesStored) if event.topic == topic)


def open_ones(world: World) -> list[dict[str, Any]]:
    return world.ask("transactions")["rows"]


def pause(world: World, label: str = "shop") -> None:
    world.act("ChangeActor", actor=label, rate_per_s=0)
    world.run(1)


def test_most_are_committed_at_once_and_the_rest_when_the_broker_asks(world: World) -> None:
    transactor(world)
    world.act("StartConsumer", group="g", subscriptions=[["orders", "*"]], work_ms=[1])
    world.run(40)
    pause(world)
    prepared = len(facts(world, TransactionPrepared))
    ended = facts(world, TransactionEnded)
    assert prepared > 150
    assert {(event.outcome, event.by) for event in ended} == {("commit", "producer")}
    assert 0.8 * prepared < len(ended) < prepared
    left = open_ones(world)
    assert len(left) == world.ask("transactions")["count"] == prepared - len(ended)
    assert {row["checks"] for row in left} == {0}
    world.run(70)
    assert open_ones(world) == []
    late = [event for event in facts(world, TransactionEnded) if event.by == "check"]
    assert {event.transaction_id for event in late} == {row["transaction_id"] for row in left}
    assert {event.outcome for event in late} == {"commit"}
    assert stored(world, "orders") == prepared
    consumed = sum(len(event.offsets) for event in facts(world, MessagesConsumed))
    assert consumed == prepared


def test_what_is_rolled_back_is_consumed_by_no_one(world: World) -> None:
    transactor(world, fail_percent=100)
    world.act("StartConsumer", group="g", subscriptions=[["orders", "*"]], work_ms=[1])
    world.run(130)
    assert len(facts(world, TransactionPrepared)) > 100
    assert {event.outcome for event in facts(world, TransactionEnded)} == {"rollback"}
    assert (stored(world, "orders"), facts(world, MessagesConsumed)) == (0, [])


def test_an_undecided_producer_leaves_everything_to_the_question(world: World) -> None:
    transactor(world, handler="undecided")
    world.run(30)
    pause(world)
    assert facts(world, TransactionEnded) == []
    prepared = len(facts(world, TransactionPrepared))
    world.run(60)
    assert {(event.outcome, event.by, event.checks) for event in facts(world, TransactionEnded)} == {
        ("commit", "check", 1)
    }
    assert stored(world, "orders") == prepared == len(facts(world, TransactionChecked))


def test_people_end_open_ones_through_the_real_way(world: World) -> None:
    transactor(world, handler="silent")
    world.run(3)
    pause(world)
    first, second = open_ones(world)[:2]
    assert (first["producer_group"], first["topic"], first["half_offset"]) == ("PG_shop", "orders", "0")
    wire = WireLog(world)
    world.act("EndTransaction", transaction_id=first["transaction_id"], outcome="commit")
    world.act("EndTransaction", transaction_id=second["transaction_id"], outcome="rollback")
    world.run(1)
    frames = wire.requests(37, sender="10.0.0.11")
    assert [(f.command.ext or {})["commitOrRollback"] for f in frames] == ["8", "12"]
    assert all(f.command.is_oneway for f in frames)
    assert [(event.transaction_id, event.outcome) for event in facts(world, TransactionEnded)] == [
        (first["transaction_id"], "commit"),
        (second["transaction_id"], "rollback"),
    ]
    assert stored(world, "orders") == 1


def test_another_process_answers_the_broker_when_the_producer_is_gone(world: World) -> None:
    transactor(world, handler="silent")
    world.run(3)
    world.act("CrashActor", actor="shop")
    [row, *_] = open_ones(world)
    world.act("EndTransaction", transaction_id=row["transaction_id"], outcome="commit")
    world.run(2)
    assert [event.transaction_id for event in facts(world, TransactionEnded)] == [row["transaction_id"]]


def test_what_has_ended_cannot_end_again_and_what_never_began_is_unknown(world: World) -> None:
    transactor(world, handler="silent")
    world.run(2)
    [row, *_] = open_ones(world)
    world.act("EndTransaction", transaction_id=row["transaction_id"], outcome="commit")
    world.run(1)
    taken = len(world.entries(ActionTaken))
    for transaction_id, status in ((row["transaction_id"], 409), ("never", 404)):
        with pytest.raises(ActionRefused) as refused:
            world.act("EndTransaction", transaction_id=transaction_id, outcome="rollback")
        assert refused.value.status == status
    assert len(world.entries(ActionTaken)) == taken


@pytest.mark.parametrize("end", ["kill", "sleep"])
def test_a_sandbox_that_died_or_slept_asks_on(world: World, end: str) -> None:
    transactor(world, handler="undecided")
    world.run(20)
    pause(world)
    world.run(1)
    left = {row["transaction_id"] for row in open_ones(world)}
    getattr(world, end)()
    world.wake()
    assert {row["transaction_id"] for row in open_ones(world)} == left
    assert world.cluster.actors.get("shop").handler == "undecided"  # type: ignore[union-attr]
    world.act("ChangeActor", actor="shop", rate_per_s=0)
    seq = world.cluster.journal.next_seq
    world.run(65)
    answered = {e.event.transaction_id for e in world.entries(TransactionEnded, since=seq)}  # type: ignore[union-attr]
    assert left <= answered


def test_a_plain_producer_has_no_transactions(world: World) -> None:
    world.act("StartProducer", actor="shop", topic="orders", rate_per_s=5)
    world.run(5)
    assert (facts(world, TransactionPrepared), stored(world, HALF)) == ([], 0)
    assert open_ones(world) == []
