"""Age of a real cluster's numbers: order of requests, batches, and requests made once."""

import pytest

from sandbox.control.limits import AttachedLimits
from sandbox.simulation.world import World
from tests.sim.attached_stage import SLUG, CountingBell, Office


def test_no_queue_ends_before_what_was_committed_of_it(world: World) -> None:
    """Offsets are read with every round, ends in turn."""
    office = Office(world, limits=AttachedLimits(topics_per_round=1))
    office.attach()
    office.clusters.get(SLUG).subscribe(CountingBell())
    world.run(30)
    world.act("ChangeActor", actor="shop", rate_per_s=60)
    for _ in range(80):
        world.run(0.25)
        snapshot = office.snapshot()
        ends = {
            (topic["topic"], row["broker"], row["queue_id"]): row["max"]
            for topic in snapshot["topics"]
            for row in topic["queues"]
        }
        for group in snapshot["groups"]:
            for row in group["queues"]:
                end = ends[row["topic"], row["broker"], row["queue_id"]]
                if row["committed"] is not None and end is not None:
                    assert int(row["committed"]) <= int(end)


def test_the_first_answer_after_minutes_is_asked_first(office: Office, world: World) -> None:
    world.run(300)
    asked_ms = office.snapshot()["topics"][0]["asked_at"]
    now_ms = world.environment.wall.now_ms()
    assert now_ms - asked_ms > 120_000  # it says how old it is
    world.run(120)
    office.attach()  # what every page and every question begins with
    snapshot = office.snapshot()
    assert world.environment.wall.now_ms() - min(topic["asked_at"] for topic in snapshot["topics"]) < 10_000
    [orders] = [topic for topic in snapshot["topics"] if topic["topic"] == "orders"]
    stores = {node.name: node.running.store for node in world.cluster.nodes.masters()}
    behind = [stores[row["broker"]].max_offset("orders", row["queue_id"]) - int(row["max"]) for row in orders["queues"]]
    assert max(behind) <= 20  # six a second come
    office.attach()
    assert office.glance("board/order-svc/orders").data["header"]["asked_at"] >= asked_ms


def test_what_a_broker_does_not_report_is_in_the_log_once(
    office: Office, world: World, caplog: pytest.LogCaptureFixture
) -> None:
    office.clusters.get(SLUG).subscribe(CountingBell())
    mute = world.cluster.actors.consumers("order-svc")[0]
    world.act("HangActor", actor=mute.label)
    with caplog.at_level("INFO", logger="sandbox.attached"):
        world.run(110)  # until the broker drops it, it is asked again after a minute
    said = [record.getMessage() for record in caplog.records if mute.client_id in record.getMessage()]
    assert len(said) == 1
