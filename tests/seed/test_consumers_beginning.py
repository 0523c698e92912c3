"""The start offset of a group without a stored offset, and a member's behaviour if it is unknown."""

from pathlib import Path
from typing import Any

import pytest

from sandbox.journal.events import MessagesConsumed, QueuesAssigned, QueueTaken
from sandbox.remoting.codes import RequestCode, ResponseCode
from sandbox.remoting.headers import OffsetResponseHeader, QueryOffsetHeader
from sandbox.simulation.world import World
from tests.beginnings import world_with
from tests.seed.stage import Caller, WireLog, broker_address, prefix_of

GROUP = "order-svc"
ORDERS = [["orders", "*"]]
ASK, MAX = RequestCode.QUERY_CONSUMER_OFFSET, RequestCode.GET_MAX_OFFSET
NOT_FOUND = "Not found, V3_0_6_SNAPSHOT maybe this group consumer boot first"
# Log files of 64 KiB; what is within 102 KiB of the log's end counts as in memory (40 % of 256).
world = world_with({"orders": 4}, seconds=1, preset="teaching")


def join(world: World, **fields: Any) -> None:
    world.act("StartConsumer", **{"group": GROUP, "subscriptions": ORDERS, "work_ms": [1], **fields})


def send(world: World, count: int, queue_id: int | None = None, **how: Any) -> None:
    queue = None if queue_id is None else f"broker-a:{queue_id}"
    world.act("SendMessages", topic="orders", queue=queue, count=count, **how)
    world.run(0.1)


def raise_the_minimum(world: World) -> int:
    """Take the first log file away; returns the offset queue 0 begins at from then on."""
    world.run(2)
    world.act("AgeFiles", broker="broker-a", hours=80)
    world.act("CleanFiles", broker="broker-a")
    world.run(1)
    [queues] = [topic["queues"] for topic in world.snapshot()["topics"] if topic["topic"] == "orders"]
    return int(queues[0]["min"])


def beginnings(world: World, group: str, *, since: int = 0) -> dict[str, tuple[int, tuple[str, ...]]]:
    """Queue → where a member began to pull it, and how that was found."""
    return {
        f"{entry.event.broker}:{entry.event.queue_id}": (entry.event.start_offset, entry.event.trace)
        for entry in world.entries(QueueTaken, since=since)
        if (entry.event.group, entry.event.topic) == (group, "orders")
    }


def stored(caller: Caller, queue_id: int, group: str = "nobody-yet") -> int | str:
    """Return the broker's offset of that group, or its refusal as text."""
    answer = caller.ask(ASK, QueryOffsetHeader(group, "orders", queue_id).to_ext())
    if answer.code == ResponseCode.SUCCESS:
        return OffsetResponseHeader.from_ext(answer.ext or {}).offset
    assert answer.code == ResponseCode.QUERY_NOT_FOUND == 22
    return str(answer.remark)


@pytest.mark.seed("1.10", "D15", "0.37")
def test_a_new_group_gets_the_old_messages_of_a_small_topic_and_only_new_ones_once_the_oldest_are_gone(
    world: World,
) -> None:
    """Both begin with LAST_OFFSET; of queue 0 the first log file goes, queue 1 stays as it is."""
    send(world, 25, 0, body_bytes=3_000, key="old-{n}")
    send(world, 2, 1, key="small-{n}")
    join(world, group="first")
    world.run(5)
    assert {queue: start for queue, (start, _) in beginnings(world, "first").items()} == {
        f"broker-a:{n}": 0 for n in range(4)
    }
    got = {key for entry in world.entries(MessagesConsumed) for key in entry.event.keys}
    assert got == {*(f"old-{n}" for n in range(1, 26)), "small-1", "small-2"}, "it never asked for what was old"
    assert 0 < raise_the_minimum(world) < 25
    wire = WireLog(world)
    join(world, group="second")
    world.run(5)
    starts = beginnings(world, "second")
    assert starts["broker-a:0"] == (25, ("not_found", "max"))
    assert starts["broker-a:1"] == (0, ("zero_in_memory",)), "its minimum is still 0"
    second = [world.cluster.label_of(entry.event.client_id) for entry in world.entries(QueueTaken)][-1]
    assert {
        (frame.command.ext or {})["queueId"]
        for frame in wire.requests(MAX, sender=prefix_of(world, str(second)))
        if (frame.command.ext or {})["topic"] == "orders"
    } == {"0"}
    again = [
        key for entry in world.entries(MessagesConsumed) if entry.event.group == "second" for key in entry.event.keys
    ]
    assert sorted(again) == ["small-1", "small-2"]
    send(world, 1, 0, key="new")
    world.run(1)
    assert world.entries(MessagesConsumed)[-1].event.keys == ("new",)


@pytest.mark.seed("1.10", "1.12", "D15")
def test_it_is_forty_percent_of_the_memory_that_decides_and_not_what_is_flushed(tmp_path: Path) -> None:
    memory_bytes = 256 * 1024
    with World(tmp_path, preset="teaching") as world:
        world.act("CreateTopic", topic="orders", write_queues=1, read_queues=1)
        world.run(1)
        caller = Caller(world, broker_address(world))

        def log(end: str) -> int:
            return int(world.snapshot()["brokers"][0]["log"][end])

        send(world, 20)
        assert log("flushed") < log("max")
        assert stored(caller, 0) == 0, "not flushed yet: 0"
        world.run(11)
        assert log("flushed") == log("max")
        assert stored(caller, 0) == 0, "flushed: 0 all the same"
        world.act("SendMessages", topic="orders", count=230)
        world.run(1)
        sizes = []
        while stored(caller, 0) == 0 and len(sizes) < 200:
            sizes.append(log("max"))
            send(world, 1)
        assert sizes[-1] <= memory_bytes * 0.4 < log("max"), "the log is now so long that its begin counts as on disk"
        assert log("flushed") < log("max")
        assert stored(caller, 0) == NOT_FOUND
        world.run(11)
        assert log("flushed") == log("max")
        assert stored(caller, 0) == NOT_FOUND
        assert world.snapshot()["topics"][0]["queues"][0]["min"] == "0", "the minimum did not move"


@pytest.mark.seed("1.12", "D12", "0.37")
def test_an_unknown_group_gets_zero_or_not_found_and_a_known_group_its_offset(world: World) -> None:
    caller = Caller(world, broker_address(world))
    assert [stored(caller, n) for n in range(4)] == [0, 0, 0, 0], "empty queues"
    send(world, 25, 0, body_bytes=3_000)
    assert stored(caller, 0) == 0
    assert raise_the_minimum(world) > 2
    assert [stored(caller, n) for n in range(4)] == [NOT_FOUND, 0, 0, 0]
    commit = {"consumerGroup": "nobody-yet", "topic": "orders", "queueId": "0", "commitOffset": "2"}
    caller.ask(RequestCode.UPDATE_CONSUMER_OFFSET, commit)
    assert stored(caller, 0) == 2, "a record always wins, also below the minimum"


@pytest.mark.seed("1.11")
def test_without_an_answer_a_queue_is_not_taken_and_tried_again_in_the_next_round(tmp_path: Path) -> None:
    """One response is lost; the broker would have returned the end of the queue a moment later."""
    with World(tmp_path, latency_ms=(50, 50)) as world:
        world.act("CreateTopic", topic="orders", write_queues=4, read_queues=4)
        world.run(1)
        join(world)
        send(world, 20)
        world.run(30)
        world.act("StopActor", actor="A")
        world.run(2)
        send(world, 20)
        since, wire = world.cluster.journal.next_seq, WireLog(world)
        join(world, actor="B")
        world.run_until(lambda: bool(wire.requests(ASK)), within_s=5, step_s=0.001)
        broker, b = broker_address(world), prefix_of(world, "B")
        world.cluster.network.partition(broker, b.strip(":"), one_way=True)
        world.run(0.2)
        world.cluster.network.heal()
        world.run(30)
        assert wire.requests(MAX, sender=b) == [], "no answer is not the answer that there is no record"
        rounds = [
            entry.event.added for entry in world.entries(QueuesAssigned, since=since) if entry.event.topic == "orders"
        ]
        assert rounds == [tuple(f"orders/broker-a/{n}" for n in (1, 2, 3)), ("orders/broker-a/0",)]
        assert beginnings(world, GROUP, since=since)["broker-a:0"] == (5, ("stored",))
        asked = [
            frame.at_ms
            for frame in wire.requests(ASK, sender=b)
            if (header := QueryOffsetHeader.from_ext(frame.command.ext or {})).queue_id == 0
            and header.topic == "orders"
        ]
        assert len(asked) == 2
        assert asked[1] - asked[0] > 5_000, "so long it waits for an answer"


@pytest.mark.seed("1.11")
def test_queues_of_a_broker_that_does_not_answer_wait_until_it_does(tmp_path: Path) -> None:
    with World(tmp_path, "orders") as world:
        world.run(40)
        world.act("HangBroker", broker="broker-b")
        since = world.cluster.journal.next_seq
        join(world, group="audit", actor="new")
        world.run(70)
        assert set(beginnings(world, "audit", since=since)) == {f"broker-a:{n}" for n in range(4)}
        waits = world.read(f"client/{world.cluster.actors.get('new').client_id.replace('#', '%23')}").data["waits"]
        assert {wait["queue"]: wait["why"] for wait in waits.values() if wait["queue"]} == {
            f"orders/broker-b/{n}": "offset" for n in range(4)
        }
        world.act("ResumeBroker", broker="broker-b")
        world.run(45)
        assert {queue: trace for queue, (_, trace) in beginnings(world, "audit", since=since).items()} == {
            f"broker-{name}:{n}": ("zero_in_memory",) for name in "ab" for n in range(4)
        }
