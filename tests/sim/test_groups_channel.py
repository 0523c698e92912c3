"""All groups over all topics, of a sandbox and of a real cluster: lag with retries, members, what is consumed."""

from pathlib import Path
from typing import Any

import pytest

from sandbox.control.group_state import Flow, Standing
from sandbox.control.limits import AttachedLimits
from sandbox.remoting.bodies import ConsumeStats
from sandbox.simulation.world import World
from tests.sim.attached_stage import SLUG, CountingBell, Office

GROUP = "order-svc"


@pytest.fixture
def world(tmp_path: Path) -> Any:
    with World(tmp_path) as made:
        made.act("CreateTopic", topic="orders", write_queues=4, read_queues=4)
        made.act("StartConsumer", group=GROUP, subscriptions=[{"topic": "orders"}], work_ms=[10, 10])
        made.run(5)
        yield made


def attached(world: World, **limits: Any) -> Office:
    office = Office(world, limits=AttachedLimits(**limits))
    office.attach()
    office.clusters.get(SLUG).subscribe(CountingBell())
    return office


def group(place: World | Office, name: str = GROUP) -> dict[str, Any]:
    data = place.read("groups")
    rows: dict[str, Any] = (data if isinstance(place, Office) else data.data)["groups"]
    return rows[name]


def by_mqadmin(office: Office) -> int:
    """`consumerProgress`: the sum of what 208 answers, retry topic included."""
    [broker] = office.cluster.picture.masters().values()
    reported: ConsumeStats = office._run(office.cluster.reach.consume_stats(broker.address, GROUP))
    return sum(row.broker_offset - row.consumer_offset for row in reported.queues.values())


def with_retries_waiting(world: World) -> None:
    """Twelve messages in the topic and three in the retry topic, and no one to read them."""
    world.act("ChangeActor", actor="A", fail_percent=100)
    world.act("SendMessages", topic="orders", count=3)
    world.run(8)  # sent back, and due in the retry topic 10 s after
    world.act("StopActor", actor="A")
    world.act("SendMessages", topic="orders", count=12)
    world.run(30)


def test_lag_counts_the_retry_topic_as_mqadmin_does(world: World) -> None:
    with_retries_waiting(world)
    office = attached(world)
    for header in (
        world.read(f"board/{GROUP}/orders").data["header"],
        office.read(f"board/{GROUP}/orders")["header"],
        group(world),
        group(office),
    ):
        assert (header["lag"], header["retrying"]) == ("15", "3")
    [said] = [row for row in world.snapshot()["groups"] if row["group"] == GROUP]
    assert (said["lag"], said["counts"]["retrying"]) == ("15", 3)
    assert by_mqadmin(office) == 15


def test_what_no_one_reads_says_so_and_who_dies_consumes_nothing_more(world: World) -> None:
    world.act("StartProducer", actor="shop", topic="orders", rate_per_s=5)
    office = attached(world)
    office.read("groups")
    world.run(60)
    for row in (group(world), group(office)):
        assert (row["members"], row["state"], row["topics"]) == (1, "ok", ["orders"])
        assert row["consumed_per_s"] == pytest.approx(5, abs=1)
        assert row["delivered_per_s"] == pytest.approx(5, abs=1)
    world.act("CrashActor", actor="A")
    world.run(25)  # within the minute over which a broker counts what it hands out
    for row in (group(world), group(office)):
        assert (row["members"], row["state"]) == (0, "nobody")
        assert (row["consumed_per_s"], row["delivered_per_s"]) == (0.0, 0.0)
    header = office.read(f"board/{GROUP}/orders")["header"]
    assert (header["out_per_s"], header["delivered_per_s"]) == (0.0, 0.0)


def test_a_group_that_fails_everything_is_handed_more_than_it_consumes(world: World) -> None:
    world.act("ChangeActor", actor="A", fail_percent=100)
    world.act("StartProducer", actor="shop", topic="orders", rate_per_s=5)
    office = attached(world)
    office.read("groups")
    world.run(100)
    header = world.read(f"board/{GROUP}/orders").data["header"]
    assert (header["out_per_s"], header["differs"]) == (0.0, True), "no listener has accepted one"
    header = office.read(f"board/{GROUP}/orders")["header"]
    assert header["delivered_per_s"] > 1.5 * header["out_per_s"], "what is sent back is committed, and comes again"
    assert group(world)["differs"]
    assert group(office)["differs"]


def test_no_rate_is_known_before_the_second_commit_was_seen(world: World) -> None:
    world.act("SendMessages", topic="orders", count=8)
    world.run(10)
    office = attached(world)
    assert office.glance("groups").data["groups"][GROUP]["consumed_per_s"] is None


def test_retry_topics_take_no_place_of_the_topics_limit(world: World) -> None:
    for n in range(3):
        world.act("StartConsumer", group=f"g-{n}", subscriptions=[{"topic": "orders"}])
    with_retries_waiting(world)
    office = attached(world, topics=1)
    assert office.snapshot()["sandbox"]["trouble"] is None
    assert group(office)["retrying"] == "3"
    world.act("CreateTopic", topic="refunds", write_queues=1, read_queues=1)
    world.run(20)
    assert office.snapshot()["sandbox"]["trouble"] == "1 of 2 topics are shown."


def test_a_killed_broker_leaves_members_and_rates_unknown(world: World) -> None:
    world.act("SendMessages", topic="orders", count=8)
    office = attached(world)
    office.read("groups")
    world.run(20)
    world.act("KillBroker", broker="broker-a")
    world.run(60)
    row = group(office)
    assert (row["state"], row["lag"], row["members"], row["consumed_per_s"]) == ("unknown", None, None, None)
    assert (row["queues_known"], row["queues_all"]) == (0, 4)


@pytest.mark.parametrize(
    ("standing", "state"),
    [
        (Standing(90, 0, 3, Flow(5.0, 5.0), age_ms=15_001), "behind"),
        (Standing(90, 0, 3, Flow(5.0, 5.0)), "behind"),
        (Standing(70, 0, 3, Flow(5.0, 5.0)), "ok"),
        (Standing(90, 0, 3, Flow(5.0, 5.0), most_age_ms=9_000), "ok"),
        (Standing(90, 0, 0, Flow(0.0, 0.0)), "nobody"),
        (Standing(7, 2, 3, Flow(5.0, 5.0), age_ms=900), "retrying"),
        (Standing(7, 0, 3, Flow(5.0, 6.5), age_ms=900), "differs"),
        (Standing(0, 0, 3, Flow(0.0, 0.0)), "quiet"),
        (Standing(0, 0, 0, Flow(0.0, 0.0)), "quiet"),
        (Standing(7, 0, 3, Flow(None, None)), "unknown"),
        (Standing(None, None, 3, Flow(5.0, 5.0)), "unknown"),
        (Standing(0, None, 3, Flow(5.0, 5.0)), "unknown"),
        (Standing(0, 0, 3, Flow(5.0, 5.0), unknown_queues=4), "ok_partly"),
        (Standing(0, 0, 0, Flow(0.0, 0.0), unknown_queues=4), "quiet_partly"),
        (Standing(90, 0, 3, Flow(5.0, 5.0), age_ms=15_001, unknown_queues=4), "behind"),
        (Standing(0, 0, 3, Flow(5.0, 5.0), members_differ=True), "mixed"),
        (Standing(7, 2, 3, Flow(5.0, 5.0), age_ms=900, members_differ=True), "retrying"),
    ],
)
def test_a_group_is_as_late_as_its_oldest_message_or_as_what_it_consumes(standing: Standing, state: str) -> None:
    assert standing.state == state
