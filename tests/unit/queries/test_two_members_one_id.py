"""Two members of the sandbox with one client id (`StartConsumer.client_id_of`): two rows on every page."""

from typing import Any

from sandbox.journal.events import CrashRepeated
from sandbox.queries.fold import fold
from sandbox.simulation.world import World
from tests.beginnings import world_with

GROUP, TOPIC = "clerks", "orders"
world = world_with({TOPIC: 4}, seconds=1)


def two(world: World, **fields: Any) -> tuple[str, str]:
    """The keys of their rows."""
    for actor, more in (("A", {}), ("B", {"client_id_of": "A"})):
        world.act(
            "StartConsumer", actor=actor, group=GROUP, subscriptions=[[TOPIC, "*"]], work_ms=[10, 10], **fields, **more
        )
        world.run(5)
    world.run(40)
    world.act("SendMessages", topic=TOPIC, count=8)
    world.run(15)
    client_id = world.cluster.actors.by_label["A"].client_id
    return client_id, f"{client_id} B"


def board(world: World) -> Any:
    return world.read(f"board/{GROUP}/{TOPIC}").data


def test_the_board_has_a_card_for_each_and_two_queues_without_an_owner(world: World) -> None:
    first, second = two(world)
    data = board(world)
    assert {
        key: (row["actor"], row["letter"], row["queues"], row["same_id"]) for key, row in data["members"].items()
    } == {first: ("A", "A", 2, 2), second: ("B", "B", 2, 2)}
    assert len({row["colour"] for row in data["members"].values()}) == 2
    assert [row["owner"] for row in data["queues"].values()] == [first, first, None, None]
    assert [row["assigned"] for row in data["queues"].values()] == [first, first, None, None]
    assert (data["header"]["shared_ids"], data["header"]["lag"]) == ([first], "4"), "half of them waits"


def test_the_group_and_the_snapshot_count_both(world: World) -> None:
    first, second = two(world)
    row = world.read("groups").data["groups"][GROUP]
    assert (row["members"], row["shared_ids"]) == (2, [first])
    [drawn] = [row for row in world.snapshot()["groups"] if row["group"] == GROUP]
    assert [(row["client_id"], row["actor"]) for row in drawn["members"]] == [(first, "A"), (second, "B")]


def test_rebalance_says_who_holds_what_twice_and_what_no_member_holds(world: World) -> None:
    first, second = two(world)
    data = world.read(f"rebalance/{GROUP}").data
    rows = [row for row in data["queues"].values() if row["topic"] == TOPIC]
    assert [(row["due"], sorted(row["held"]), sorted(row["claims"]), row["trouble"]) for row in rows] == [
        ([first, second], [first, second], [first, second], "twice")
    ] * 2 + [([], [], [], "nobody")] * 2
    beliefs = [data["beliefs"][f"{key}|{TOPIC}"] for key in (first, second)]
    assert [(row["members"], row["index"], row["agrees"]) for row in beliefs] == [([first, first], 0, True)] * 2
    assert [row["known_to"] for row in data["members"].values()] == [["broker-a"]] * 2


def test_a_plan_that_removes_one_of_them_keeps_the_other(world: World) -> None:
    first, _ = two(world)
    plan = world.ask("plan-rebalance", group=GROUP, topic=TOPIC, remove=["B"])
    assert plan["before"] == {first: ["broker-a:0", "broker-a:1"]}
    assert plan["after"] == {first: [f"broker-a:{number}" for number in range(4)]}
    assert plan["labels"] == {first: "A/B"}


def test_topology_has_a_node_for_each(world: World) -> None:
    first, _ = two(world)
    data = world.read("topology").data
    assert [data["clients"][name]["client_id"] for name in "AB"] == [first, first]
    assert [data["links"][f"{name}~broker-a"]["connections"] for name in "AB"] == [1, 1]


def test_the_row_of_each_leads_to_its_own_page(world: World) -> None:
    began_ms = []
    for key, label in zip(two(world), "AB", strict=True):
        client = world.read(f"client/{key}").data["client"]
        assert (client["actor"], client["lives"]) == (label, True)
        began_ms.append(client["state_since_ms"])
    assert began_ms[0] < began_ms[1]


def test_after_a_crash_the_row_of_the_other_has_all_queues(world: World) -> None:
    first, second = two(world)
    world.act("CrashActor", actor="A")
    world.run(30)
    data = board(world)
    assert (
        {row["owner"] for row in data["queues"].values()}
        == {row["assigned"] for row in data["queues"].values()}
        == {second}
    )
    assert {key: (row["state"], row["same_id"]) for key, row in data["members"].items()} == {
        first: ("crashed", 1),
        second: ("running", 1),
    }
    assert data["header"]["shared_ids"] == []
    assert not world.entries(CrashRepeated), "its copy had the same messages anyway"


def test_a_hung_copy_expires_alone(world: World) -> None:
    first, second = two(world)
    world.act("HangActor", actor="B")
    world.run(10)
    members = board(world)["members"]
    assert (members[first]["expires_at_ms"], members[second]["expires_at_ms"] is not None) == (None, True)
    world.run(150)
    assert board(world)["header"]["shared_ids"] == []
    assert board(world)["members"][first]["queues"] > 2


def test_since_when_each_is_in_its_state(world: World) -> None:
    two(world)
    a, b = (world.cluster.actors.by_label[label] for label in "AB")
    assert a.state_since_ms < b.state_since_ms


def test_the_owner_after_a_keyframe_is_the_keyframe_s_where_an_event_does_not_say_which_process(world: World) -> None:
    first, _ = two(world)
    keyframe = world.snapshot()
    world.act("CrashActor", actor="B")
    world.run(1)
    folded = fold(keyframe, world.entries(since=int(keyframe["seq"])), int(world.snapshot()["seq"]))
    [group] = [row for row in folded.snapshot["groups"] if row["group"] == GROUP]
    assert [row["owner"] for row in group["queues"] if row["topic"] == TOPIC] == [first, first, None, None]
    assert "owner" not in folded.carried[f"groups/{GROUP}"]


def test_a_queue_is_let_go_only_when_the_last_of_them_has_let_it_go(world: World) -> None:
    first, _ = two(world)
    moves = list(world.read(f"rebalance/{GROUP}").data["moves"].values())
    assert [(row["queue"], row["from"], row["left_ms"]) for row in moves if row["queue"].startswith(TOPIC)][-2:] == [
        (f"{TOPIC}/broker-a/{number}", first, None) for number in (0, 1)
    ], "the first one has it still"
    world.act("StopActor", actor="B")
    world.run(1)
    rows = world.read(f"rebalance/{GROUP}").data
    queue = rows["queues"][f"{TOPIC}/broker-a/0"]
    assert (list(queue["claims"]), queue["trouble"]) == ([first], None)
    assert queue["claims"][first] is not None


def test_a_crash_of_one_repeats_nothing_and_of_all_each_message_counts_once(world: World) -> None:
    for actor, more in (("A", {}), ("B", {"client_id_of": "A"})):
        world.act(
            "StartConsumer", actor=actor, group=GROUP, subscriptions=[[TOPIC, "*"]], work_ms=[9_000, 9_000], **more
        )
        world.run(5)
    world.run(40)
    world.act("SendMessages", topic=TOPIC, count=8)
    world.run(2)
    assert board(world)["header"]["redelivered_on_crash"] == 4, "two queues, two messages in work each"
    assert world.ask("plan-crash", actor="B")["again"] == 0
    world.act("CrashActor", actor="A")
    world.run(1)
    assert world.ask("plan-crash", actor="B")["again"] > 0


def test_the_lock_of_their_id_is_shown_with_the_one_that_lives(world: World) -> None:
    first, second = two(world, listener="orderly")
    assert [row["lock"]["holder"] for row in board(world)["queues"].values() if row["owner"]] == [first, first]
    world.act("CrashActor", actor="A")
    world.run(1)
    assert {row["lock"]["holder"] for row in board(world)["queues"].values()} == {second}
    assert {row["lock"]["holder"] for row in world.read(f"locks/{GROUP}").data["queues"].values()} == {second}
