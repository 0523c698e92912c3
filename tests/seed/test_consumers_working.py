"""Messages at a member: filtered, processed one by one, held back."""

from itertools import pairwise
from typing import Any

import pytest

from sandbox.client.config import ProducerConfig
from sandbox.client.producer import Producer
from sandbox.journal.events import (
    FlowControlChanged,
    MessagesConsumed,
    MessagesFiltered,
    PullAnswered,
)
from sandbox.message.message import Message
from sandbox.message.queue import MessageQueue
from sandbox.message.record import decode_all
from sandbox.remoting.codes import RequestCode
from sandbox.remoting.headers import PullHeader
from sandbox.simulation.world import World
from tests.seed.stage import Frame, WireLog, application

QUEUE_COUNT = 1
GROUP = "order-svc"
ORDERS = [["orders", "*"]]
FIRST = "CONSUME_FROM_FIRST_OFFSET"
PULL = RequestCode.PULL_MESSAGE
HOUR_MS = 3_600_000
MIB = 1024 * 1024


def join(world: World, **fields: Any) -> None:
    world.act(
        "StartConsumer", **{"group": GROUP, "subscriptions": ORDERS, "work_ms": [1], "from_where": FIRST, **fields}
    )


def send(world: World, count: int, **how: Any) -> None:
    """All are stored when this returns."""
    before = int(queue(world)["max"])
    world.act("SendMessages", topic="orders", count=count, **how)
    world.run_until(lambda: int(queue(world)["max"]) == before + count, within_s=20, step_s=0.001)


def queue(world: World) -> dict[str, Any]:
    [topic] = [topic for topic in world.snapshot()["topics"] if topic["topic"] == "orders"]
    return dict(topic["queues"][0])


def committed(world: World) -> int:
    return int(world.read(f"board/{GROUP}/orders").data["queues"]["broker-a:0"]["committed"] or 0)


def pulled_from(asked: list[Frame]) -> list[int]:
    """Return the start offsets of the queue's pulls, in order."""
    return [
        header.queue_offset
        for frame in asked
        if (header := PullHeader.from_ext(frame.command.ext or {})).topic == "orders"
    ]


@pytest.mark.seed("1.17")
def test_tags_of_the_same_hash_are_distinguished_by_their_text(world: World) -> None:
    wire = WireLog(world)
    join(world, subscriptions=[["orders", "Aa"]])
    world.run(2)
    for tag in ("Aa", "BB", "CC"):
        send(world, 10, tag=tag, key=tag + "-{n}")
    world.run(25)
    hashes = [
        world.ask("read-entry", topic="orders", broker="broker-a", queue_id=0, offset=offset)["tags_code"]
        for offset in (0, 10, 20)
    ]
    assert hashes == ["2112", "2112", str(ord("C") * 31 + ord("C"))]
    brought = [row.properties["TAGS"] for frame in wire.answers(PULL) for row in decode_all(frame.command.body or b"")]
    assert (brought.count("Aa"), brought.count("BB"), brought.count("CC")) == (10, 10, 0), "the broker compares hashes"
    assert sum(entry.event.skipped_by_hash for entry in world.entries(PullAnswered)) == 10
    assert [tag for entry in world.entries(MessagesFiltered) for tag in entry.event.tags] == ["BB"] * 10
    got = [key for entry in world.entries(MessagesConsumed) for key in entry.event.keys]
    assert sorted(got) == sorted(f"Aa-{n}" for n in range(1, 11))
    assert committed(world) == 30, "what was not wanted counts as done"


@pytest.mark.seed("1.28", "D20")
def test_the_pool_is_never_full_and_a_stopped_one_takes_nothing_more(world: World) -> None:
    send(world, 900)
    join(world, threads=1)
    world.run(8)
    times = [entry.event.started_ms for entry in world.entries(MessagesConsumed)]
    assert len(times) == 900
    assert {after - before for before, after in pairwise(times)} == {1}, (
        "one after the other, though 900 wait for one thread: none is turned away for 5 s"
    )
    world.act("ChangeActor", actor="A", work_ms=[100])
    send(world, 500)
    world.run(20)
    world.act("StopActor", actor="A")
    world.run(1)
    done = len(world.entries(MessagesConsumed)) - 900
    assert 150 < done < 250
    world.run(30)
    assert len(world.entries(MessagesConsumed)) == 900 + done


def pressure(world: World) -> list[tuple[str | None, int, int]]:
    """Return the limits that held pulls back, in order, with value and maximum; None: no limit any more."""
    return [(entry.event.limit, entry.event.value, entry.event.allowed) for entry in world.entries(FlowControlChanged)]


@pytest.mark.seed("1.29")
def test_with_a_span_of_two_thousand_it_still_pulls_and_with_one_more_it_stops(world: World) -> None:
    """Only two or three messages are unfinished, but far apart."""
    join(world)
    world.act("ChangeActor", actor="A", slow_key="stuck", slow_ms=HOUR_MS)
    world.run(2)
    send(world, 1, key="stuck")
    for count in (500, 500, 500, 499):
        send(world, count)
        world.run(2)
    send(world, 1, key="stuck")
    wire = WireLog(world)
    world.run(30)
    assert pressure(world) == [], "0 and 2000 are being worked on"
    assert pulled_from(wire.requests(PULL))[-1] == 2_001
    send(world, 1, key="stuck")
    world.run(1)
    asked = len(pulled_from(wire.requests(PULL)))
    world.run(30)
    assert pressure(world) == [("span", 2_001, 2_000)]
    assert len(pulled_from(wire.requests(PULL))) == asked
    row = world.read(f"client/{world.cluster.actors.get('A').client_id.replace('#', '%23')}").data["queues"]
    assert (row["orders/broker-a/0"]["cached"], row["orders/broker-a/0"]["span"]) == (3, 2_001)


@pytest.mark.seed("0.33", "1.29")
def test_with_a_hundred_mib_of_bodies_it_still_pulls_and_with_one_more_it_stops(world: World) -> None:
    """Bodies count as the listener gets them: these are a few KiB each while they are compressed."""
    world.act("ChangeBroker", broker="broker-a", changes={"max_message_bytes": 4 * MIB})
    producer = Producer(ProducerConfig(group="shop"), application(world, "shop"))
    world.environment.sim.run(producer.start())
    wire = WireLog(world)
    join(world, threads=1, work_ms=[HOUR_MS])
    world.run(10)

    def send_mib(mib: int) -> None:
        queue = MessageQueue("orders", "broker-a", 0)
        world.environment.sim.run(producer.send(Message.make("orders", bytes(mib * MIB)), queue=queue))
        world.run(1)

    for _ in range(25):
        send_mib(4)
    assert pressure(world) == []
    assert pulled_from(wire.requests(PULL))[-1] == 25, "100 MiB are cached, and it asks for more"
    send_mib(1)
    world.run(10)
    assert pressure(world) == [("size", 101 * MIB, 100 * MIB)]
    asked = len(wire.requests(PULL))
    send_mib(1)
    world.run(10)
    assert [pull for pull in pulled_from(wire.requests(PULL)[asked:]) if pull > 25] == []
