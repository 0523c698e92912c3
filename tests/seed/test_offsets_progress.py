"""Commits during processing, their times, and redelivery after a crash."""

from collections import Counter
from typing import Any

import pytest

from sandbox.journal.events import MessagesConsumed, PullAnswered
from sandbox.remoting.codes import RequestCode
from sandbox.remoting.headers import PullHeader, UnregisterClientHeader, UpdateOffsetHeader
from sandbox.simulation.world import World
from tests.seed.stage import Caller, WireLog, broker_address

QUEUE_COUNT = 1
GROUP = "order-svc"
ORDERS = [["orders", "*"]]
UPDATE, PULL = RequestCode.UPDATE_CONSUMER_OFFSET, RequestCode.PULL_MESSAGE


def row(world: World) -> dict[str, Any]:
    found: dict[str, Any] = world.read(f"board/{GROUP}/orders").data["queues"]["broker-a:0"]
    return found


def member(world: World, **fields: Any) -> None:
    world.act(
        "StartConsumer",
        actor="A",
        group=GROUP,
        subscriptions=ORDERS,
        **{"from_where": "CONSUME_FROM_FIRST_OFFSET", "work_ms": [1], **fields},
    )


def send(world: World, count: int, key: str = "m-{n}") -> None:
    world.act("SendMessages", topic="orders", count=count, key=key, queue="broker-a:0")


def consumed(world: World, *, since: int = 0) -> Counter[str]:
    return Counter(key for entry in world.entries(MessagesConsumed, since=since) for key in entry.event.keys)


def reports(wire: WireLog) -> list[tuple[int, int]]:
    """Times and offsets of the commits (request 15) of the one queue."""
    reported = [(frame.at_ms, UpdateOffsetHeader.from_ext(frame.command.ext)) for frame in wire.requests(UPDATE)]
    return [(at_ms, header.commit_offset) for at_ms, header in reported if header.topic == "orders"]


@pytest.mark.seed("0.27", "D6")
def test_the_smallest_unfinished_offset_is_committed_and_in_the_end_the_next_one(world: World, caller: Caller) -> None:
    member(world)
    world.act("ChangeActor", actor="A", slow_key="slow", slow_ms=40_000)
    world.run(6)
    send(world, 1)
    world.run(6)
    assert caller.stored_offset(GROUP, "orders", 0) == 1
    send(world, 1, key="slow")
    send(world, 9)
    world.run(12)
    done = sorted(offset for entry in world.entries(MessagesConsumed) for offset in entry.event.offsets)
    assert done == [0, *range(2, 11)], "of the messages 1 to 10 only the first is unfinished"
    assert caller.stored_offset(GROUP, "orders", 0) == 1, "10 was consumed last, and 1 is committed"
    assert (row(world)["committed"], row(world)["in_memory"], row(world)["oldest"]["offset"]) == ("1", "1", "1")
    world.run(40)
    assert caller.stored_offset(GROUP, "orders", 0) == 11, "nothing is left, so it is the next one"


def test_a_member_says_whether_its_slow_key_has_come_and_how_much_is_done_behind_it(world: World) -> None:
    def slow() -> Any:
        return next(iter(world.read(f"board/{GROUP}/orders").data["members"].values()))["slow"]

    member(world)
    world.act("ChangeActor", actor="A", slow_key="slow", slow_ms=40_000)
    send(world, 3)
    world.run(6)
    assert slow() == {"key": "slow", "queue": None, "ms": 40_000, "met": False}
    send(world, 1, key="slow")
    send(world, 9)
    world.run(12)
    assert slow()["met"]
    assert (row(world)["committed"], row(world)["oldest"]["key"], row(world)["cells"]) == ("3", "slow", "1p9d")
    world.act("ChangeActor", actor="A", slow_key="another", slow_ms=40_000)
    assert not slow()["met"], "that one has not come yet"


def test_the_next_message_of_a_queue_is_slow_whatever_its_key_and_no_other(world: World) -> None:
    def slow() -> Any:
        return next(iter(world.read(f"board/{GROUP}/orders").data["members"].values()))["slow"]

    member(world)
    send(world, 3, key="same")
    world.run(6)
    world.act("ChangeActor", actor="A", slow_queue="broker-a:0", slow_ms=40_000)
    assert slow() == {"key": None, "queue": "broker-a:0", "ms": 40_000, "met": False}
    send(world, 10, key="same")
    world.run(12)
    assert slow() == {"key": "same", "queue": "broker-a:0", "ms": 40_000, "met": True}
    assert (row(world)["committed"], row(world)["oldest"]["key"], row(world)["cells"]) == ("3", "same", "1p9d")
    world.sleep()
    world.wake()
    world.run(20)
    assert slow()["met"], "it came again after the sleep and is the same message"
    assert row(world)["committed"] == "3"
    world.run(45)
    assert row(world)["committed"] == "13"
    send(world, 5, key="same")
    world.run(6)
    assert row(world)["committed"] == "18", "one message was meant"


@pytest.mark.seed("D9", "0.27")
def test_an_offset_of_0_is_a_value_too_and_the_last_message_leaves_its_successor(world: World, caller: Caller) -> None:
    world.act("ChangeBroker", broker="broker-a", changes={"memory_bytes": 64 * 1024})
    caller = Caller(world, broker_address(world))
    for key in ("slow", "m-1", "m-2"):
        caller.send("orders", 0, KEYS=key)
    for _ in range(4):
        caller.send("others", 0, b"x" * 8_000)  # now an unknown group gets no offset, and no client has cached a 0
    assert caller.stored_offset(GROUP, "orders", 0) is None
    wire = WireLog(world)
    member(world)
    world.act("ChangeActor", actor="A", slow_key="slow", slow_ms=17_000)
    world.run(11)
    assert sorted(consumed(world)) == ["m-1", "m-2"]
    assert [offset for _, offset in reports(wire)] == [0], "more than nothing: 0 is stored and sent"
    assert caller.stored_offset(GROUP, "orders", 0) == 0
    world.run(12)
    assert [offset for _, offset in reports(wire)] == [0, 0, 3], "after the last one nothing is cached: 2 + 1"


@pytest.mark.seed("0.29", "4.17")
def test_a_pull_brings_32_messages_and_each_is_a_task_of_its_own(world: World) -> None:
    send(world, 40)
    world.run(1)
    wire = WireLog(world)
    member(world, work_ms=[1_000])
    world.run(5)
    pulls = [PullHeader.from_ext(frame.command.ext) for frame in wire.requests(PULL)]
    assert {pull.max_messages for pull in pulls} == {32}
    brought = [entry.event.count for entry in world.entries(PullAnswered) if entry.event.topic == "orders"]
    assert brought[:2] == [32, 8]
    tasks = [entry.event for entry in world.entries(MessagesConsumed)]
    assert sorted(task.offsets for task in tasks) == [(n,) for n in range(40)]
    begun = Counter(task.started_ms for task in tasks)
    assert sorted(begun.values()) == [20, 20], "twenty threads, each with one message"


@pytest.mark.seed("0.30", "4.19", "D2")
def test_offsets_go_out_ten_seconds_after_the_start_then_every_five_and_once_more_at_a_clean_stop(world: World) -> None:
    wire = WireLog(world)
    began_ms = world.cluster.clock.now_ms()
    member(world)
    world.act("StartProducer", actor="shop", topic="orders", rate_per_s=3)
    world.run(31)
    assert [round((at_ms - began_ms) / 1000) for at_ms, _ in reports(wire)] == [10, 15, 20, 25, 30]
    offsets = [offset for _, offset in reports(wire)]
    assert offsets == sorted(set(offsets)), "each further than the one before"
    world.run(2.6)
    world.act("StopActor", actor="A")
    world.run(0.2)
    at_ms, offset = reports(wire)[-1]
    assert (len(reports(wire)), 33 <= (at_ms - began_ms) / 1000 <= 34) == (6, True)
    assert offset == sum(consumed(world).values()), "all that was done"
    [left] = [
        frame
        for frame in wire.requests(RequestCode.UNREGISTER_CLIENT)
        if UnregisterClientHeader.from_ext(frame.command.ext).consumer_group == GROUP
    ]
    assert wire.frames.index(left) > wire.frames.index(wire.requests(UPDATE)[-1])


@pytest.mark.seed("0.30", "0.31", "4.4", "D45", "1.30")
@pytest.mark.parametrize(
    ("end", "wait_s", "again"), [("CrashActor", 4.5, 20), ("CrashActor", 5.5, 0), ("StopActor", 4.5, 0)]
)
def test_a_kill_repeats_up_to_five_seconds_of_work_and_a_clean_stop_none(
    world: World, end: str, wait_s: float, again: int
) -> None:
    member(world)
    send(world, 5, key="before-{n}")
    world.run(20.2)  # just after a commit
    send(world, 20)
    world.run(wait_s)
    assert len(consumed(world)) == 25
    world.act(end, actor="A")
    world.run(1)
    before = world.cluster.journal.next_seq
    world.act("RestartActor", actor="A")
    world.run(30)
    repeated = consumed(world, since=before)
    assert sum(repeated.values()) == again
    assert set(repeated) == {f"m-{n}" for n in range(1, again + 1)}
    assert world.read(f"board/{GROUP}/orders").data["header"]["delivered_again"] == again, "the board counts them"
    assert row(world)["committed"] == "25"


@pytest.mark.seed("D45", "0.31", "1.9", "1.30")
@pytest.mark.parametrize("end", ["CrashActor", "StopActor"])
def test_whatever_is_done_behind_a_slow_message_comes_again_however_one_ends(world: World, end: str) -> None:
    member(world)
    world.act("ChangeActor", actor="A", slow_key="slow", slow_ms=600_000)
    send(world, 3, key="before-{n}")
    world.run(1)
    send(world, 1, key="slow")
    send(world, 30)
    world.run(60)
    assert consumed(world) == {f"before-{n}": 1 for n in (1, 2, 3)} | {f"m-{n}": 1 for n in range(1, 31)}
    world.act(end, actor="A")
    world.run(1)
    world.act("ChangeActor", actor="A", slow_key="")
    before = world.cluster.journal.next_seq
    world.act("RestartActor", actor="A")
    world.run(30)
    again = consumed(world, since=before)
    assert again == {"slow": 1} | {f"m-{n}": 1 for n in range(1, 31)}, "minutes old, and at the broker never"
    assert world.read(f"board/{GROUP}/orders").data["header"]["delivered_again"] == 31
