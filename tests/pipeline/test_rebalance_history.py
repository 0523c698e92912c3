"""The history of rebalances of sandboxes whose members were crashed, hung and given too few queues."""

from pathlib import Path

import pytest

from sandbox.journal.events import LockDenied, MemberStateChanged, QueuesAssigned, QueueTaken
from sandbox.journal.schema import from_row
from sandbox.journal.segments import rows_since
from sandbox.simulation.world import World
from tests.pipeline.audits import run_over, table
from tests.pipeline.conftest import Run
from tests.pipeline.worlds import Recorded, record

pytestmark = pytest.mark.pipeline

GROUP, ORDERLY = "order-svc", "in-order"


def hung(home: Path) -> Recorded:
    """C of three hangs until its brokers have forgotten it, and comes back."""
    with World(home, "orders", seed=3) as world:
        world.run(30)
        world.act("CrashActor", actor="B")
        world.run(30)
        world.act("HangActor", actor="C")
        world.run(160)
        world.act("ResumeActor", actor="C")
        world.run(40)
        return record(world, home)


def crowded(home: Path) -> Recorded:
    """Three members in order for two queues; the owner of one crashes, and its lock outlives it."""
    with World(home) as world:
        world.act("CreateTopic", topic="narrow", write_queues=2, read_queues=2)
        for actor in "ABC":
            world.act(
                "StartConsumer",
                actor=actor,
                group=ORDERLY,
                subscriptions=[["narrow", "*"]],
                listener="orderly",
                work_ms=[10],
            )
        world.run(30)
        world.act("CrashActor", actor="A")
        world.run(90)
        return record(world, home)


@pytest.fixture(scope="module")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Recorded]:
    return {"hung": hung(tmp_path_factory.mktemp("hung")), "crowded": crowded(tmp_path_factory.mktemp("crowded"))}


@pytest.fixture(scope="module")
def outs() -> list[Path]:
    return []


@pytest.fixture
def out(run: Run, worlds: dict[str, Recorded], outs: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not outs:
        outs.append(run_over(run, "rebalance_history", worlds, tmp_path_factory.mktemp("history")))
    return outs[0]


def moments(made: Recorded, state: str) -> list[tuple[int, str]]:
    """When which consumers became so."""
    return [
        (entry.at_ms, entry.event.client_id)
        for entry in map(from_row, rows_since(made.journal, 0))
        if isinstance(entry.event, MemberStateChanged) and entry.event.state == state
    ]


def test_every_queue_taken_is_a_move_and_says_whose_it_was(out: Path, worlds: dict[str, Recorded]) -> None:
    taken = {
        (name, entry.seq)
        for name, made in worlds.items()
        for entry in map(from_row, rows_since(made.journal, 0))
        if isinstance(entry.event, QueueTaken)
    }
    rows = table(out, "moves")
    assert {(row["sandbox"], row["seq"]) for row in rows} == taken
    [(crashed_ms, crashed)] = moments(worlds["hung"], "crashed")
    from_it = [row for row in rows if row["sandbox"] == "hung" and row["why"] == "crashed"]
    assert from_it
    assert {row["from_member"] for row in from_it} == {crashed}
    assert min(row["at_ms"] for row in from_it) >= crashed_ms
    assert all((row["why"] == "first") == (row["from_member"] is None) for row in rows)


def test_while_one_hangs_two_hold_its_queues_for_their_own(out: Path, worlds: dict[str, Recorded]) -> None:
    [(hung_ms, member)] = moments(worlds["hung"], "hung")
    [resumed_ms] = [
        at_ms for at_ms, client_id in moments(worlds["hung"], "running") if client_id == member and at_ms > hung_ms
    ]
    rows = [
        row
        for row in table(out, "disagreements")
        if row["sandbox"] == "hung" and row["topic"] == "orders" and member in row["members"]
    ]
    assert rows
    for row in rows:
        assert len(row["members"]) == 2
        assert hung_ms < row["from_ms"] < row["to_ms"]
        assert row["to_ms"] >= resumed_ms, "it learns of the others when it goes on"
    given = {
        queue
        for entry in map(from_row, rows_since(worlds["hung"].journal, 0))
        if isinstance(entry.event, QueuesAssigned)
        and entry.event.client_id != member
        and hung_ms < entry.at_ms < resumed_ms
        and entry.event.topic == "orders"
        for queue in entry.event.added
    }
    assert {row["queue"] for row in rows} == {"{1}:{2}".format(*queue.split("/")) for queue in given}


def test_who_gets_no_queue_is_idle_until_another_goes(out: Path, worlds: dict[str, Recorded]) -> None:
    [(crashed_ms, crashed)] = moments(worlds["crowded"], "crashed")
    rows = [row for row in table(out, "idle") if row["sandbox"] == "crowded" and row["to_ms"] - row["from_ms"] > 1_000]
    assert len(rows) == 1
    assert rows[0]["member"] != crashed
    assert rows[0]["to_ms"] >= crashed_ms


def test_who_is_denied_a_lock_waits_until_it_has_it(out: Path, worlds: dict[str, Recorded]) -> None:
    denied = [
        (entry.at_ms, entry.event)
        for entry in map(from_row, rows_since(worlds["crowded"].journal, 0))
        if isinstance(entry.event, LockDenied) and entry.event.topic == "narrow"
    ]
    assert denied
    rows = [row for row in table(out, "lock_waits") if row["sandbox"] == "crowded" and row["topic"] == "narrow"]
    assert {(row["member"], row["queue"]) for row in rows} == {
        (event.client_id, f"{event.broker}:{event.queue_id}") for _, event in denied
    }
    longest = max(rows, key=lambda row: row["to_ms"] - row["from_ms"])
    assert longest["to_ms"] - longest["from_ms"] > 10_000, "a dead member's lock outlives it by up to 60 s"
