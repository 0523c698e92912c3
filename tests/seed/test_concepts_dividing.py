"""Assignment of queues: the strategies on real members and in the forecast of the page."""

from pathlib import Path
from typing import Any

import pytest

from sandbox.journal.events import MessagesConsumed
from sandbox.simulation.world import World
from tests.beginnings import world_of

GROUP = "order-svc"
ORDERS = [["orders", "*"]]
world = world_of("empty")


def owned(world: World) -> dict[str, list[str]]:
    """Label → queues, in the order of the board; members without a queue too."""
    shares: dict[str, list[str]] = {actor.label: [] for actor in world.cluster.actors.consumers(GROUP)}
    for queue, row in world.read(f"board/{GROUP}/orders").data["queues"].items():
        if row["owner"] is not None:
            shares[world.cluster.label_of(row["owner"])].append(queue)
    return shares


def with_members(world: World, queues: int, members: int, **fields: Any) -> None:
    world.act("CreateTopic", topic="orders", write_queues=queues, read_queues=queues)
    world.act("StartConsumer", group=GROUP, subscriptions=ORDERS, copies=members, work_ms=[1], **fields)
    world.run(25)


def moved(before: dict[str, list[str]], after: dict[str, list[str]], newcomer: str) -> tuple[int, int]:
    """Queues with another member than before, and how many of them the newcomer has."""
    owner = {queue: label for label, queues in before.items() for queue in queues}
    others = [label for label, queues in after.items() for queue in queues if owner[queue] != label]
    return len(others), others.count(newcomer)


@pytest.mark.seed("3.40")
def test_one_more_member_moves_fewer_queues_on_the_ring_than_when_neighbours_share(tmp_path: Path) -> None:
    seen: dict[str, tuple[int, int]] = {}
    for strategy in ("AVG", "CONSISTENT_HASH"):
        with World(tmp_path / strategy) as world:
            with_members(world, 64, 4, strategy=strategy)
            before = owned(world)
            planned = world.ask("plan-rebalance", group=GROUP, topic="orders", add=1)["moves"]
            world.act("StartConsumer", group=GROUP, strategy=strategy)
            world.run(45)
            seen[strategy] = moved(before, owned(world), "E")
            assert seen[strategy][0] == planned, "as the forecast said"
    averagely, to_newcomer = seen["AVG"]
    on_the_ring, all_to_newcomer = seen["CONSISTENT_HASH"]
    assert on_the_ring == all_to_newcomer > 0, "nothing moves between those who were there"
    assert averagely > to_newcomer, "while neighbours pass queues on among themselves"
    assert on_the_ring < averagely


@pytest.mark.seed("3.39", "D34")
def test_a_machine_room_without_queues_gets_nothing(tmp_path: Path) -> None:
    rooms = {"east": ["west@broker-a", "east@broker-b", "east"], "west": ["west@broker-a", "east@broker-b", "west"]}
    with World(tmp_path, "orders") as world:
        world.act("CreateTopic", topic="local", write_queues=4, read_queues=4, scope="broker-a")
        world.act("StartConsumer", group="locals", subscriptions=[["local", "*"]], copies=2, work_ms=[1])
        world.act("SetStrategy", group="locals", strategy="MACHINE_ROOM", rooms=rooms["east"])
        world.run(45)

        def owners() -> set[str | None]:
            return {row["owner"] for row in world.read("board/locals/local").data["queues"].values()}

        assert owners() == {None}, "it does not fall back to the queues of other rooms"
        world.act("SendMessages", topic="local", count=8)
        world.run(30)
        assert not [entry for entry in world.entries(MessagesConsumed) if entry.event.topic == "local"]
        world.act("SetStrategy", group="locals", strategy="MACHINE_ROOM", rooms=rooms["west"])
        world.run(25)
        assert len(owners()) == 2
        assert None not in owners()
