"""What becomes of messages at a member: filtered, held back, sent back, tried again, in order or not."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from sandbox.client.config import ProducerConfig
from sandbox.client.producer import Producer
from sandbox.journal.events import (
    FlowControlChanged,
    MessageRetried,
    MessagesConsumed,
    MessagesFiltered,
    PullAnswered,
)
from sandbox.message.message import Message
from sandbox.message.queue import MessageQueue
from sandbox.message.record import decode_all
from sandbox.remoting.codes import RequestCode, ResponseCode
from sandbox.remoting.headers import PullHeader, SendBackHeader
from sandbox.simulation.world import World
from tests.seed.stage import Frame, WireLog, application, prefix_of

QUEUE_COUNT = 1
GROUP = "order-svc"
ORDERS = [["orders", "*"]]
FIRST = "CONSUME_FROM_FIRST_OFFSET"
PULL, SEND_BACK = RequestCode.PULL_MESSAGE, RequestCode.CONSUMER_SEND_MSG_BACK
HOUR_MS = 3_600_000
MIB = 1024 * 1024


def join(world: World, **fields: Any) -> None:
    world.act("StartConsumer", **{"group": GROUP, "subscriptions": ORDERS, "work_ms": [1], "from_where": FIRST,
                                  **fields})


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


def begun(world: World, key: str) -> list[int]:
    """When a listener that returned had been given that key."""
    return [entry.event.started_ms for entry in world.entries(MessagesConsumed) if key in entry.event.keys]


def pulled_from(asked: list[Frame]) -> list[int]:
    """Where pulls of the queue began, in order."""
    return [header.queue_offset for frame in asked
            if (header := PullHeader.from_ext(frame.command.ext or {})).topic == "orders"]


@pytest.mark.seed("1.17")
def test_tags_of_the_same_hash_are_told_apart_by_their_text(world: World) -> None:
    wire = WireLog(world)
    join(world, subscriptions=[["orders", "Aa"]])
    world.run(2)
    for tag in ("Aa", "BB", "CC"):
        send(world, 10, tag=tag, key=tag + "-{n}")
    world.run(25)
    hashes = [world.ask("read-entry", topic="orders", broker="broker-a", queue_id=0, offset=offset)["tags_code"]
              for offset in (0, 10, 20)]
    assert hashes == ["2112", "2112", str(ord("C") * 31 + ord("C"))]
    brought = [row.properties["TAGS"] for frame in wire.answers(PULL) for row in decode_all(frame.command.body or b"")]
    assert (brought.count("Aa"), brought.count("BB"), brought.count("CC")) == (10, 10, 0), "the broker compares hashes"
    assert sum(entry.event.skipped_by_hash for entry in world.entries(PullAnswered)) == 10
    assert [tag for entry in world.entries(MessagesFiltered) for tag in entry.event.tags] == ["BB"] * 10
    got = [key for entry in world.entries(MessagesConsumed) for key in entry.event.keys]
    assert sorted(got) == sorted(f"Aa-{n}" for n in range(1, 11))
    assert committed(world) == 30, "what was not wanted counts as done"


@pytest.mark.seed("1.18")
def test_a_message_worked_on_for_fifteen_minutes_is_sent_back_and_the_offset_moves_on(world: World) -> None:
    join(world)
    world.act("ChangeActor", actor="A", slow_key="stuck", slow_ms=10 * HOUR_MS)
    started_ms = world.cluster.clock.now_ms()
    world.run(60)
    send(world, 1, key="stuck")
    send(world, 9)
    wire = WireLog(world)

    def passed_s() -> float:
        return (world.cluster.clock.now_ms() - started_ms) / 1000

    world.run(905 - passed_s())
    assert wire.requests(SEND_BACK) == [], "the round after 15 minutes finds it 14 minutes old"
    world.run(1_799 - passed_s())
    assert wire.requests(SEND_BACK) == [], "nothing happens before the next round"
    assert committed(world) == 0
    world.run(2)
    [back] = wire.requests(SEND_BACK)
    header = SendBackHeader.from_ext(back.command.ext or {})
    assert back.at_ms - started_ms == pytest.approx(1_800_000, abs=1_000)
    assert (header.group, header.delay_level) == (GROUP, 3)
    world.run(6)
    assert committed(world) == 10
    world.run(15)
    rows = world.read(f"client/{world.cluster.actors.get('A').client_id.replace('#', '%23')}").data["queues"]
    oldest = rows[f"%RETRY%{GROUP}/broker-a/0"]["oldest"]
    assert oldest["key"] == "stuck"
    assert 10_000 <= oldest["since_ms"] - back.at_ms <= 12_000, "10 s later it comes again, by the retry topic"


@pytest.mark.seed("1.18")
def test_in_order_nothing_is_sent_back_for_taking_long(world: World) -> None:
    join(world, listener="orderly")
    world.act("ChangeActor", actor="A", slow_key="stuck", slow_ms=10 * HOUR_MS)
    send(world, 1, key="stuck")
    wire = WireLog(world)
    world.run(2_800)
    assert wire.requests(SEND_BACK) == []
    assert committed(world) == 0


@pytest.mark.seed("1.28")
def test_a_message_the_broker_takes_back_in_no_way_is_consumed_again_here_after_five_seconds(world: World) -> None:
    join(world, work_ms=[1_000])
    world.run(30)
    world.act("ChangeActor", actor="A", handler="reject bad")
    send(world, 1, key="bad")
    send(world, 4, key="good-{n}")
    wire = WireLog(world)
    world.act("FillDisk", broker="broker-a")
    world.run(14)
    times = begun(world, "bad")
    assert [after - before for before, after in pairwise(times)] == [6_000, 6_000], "1 s of work, then 5 s of rest"
    mine = prefix_of(world, "A")
    refused = [answer.command.code for answer in wire.answers(SEND_BACK, receiver=mine)]
    assert refused == [ResponseCode.SYSTEM_ERROR] * 3, "asked every time"
    sends = wire.answers(RequestCode.SEND_MESSAGE_V2, receiver=mine)
    assert [answer.command.code for answer in sends] == [ResponseCode.SERVICE_NOT_AVAILABLE] * 9, "sent 3 times each"
    kept = [entry.event for entry in world.entries(MessageRetried) if entry.event.target == "local"]
    assert [(event.offset, event.reconsume_times) for event in kept] == [(0, 1), (0, 2), (0, 3)]
    assert committed(world) == 0, "and so it holds the offset, though the others are done"
    assert all(len(begun(world, f"good-{n}")) == 1 for n in range(1, 5))
    world.act("FreeDisk", broker="broker-a")
    world.act("ChangeActor", actor="A", handler="work")
    world.run(12)
    assert len(begun(world, "bad")) == 4
    assert committed(world) == 5


@pytest.mark.seed("1.28", "D20")
def test_the_pool_is_never_full_and_a_stopped_one_takes_nothing_more(world: World) -> None:
    send(world, 900)
    join(world, threads=1)
    world.run(8)
    times = [entry.event.started_ms for entry in world.entries(MessagesConsumed)]
    assert len(times) == 900
    assert {after - before for before, after in pairwise(times)} == {1}, (
        "one after the other, though 900 wait for one thread: none is turned away for 5 s")
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
    """What held pulls back, in order: limit, how much there was, how much there may be; None: nothing any more."""
    return [(entry.event.limit, entry.event.value, entry.event.allowed) for entry in world.entries(FlowControlChanged)]


@pytest.mark.seed("1.29")
def test_with_a_thousand_cached_it_still_pulls_and_with_one_more_it_stops(world: World) -> None:
    send(world, 1, key="first")
    send(world, 999)
    wire = WireLog(world)
    join(world, threads=1, work_ms=[HOUR_MS])
    world.act("ChangeActor", actor="A", slow_key="first", slow_ms=60_000)
    world.run(10)
    [began_ms] = [frame.at_ms for frame in wire.requests(PULL) if pulled_from([frame]) == [0]]
    assert pulled_from(wire.requests(PULL))[-2:] == [992, 1_000], "all thousand are here, and it asks for more"
    assert pressure(world) == []
    send(world, 1)
    world.run(10)
    assert pulled_from(wire.requests(PULL))[-1] == 1_000
    assert pressure(world) == [("count", 1_001, 1_000)]
    send(world, 5)
    world.run(30)
    assert pulled_from(wire.requests(PULL))[-1] == 1_000, "what was stored since then stays at the broker"
    world.run(20)
    [following] = [frame for frame in wire.requests(PULL) if pulled_from([frame]) == [1_001]]
    assert 60_000 <= following.at_ms - began_ms <= 60_050, "one is done: it looks again every 50 ms"


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


@pytest.mark.seed("1.31")
def test_in_order_a_failing_message_lets_all_behind_it_wait(tmp_path: Path) -> None:
    seen: dict[str, list[str]] = {}
    for listener in ("orderly", "concurrent"):
        with World(tmp_path / listener) as world:
            world.act("CreateTopic", topic="orders", write_queues=2, read_queues=2)
            world.run(1)
            join(world, listener=listener)
            world.run(12)
            world.act("ChangeActor", actor="A", handler="reject bad")
            world.act("SendMessages", topic="orders", queue="broker-a:0", count=1, key="bad")
            world.act("SendMessages", topic="orders", queue="broker-a:0", count=5, key="behind-{n}")
            world.act("SendMessages", topic="orders", queue="broker-a:1", count=5, key="beside-{n}")
            world.run(20.5)
            done = [entry for entry in world.entries(MessagesConsumed) if entry.event.outcome == "SUCCESS"]
            seen[listener] = sorted(key for entry in done for key in entry.event.keys)
            beside = [f"beside-{n}" for n in range(1, 6)]
            if listener == "concurrent":
                assert seen[listener] == [f"behind-{n}" for n in range(1, 6)] + beside
                continue
            assert seen[listener] == beside, "other queues go on"
            times = begun(world, "bad")
            assert len(times) >= 20
            assert {after - before for before, after in pairwise(times)} == {1_001}, "1 ms of work, 1 s of rest, again"
            assert committed(world) == 0
            world.act("ChangeActor", actor="A", handler="work")
            world.run(2)
            order = [key for entry in world.entries(MessagesConsumed) if entry.event.outcome == "SUCCESS"
                     and entry.event.queue_id == 0 for key in entry.event.keys]
            assert order == ["bad", *(f"behind-{n}" for n in range(1, 6))]


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
