"""A queue in which a group has no stored offset waits whole, as mqadmin counts it (case C12)."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sandbox.journal.events import Keyframe
from sandbox.queries.fold import fold
from sandbox.remoting.bodies import ConsumeStats
from sandbox.simulation.world import World
from tests.sim.attached_stage import SLUG, CountingBell, Office

GROUP = "clerks"
BOARD = f"board/{GROUP}/orders"


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """Two queues are read to their ends; of the two that were added later the group has no offset, and is offline."""
    with World(tmp_path) as made:
        made.act("CreateTopic", topic="orders", write_queues=2, read_queues=2)
        made.act("StartConsumer", group=GROUP, subscriptions=[["orders", "*"]], work_ms=[1])
        made.run(1)
        made.act("SendMessages", topic="orders", count=6)
        made.run(10)
        made.act("StopActor", actor="A")
        made.act("ChangeTopic", topic="orders", write_queues=4, read_queues=4)
        made.act("CreateTopic", topic="refunds", write_queues=2, read_queues=2)
        made.run(35)  # producers ask for routes every 30 s
        yield made


@pytest.fixture
def office(world: World) -> Office:
    office = Office(world)
    office.attach()
    office.clusters.get(SLUG).subscribe(CountingBell())
    return office


def by_mqadmin(office: Office) -> int:
    """`consumerProgress`: the sum of what 208 answers."""
    [broker] = office.cluster.picture.masters().values()
    reported: ConsumeStats = office._run(office.cluster.reach.consume_stats(broker.address, GROUP))
    return sum(row.broker_offset - row.consumer_offset for row in reported.queues.values())


def group_of(snapshot: dict[str, Any]) -> dict[str, Any]:
    return next(row for row in snapshot["groups"] if row["group"] == GROUP)


def test_every_headline_is_what_mqadmin_counts(world: World, office: Office) -> None:
    world.act("SendMessages", topic="orders", count=20)
    sent_ms = world.cluster.clock.now_ms()
    world.run(5)
    assert by_mqadmin(office) == 20
    for header in (
        world.read(BOARD).data["header"],
        world.read("groups").data["groups"][GROUP],
        group_of(world.snapshot()),
        office.read(BOARD)["header"],
        office.read("groups")["groups"][GROUP],
    ):
        assert (header["lag"], header["queues_known"], header["queues_all"]) == ("20", 4, 4)
    assert sent_ms - world.read(BOARD).data["header"]["oldest_since_ms"] <= 1_000, "not none"
    assert world.read("groups").data["groups"][GROUP]["state"] == "nobody"


def test_every_queue_is_counted_where_the_board_its_curve_and_the_topics_page_show_it(
    world: World, office: Office
) -> None:
    world.act("SendMessages", topic="orders", count=20)
    world.run(3)
    rows = world.read(BOARD).data["queues"]
    assert [(row["max"], row["committed"], row["from_zero"]) for row in rows.values()] == [
        ("8", "3", False),
        ("8", "3", False),
        ("5", None, True),
        ("5", None, True),
    ]
    assert all(row["oldest_stored_ms"] is not None for row in rows.values())
    curves = world.ask("recent-lag", group=GROUP, topic="orders")["queues"]
    assert {key: values[-1] for key, values in curves.items()} == dict.fromkeys(rows, 5)
    assert {key: row["from_zero"] for key, row in office.read(BOARD)["queues"].items()} == {
        key: row["from_zero"] for key, row in rows.items()
    }
    for place in (world.read("topics").data, office.read("topics")):
        [topic] = [row for row in place["topics"] if row["topic"] == "orders"]
        assert [queue["waiting"][GROUP] for queue in topic["queues"]] == ["5"] * 4


def test_a_group_that_never_read_the_topic_has_no_lag_there(world: World, office: Office) -> None:
    """`consumerProgress` does not list it: the whole topic does not wait for it."""
    world.act("SendMessages", topic="refunds", count=4)
    world.run(3)
    for header in (
        world.read(f"board/{GROUP}/refunds").data["header"],
        office.read(f"board/{GROUP}/refunds")["header"],
    ):
        assert header["lag"] is None


def test_a_topic_that_the_members_no_longer_subscribe_to_counts_only_while_no_member_is_online(
    world: World, office: Office
) -> None:
    world.act("SendMessages", topic="orders", count=20)
    world.run(3)
    assert world.read("groups").data["groups"][GROUP]["lag"] == "20"
    world.act("RemoveActor", actor="A")
    world.act("StartConsumer", group=GROUP, subscriptions=[["refunds", "*"]], work_ms=[1])
    world.run(25)
    assert by_mqadmin(office) == 0
    for row in (world.read("groups").data["groups"][GROUP], office.read("groups")["groups"][GROUP]):
        assert (row["lag"], row["topics"]) == ("0", ["refunds"])


def test_a_member_that_has_committed_nothing_yet_has_all_of_it_to_do(world: World) -> None:
    world.act("StartConsumer", group="novices", subscriptions=[["orders", "*"]], work_ms=[600_000])
    world.act("SendMessages", topic="orders", count=8)
    world.run(2)
    header = world.read("board/novices/orders").data["header"]
    assert (header["lag"], header["queues_known"]) == ("14", 4)
    assert header["oldest_since_ms"] is not None


def test_the_state_at_an_event_counts_by_the_same_rule(world: World) -> None:
    world.cluster.journal_files.keyframe()
    world.act("SendMessages", topic="orders", count=20)
    world.run(2)
    truth, entries = world.snapshot(), world.entries()
    [first, *_] = [entry for entry in reversed(entries) if isinstance(entry.event, Keyframe)]
    folded: Any = fold(
        first.event.snapshot, [entry for entry in entries if entry.seq >= first.seq], int(truth["seq"])
    ).snapshot
    assert group_of(folded)["lag"] == group_of(truth)["lag"] == "20"
