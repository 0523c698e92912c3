"""Members of one group that subscribe differently: each one's own words, and what is lost between them (case C4)."""

from typing import Any

from sandbox.simulation.world import World
from tests.beginnings import world_with
from tests.sim.attached_stage import SLUG, CountingBell, Office

GROUP = "clerks"
BOARD = f"board/{GROUP}/orders"
world = world_with({"orders": 4, "refunds": 1}, seconds=1)


def join(world: World, actor: str, expression: str, **more: Any) -> None:
    world.act(
        "StartConsumer",
        **{"actor": actor, "group": GROUP, "subscriptions": [["orders", expression]], "work_ms": [1], **more},
    )
    world.run(3)  # the next one's subscription is newer


def words(place: Any) -> dict[str | None, tuple[list[tuple[str, str]], int | None, int | None]]:
    """Return by actor: its subscription, the client's dropped messages, the broker's filtered messages."""
    data = place.read(BOARD)
    members = (data if isinstance(place, Office) else data.data)["members"]
    return {
        row["actor"]: (
            [(sub["topic"], sub["expression"]) for sub in row["subscriptions"]],
            row["dropped"],
            row["passed_over"],
        )
        for row in members.values()
    }


def send(world: World) -> None:
    world.run(25)  # both have queues
    world.act("SendMessages", topic="orders", count=40, tag="abc")
    world.run(30)  # a queue of which all was dropped is committed with the next empty pull


def test_a_member_that_gets_what_it_does_not_want_drops_it_and_is_named(world: World) -> None:
    join(world, "A", "a")
    join(world, "B", "*")
    send(world)
    header = world.read(BOARD).data["header"]
    assert (header["lag"], header["members_differ"]) == ("0", ["expressions"])
    assert words(world) == {"A": ([("orders", "a")], 20, 0), "B": ([("orders", "*")], 0, 0)}


def test_brokers_leave_out_by_the_newest_subscription_what_another_member_wants(world: World) -> None:
    join(world, "B", "*")
    join(world, "A", "a")
    send(world)
    assert world.read(BOARD).data["header"]["lag"] == "0"
    assert words(world) == {"A": ([("orders", "a")], 0, 20), "B": ([("orders", "*")], 0, 20)}


def test_groups_and_the_snapshot_say_on_what_and_who(world: World) -> None:
    join(world, "A", "a")
    join(world, "B", "*", subscriptions=[["orders", "*"], ["refunds", "*"]], listener="orderly")
    send(world)
    row = world.read("groups").data["groups"][GROUP]
    assert (row["state"], row["members_differ"]) == ("mixed", ["topics", "expressions", "listener"])
    assert [(one["actor"], one["dropped"]) for one in row["member_words"]] == [("A", 20), ("B", 0)]
    [drawn] = [one for one in world.snapshot()["groups"] if one["group"] == GROUP]
    assert drawn["members_differ"] == row["members_differ"]
    assert {one["actor"]: one["subscriptions"][0]["expression"] for one in drawn["members"]} == {"A": "a", "B": "*"}


def test_members_that_ask_for_the_same_differ_in_nothing_and_one_that_is_gone_asks_for_nothing(world: World) -> None:
    join(world, "A", "a || b")
    join(world, "B", "a || b")
    join(world, "C", "*")
    assert world.read(BOARD).data["header"]["members_differ"] == ["expressions"]
    world.act("CrashActor", actor="C")
    assert world.read(BOARD).data["header"]["members_differ"] == []
    assert world.read("groups").data["groups"][GROUP]["member_words"] == []


def test_a_real_cluster_s_members_report_their_own(world: World) -> None:
    join(world, "A", "a")
    join(world, "B", "*", listener="orderly")
    office = Office(world)
    office.attach()
    office.clusters.get(SLUG).subscribe(CountingBell())
    board = office.read(BOARD)
    assert board["header"]["members_differ"] == ["expressions", "listener"]
    assert [
        ([sub["expression"] for sub in row["subscriptions"]], row["dropped"], row["passed_over"])
        for row in board["members"].values()
    ] == [(["a"], None, None), (["*"], None, None)]
    row = office.read("groups")["groups"][GROUP]
    assert (row["members_differ"], len(row["member_words"])) == (board["header"]["members_differ"], 2)
    group = office.read(f"rebalance/{GROUP}")["group"]
    assert "subscription" in group["apart"]
