"""The Rebalance page: each member's own lists, its assignment, and contradictions between members."""

from typing import Any

import pytest

from sandbox.simulation.world import World
from tests.beginnings import world_with

GROUP = "clerks"
ORDERS = [["orders", "*"]]
Rows = dict[str, dict[str, Any]]
world = world_with({"orders": 4}, seconds=1)  # no one yet; no message ever, so that only members move


def join(world: World, copies: int = 1, **more: Any) -> None:
    world.act("StartConsumer", group=GROUP, subscriptions=ORDERS, copies=copies, work_ms=[10], **more)


def read(world: World, group: str = GROUP) -> dict[str, Any]:
    return world.read(f"rebalance/{group}").data


def label(world: World, client_id: str) -> str:
    return world.cluster.label_of(client_id)


def labels(world: World, client_ids: Any) -> str:
    return "".join(label(world, client_id) for client_id in client_ids)


def thinks(world: World, actor: str) -> tuple[str, list[int]]:
    """Which members it believes in, and the queues of `orders` it computed."""
    row = read(world)["beliefs"][f"{world.cluster.actors.get(actor).client_id}|orders"]
    return labels(world, row["members"]), [int(key.rpartition("/")[2]) for key in row["mine"]]


def queues(world: World) -> list[tuple[str, str, str, str | None]]:
    """Return of each queue of `orders`: claimants, holders, next owner, and the trouble."""
    return [
        (labels(world, row["claims"]), labels(world, row["held"]), labels(world, row["due"]), row["trouble"])
        for row in read(world)["queues"].values()
        if row["topic"] == "orders"
    ]


def test_members_that_saw_the_same_lists_agree_on_every_queue(world: World) -> None:
    join(world, copies=2)
    world.run(25)
    assert thinks(world, "A") == ("AB", [0, 1])
    assert thinks(world, "B") == ("AB", [2, 3])
    assert queues(world) == [("A", "A", "A", None)] * 2 + [("B", "B", "B", None)] * 2
    board = read(world)
    assert [row["agrees"] for row in board["beliefs"].values()] == [True] * 4, "orders and the retry topic"
    assert board["topics"] == {
        "orders": {"queues": {"broker-a": 4}, "retry": False},
        f"%RETRY%{GROUP}": {"queues": {"broker-a": 1}, "retry": True},
    }


def test_the_next_rebalance_of_each_member_is_due_within_twenty_seconds(world: World) -> None:
    join(world, copies=2)
    world.run(7)
    now_ms, rows = world.cluster.clock.now_ms(), read(world)["members"].values()
    assert all(0 < row["due_ms"] - now_ms <= 20_000 for row in rows)
    assert all(0 < row["route_due_ms"] - now_ms <= 30_000 for row in rows)


@pytest.mark.seed("1.3")
def test_until_a_member_hears_of_a_newcomer_both_claim_what_the_newcomer_took(world: World) -> None:
    join(world)
    world.run(25)
    world.act("DelayLink", a="broker-a", b="A", delay_ms=1_000, one_way=True)
    join(world)
    world.run(0.5)
    joined_ms = read(world)["members"][world.cluster.actors.get("B").client_id]["since_ms"]
    assert thinks(world, "A") == ("A", [0, 1, 2, 3])
    assert thinks(world, "B") == ("AB", [2, 3])
    assert queues(world) == [("A", "A", "A", None)] * 2 + [("AB", "AB", "B", "twice")] * 2
    board = read(world)
    assert board["queues"]["orders/broker-a/2"]["since_ms"] == joined_ms
    assert {
        label(world, row["client_id"]): row["agrees"] for row in board["beliefs"].values() if row["topic"] == "orders"
    } == {"A": False, "B": True}
    world.run(10)  # the notification came, and the answer to A's question, a second each
    assert thinks(world, "A") == ("AB", [0, 1])
    assert queues(world) == [("A", "A", "A", None)] * 2 + [("B", "B", "B", None)] * 2
    move = next(row for row in read(world)["moves"].values() if row["queue"] == "orders/broker-a/2" and row["from"])
    assert (label(world, move["from"]), label(world, move["to"])) == ("A", "B")
    assert 2_000 <= move["left_ms"] - move["taken_ms"] < 2_500, "so long both had it"
    late = next(
        row
        for row in read(world)["rounds"].values()
        if row["topic"] == "orders" and label(world, row["client_id"]) == "A" and row["dropped"]
    )
    because = late["because"]
    assert (late["trigger"], because["what"], label(world, because["who"])) == ("notified", "joined", "B")
    assert 2_000 <= late["behind_ms"] < 2_500


def test_a_hung_member_goes_on_believing_in_its_queues(world: World) -> None:
    join(world, copies=2)
    world.run(25)
    world.act("HangActor", actor="A")
    world.run(30)
    assert queues(world)[0] == ("A", "A", "A", None), "nobody knows yet"
    world.run(120)  # the broker drops it; no one is notified of that, B finds out by itself
    assert queues(world) == [("AB", "AB", "B", "twice")] * 2 + [("B", "B", "B", None)] * 2
    world.act("ResumeActor", actor="A")
    world.run(25)
    assert queues(world) == [("A", "A", "A", None)] * 2 + [("B", "B", "B", None)] * 2


@pytest.mark.parametrize(("hung", "reader"), ["AB", "BA"])
def test_a_queue_a_hung_member_still_holds_is_drawn_as_the_reader_s(world: World, hung: str, reader: str) -> None:
    join(world, copies=2)
    world.run(25)
    world.act("HangActor", actor=hung)
    world.run(150)
    rows = world.read(f"board/{GROUP}/orders").data["queues"].values()
    assert [label(world, row["owner"]) for row in rows] == [reader] * 4


def test_after_a_crash_the_queues_move_at_once_and_the_move_says_why(world: World) -> None:
    join(world, copies=2)
    world.run(25)
    gone = world.cluster.actors.get("B").client_id
    world.act("CrashActor", actor="B")
    world.run(1)
    assert queues(world) == [("A", "A", "A", None)] * 4
    moves = [row for row in read(world)["moves"].values() if row["from"] == gone]
    assert [row["queue"] for row in moves] == ["orders/broker-a/2", "orders/broker-a/3"]
    assert {(row["left_why"], row["because"]["what"], row["because"]["why"]) for row in moves} == {
        ("crashed", "left", "closed")
    }


@pytest.mark.seed("3.38", "D25")
def test_more_queues_reach_a_member_by_its_route_and_then_its_clock(world: World) -> None:
    join(world)
    world.run(25)
    world.act("ChangeTopic", topic="orders", write_queues=6, read_queues=6)
    changed_ms = world.cluster.clock.now_ms()
    world.run(0.1)
    assert [trouble for *_, trouble in queues(world)] == [None] * 4 + ["nobody"] * 2
    row = read(world)["beliefs"][f"{world.cluster.actors.get('A').client_id}|orders"]
    assert (row["queues"], row["route"], row["agrees"]) == ({"broker-a": 4}, {"broker-a": 4}, False)
    waited_s = world.run_until(lambda: len(thinks(world, "A")[1]) == 6, within_s=51)
    assert waited_s > 0.5, "no broker tells anybody"
    assert [trouble for *_, trouble in queues(world)] == [None] * 6
    last = [row for row in read(world)["rounds"].values() if row["topic"] == "orders"][-1]
    because = last["because"]
    assert (last["trigger"], because["what"]) == ("timer", "route")
    assert abs(because["topic_changed_ms"] - changed_ms) < 100
    assert because["at_ms"] - because["topic_changed_ms"] <= 40_000, "brokers tell name servers at once; routes, 30 s"
    assert last["behind_ms"] <= 20_000


def test_members_that_divide_differently_leave_queues_alone_and_share_others(world: World) -> None:
    join(world)
    join(world, strategy="AVG_BY_CIRCLE")
    world.run(45)
    assert [(claims, trouble) for claims, _, _, trouble in queues(world)] == [
        ("A", None),
        ("AB", "twice"),
        ("", "nobody"),
        ("B", None),
    ]
    assert read(world)["group"]["apart"] == ["strategy"]
    assert sorted(read(world)["group"]["strategies"].values()) == ["AVG", "AVG_BY_CIRCLE"]


def test_members_of_one_group_that_want_different_messages_are_distinguished(world: World) -> None:
    join(world, copies=2)
    world.act("ChangeActor", actor="B", expression="red")
    world.run(5)
    board = read(world)
    assert board["group"]["apart"] == ["subscription"]
    assert sorted(row["subscription"]["orders"] for row in board["members"].values()) == ["*", "red"]


def test_an_orderly_member_waits_for_the_lock_of_a_dead_one(world: World) -> None:
    join(world, copies=2, listener="orderly")
    world.run(25)
    holder = world.cluster.actors.get("B").client_id
    world.act("CrashActor", actor="B")
    world.run(2)
    assert queues(world) == [("A", "A", "A", None)] * 2 + [("A", "", "A", "waits")] * 2
    board = read(world)
    assert board["group"]["orderly"] is True
    waits = [row for row in board["waits"].values() if row["queue"].startswith("orders/")]
    assert {(row["why"], row["holder"], row["holder_state"]) for row in waits} == {("lock", holder, "crashed")}
    now_ms = world.cluster.clock.now_ms()
    assert all(30_000 < row["until_ms"] - now_ms <= 60_000 for row in waits)


def test_of_a_broadcasting_group_everyone_has_everything_and_nothing_is_wrong(world: World) -> None:
    join(world, copies=2, model="BROADCASTING")
    world.run(25)
    board = read(world)
    assert (board["group"]["model"], board["group"]["strategy"]) == ("BROADCASTING", None)
    assert queues(world) == [("AB", "AB", "AB", None)] * 4
    assert {labels(world, row["members"]): row["agrees"] for row in board["beliefs"].values()} == {"A": True, "B": True}


def test_a_member_that_gets_no_answer_keeps_what_it_had_and_says_since_when(world: World) -> None:
    join(world)
    world.run(25)
    world.act("HangBroker", broker="broker-a")
    world.run(30)
    row = read(world)["beliefs"][f"{world.cluster.actors.get('A').client_id}|orders"]
    assert thinks(world, "A") == ("A", [0, 1, 2, 3])
    assert row["missed_ms"] > row["asked_ms"]
    assert row["missed_why"] == ""


def test_a_group_without_members_leaves_every_queue_alone(world: World) -> None:
    join(world)
    world.run(25)
    world.act("StopActor", actor="A")
    world.run(5)
    board = read(world)
    assert board["beliefs"] == {}
    assert {row["trouble"] for row in board["queues"].values() if row["topic"] == "orders"} == {"nobody"}
    assert board["brokers"]["broker-a"] == {"state": "running", "members": []}
