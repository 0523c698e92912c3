"""Who reads which queues: the strategies, seen on real members and in the forecast the page shows."""

from hashlib import md5
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


def counts(world: World) -> list[int]:
    return [len(queues) for queues in owned(world).values()]


def with_members(world: World, queues: int, members: int, **fields: Any) -> None:
    world.act("CreateTopic", topic="orders", write_queues=queues, read_queues=queues)
    world.act("StartConsumer", group=GROUP, subscriptions=ORDERS, copies=members, work_ms=[1], **fields)
    world.run(25)


@pytest.mark.seed("3.36")
def test_five_queues_are_five_for_one_member_and_three_and_two_for_two(world: World) -> None:
    with_members(world, 5, 1)
    assert owned(world) == {"A": [f"broker-a:{n}" for n in range(5)]}
    world.act("StartConsumer", group=GROUP)
    world.run(2)
    assert owned(world) == {"A": ["broker-a:0", "broker-a:1", "broker-a:2"], "B": ["broker-a:3", "broker-a:4"]}


@pytest.mark.seed("3.37", "4.7")
def test_with_more_members_than_queues_two_of_six_are_idle(world: World) -> None:
    with_members(world, 4, 6)
    assert counts(world) == [1, 1, 1, 1, 0, 0]
    world.act("SendMessages", topic="orders", count=40)
    world.run(10)
    workers = {world.cluster.label_of(entry.event.client_id) for entry in world.entries(MessagesConsumed)}
    assert workers == set("ABCD")
    world.act("StopActor", actor="B")
    world.run(2)
    assert sorted(counts(world)) == [0, 0, 1, 1, 1, 1], "one of the idle two steps in"
    assert owned(world)["B"] == []


@pytest.mark.seed("3.39")
@pytest.mark.parametrize(("strategy", "queues", "shares"), [
    pytest.param("AVG", 8, [[0, 1, 2], [3, 4, 5], [6, 7]], marks=pytest.mark.seed("4.6")),
    pytest.param("AVG", 5, [[0, 1], [2, 3], [4]], marks=pytest.mark.seed("1.5")),
    pytest.param("AVG_BY_CIRCLE", 8, [[0, 3, 6], [1, 4, 7], [2, 5]], marks=pytest.mark.seed("4.6")),
    ("AVG_BY_CIRCLE", 5, [[0, 3], [1, 4], [2]])])
def test_neighbours_or_every_third_to_three_members(world: World, strategy: str, queues: int,
                                                    shares: list[list[int]]) -> None:
    with_members(world, queues, 3, strategy=strategy)
    assert list(owned(world).values()) == [[f"broker-a:{n}" for n in share] for share in shares]


def point(text: str) -> int:
    """A place on the ring: the first four bytes of the MD5 (spec client-behaviour 5.2)."""
    return int.from_bytes(md5(text.encode(), usedforsecurity=False).digest()[:4], "big")


@pytest.mark.seed("3.39", "3.40")
def test_consistent_hashing_gives_a_queue_to_the_next_member_on_the_ring(world: World) -> None:
    assert point("cid-0") == 2_711_717_015
    assert point("MessageQueue [topic=T, brokerName=broker-a, queueId=0]") == 1_630_488_180
    with_members(world, 32, 4, strategy="CONSISTENT_HASH")
    ids = {actor.label: actor.client_id for actor in world.cluster.actors.consumers(GROUP)}
    ring = sorted((point(f"{client_id}-{n}"), label) for label, client_id in ids.items() for n in range(10))
    wanted: dict[str, list[str]] = {label: [] for label in ids}
    for number in range(32):
        at = point(f"MessageQueue [topic=orders, brokerName=broker-a, queueId={number}]")
        wanted[next((label for place, label in ring if place >= at), ring[0][1])].append(f"broker-a:{number}")
    assert {label: sorted(queues) for label, queues in owned(world).items()} == {
        label: sorted(queues) for label, queues in wanted.items()}


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
