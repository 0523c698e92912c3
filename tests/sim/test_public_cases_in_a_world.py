"""Reported cases of RocketMQ users, played in a sandbox: C18 and C20."""

from sandbox.control.questions import WalkIndex
from sandbox.journal.events import MessagesConsumed, QueueLocked
from sandbox.simulation.world import World
from tests.beginnings import world_of

world = world_of("empty")
ORDERS = [{"topic": "orders"}]


def test_c18_an_orderly_queue_that_was_suspended_for_long_loses_nothing_and_its_lock_ends_after_60_s(
    world: World,
) -> None:
    world.act("CreateTopic", topic="orders", write_queues=1, read_queues=1)
    world.act(
        "StartConsumer",
        actor="A",
        group="g",
        subscriptions=ORDERS,
        listener="orderly",
        work_ms="10,10",
        fail_percent=100,
    )
    world.run(25)
    world.act("SendMessages", topic="orders", count=10)
    world.run(13 * 60)
    world.act("ChangeActor", actor="A", fail_percent=0)
    world.run(40)
    done = [
        offset
        for entry in world.entries(MessagesConsumed)
        if entry.event.outcome == "SUCCESS"
        for offset in entry.event.offsets
    ]
    assert done == list(range(10)), "each once, in order"
    world.act("StartConsumer", actor="B", group="g")
    world.run(25)
    renewed_ms = max(entry.at_ms for entry in world.entries(QueueLocked) if entry.event.topic == "orders")
    world.act("CrashActor", actor="A")
    world.run(90)
    taken = [
        entry
        for entry in world.entries(QueueLocked)
        if entry.event.topic == "orders" and entry.event.how == "taken_over"
    ]
    assert [entry.event.previous for entry in taken]
    assert taken[0].at_ms - renewed_ms >= 60_000


def test_c20_a_broker_whose_clock_is_ahead_stores_beyond_the_askers_window(world: World) -> None:
    world.act("CreateTopic", topic="orders", write_queues=1, read_queues=1)
    world.act("SendMessages", topic="orders", count=1, key="k-0")
    world.run(5)
    world.act("SkewClock", broker="broker-a", skew_ms=600_000)
    world.act("SendMessages", topic="orders", count=1, key="k-1")
    world.run(5)
    now_ms = world.cluster.clock.now_ms()
    walk = world.ask(WalkIndex(topic="orders", key="k-1", from_ms=now_ms - 60_000, to_ms=now_ms + 60_000))
    [step] = walk["files"][0]["chain"]
    assert (walk["found"], walk["ended"]["code"], step["verdict"]) == ([], "left_window", "too_new")
    assert 590_000 < step["at_ms"] - now_ms <= 600_000
