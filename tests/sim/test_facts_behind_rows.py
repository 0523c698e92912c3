"""From what a board shows to the fact behind it."""

from sandbox.journal.events import (
    MinOffsetMoved,
    OffsetsReset,
    QueueDropped,
    QueueTaken,
    RouteChanged,
)
from sandbox.simulation.world import World
from tests.beginnings import world_with

GROUP = "order-svc"
ORDERS = [["orders", "*"]]
world = world_with({"orders": 2}, preset="teaching")


def test_a_row_leads_to_the_last_fact_about_it(world: World) -> None:
    world.act("StartConsumer", group=GROUP, subscriptions=ORDERS, work_ms=[1])
    for _ in range(3):  # all at once would reach the limit of a queue's messages in memory, which is a fact, too
        world.act("SendMessages", topic="orders", count=100, body_bytes=600)
        world.run(10)

    def fact(queue: str) -> object:
        cause = world.read(f"board/{GROUP}/orders").data["queues"][queue]["cause"]
        return next(type(entry.event) for entry in world.entries() if str(entry.seq) == cause)

    assert fact("broker-a:0") is QueueTaken
    world.act("AgeFiles", broker="broker-a", hours=100)
    world.act("CleanFiles", broker="broker-a")
    assert world.entries(MinOffsetMoved)
    assert fact("broker-a:0") is MinOffsetMoved
    world.act("StopActor", actor="A")
    world.run(2)
    assert fact("broker-a:1") is QueueDropped
    world.act("ResetOffsets", group=GROUP, topic="orders", target="earliest", method="offline")
    assert fact("broker-a:1") is OffsetsReset


def test_a_deleted_topic_is_a_changed_route(world: World) -> None:
    world.run(1)
    seq = world.act("DeleteTopic", topic="orders")
    gone = [entry for entry in world.entries(RouteChanged) if entry.cause == seq]
    assert [(entry.event.why, entry.event.topics) for entry in gone] == [("unregistered", ("orders",))]
