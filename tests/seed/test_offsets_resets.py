"""Moving a group on purpose: online and offline, to an offset and to a time, and what old messages cost then."""

from collections import Counter
from typing import Any

import pytest

from sandbox.journal.events import MessagesConsumed, PullAnswered, ResetStepDone
from sandbox.message import record
from sandbox.remoting.bodies import ResetOffsetBody
from sandbox.remoting.codes import RequestCode, ResponseCode
from sandbox.remoting.headers import ResetOffsetHeader, SearchOffsetHeader
from sandbox.simulation.world import World
from tests.seed.stage import Caller, WireLog, broker_address, prefix_of

QUEUE_COUNT = 2
GROUP = "order-svc"
RETRIES = "%RETRY%order-svc"
RESET, UPDATE, PULL = (
    RequestCode.INVOKE_BROKER_TO_RESET_OFFSET,
    RequestCode.UPDATE_CONSUMER_OFFSET,
    RequestCode.PULL_MESSAGE,
)


def member(world: World, label: str = "A", **fields: Any) -> None:
    world.act(
        "StartConsumer",
        actor=label,
        group=GROUP,
        subscriptions=[["orders", "*"]],
        **{"work_ms": [1], "from_where": "CONSUME_FROM_FIRST_OFFSET", **fields},
    )


def asking(world: World) -> Caller:
    return Caller(world, broker_address(world))


def send_one_each(world: World, keys: list[str], *, every_s: float) -> list[int]:
    """One message with each key to both queues; returns when."""
    stored_ms: list[int] = []
    for key in keys:
        caller = asking(world)
        for queue_id in (0, 1):
            caller.send("orders", queue_id, KEYS=f"{key}/{queue_id}")
        stored_ms.append(world.cluster.clock.now_ms())
        world.run(every_s)
    return stored_ms


def begun(world: World, since: int) -> dict[str, int]:
    """Key → when its (last) work began."""
    return {key: e.event.started_ms for e in world.entries(MessagesConsumed, since=since) for key in e.event.keys}


@pytest.mark.seed("0.38")
def test_an_online_reset_to_a_time_waits_ten_seconds_and_delivers_again_from_there(world: World) -> None:
    member(world, "A")
    member(world, "B")
    keys = [f"k{n}" for n in range(10)]
    stored_ms = send_one_each(world, keys, every_s=3)
    world.run(15)
    before, reset_ms = world.cluster.journal.next_seq, world.cluster.clock.now_ms()
    caller = asking(world)
    header = ResetOffsetHeader("orders", GROUP, stored_ms[4], force=True)
    answer = caller.ask(RESET, header.to_ext())
    assert ResetOffsetBody.decode(answer.body).offsets == {("orders", "broker-a", n): 4 for n in (0, 1)}
    assert [caller.stored_offset(GROUP, "orders", n) for n in (0, 1)] == [10, 10], "the broker itself writes nothing"
    world.run(9.8)
    assert begun(world, before) == {}
    world.run(5)
    again = begun(world, before)
    assert set(again) == {f"{key}/{n}" for key in keys[4:] for n in (0, 1)}
    assert all(10_000 <= at_ms - reset_ms <= 10_200 for at_ms in again.values())
    for label in "AB":
        client_id = world.cluster.actors.get(label).client_id
        steps = [e.event.step for e in world.entries(ResetStepDone, since=before) if e.event.client_id == client_id]
        assert steps == ["told", "dropped", "waiting", "resumed"]
    world.run(6)
    assert [asking(world).stored_offset(GROUP, "orders", n) for n in (0, 1)] == [10, 10]


@pytest.mark.seed("0.38")
def test_an_offline_reset_writes_the_table_directly(world: World) -> None:
    member(world)
    send_one_each(world, [f"k{n}" for n in range(10)], every_s=0.5)
    world.run(10)
    world.act("StopActor", actor="A")
    world.run(1)
    caller = asking(world)
    refused = caller.ask(RESET, ResetOffsetHeader("orders", GROUP, 0, force=True).to_ext())
    assert refused.code == ResponseCode.CONSUMER_NOT_ONLINE, "nobody is there to be told"
    wire = WireLog(world)
    before = world.cluster.journal.next_seq
    world.act("ResetOffsets", group=GROUP, topic="orders", target="offset", value=7, method="offline")
    assert [caller.stored_offset(GROUP, "orders", n) for n in (0, 1)] == [7, 7], "at once"
    assert wire.requests(RequestCode.RESET_CONSUMER_CLIENT_OFFSET) == []
    assert world.entries(ResetStepDone, since=before) == []
    world.act("RestartActor", actor="A")
    world.run(3)
    assert set(begun(world, before)) == {f"k{m}/{n}" for m in (7, 8, 9) for n in (0, 1)}, "replayed"


@pytest.mark.seed("0.38")
def test_a_reset_to_the_end_skips_the_backlog_for_good(world: World) -> None:
    member(world, work_ms=[60_000], threads=1)
    send_one_each(world, [f"old{n}" for n in range(20)], every_s=0.5)
    world.run(8)
    assert world.read(f"board/{GROUP}/orders").data["header"]["lag"] == "40"
    world.act("ResetOffsets", group=GROUP, topic="orders", target="latest", confirm=GROUP)
    world.act("ChangeActor", actor="A", work_ms=[1])
    world.run(11)
    before = world.cluster.journal.next_seq
    send_one_each(world, ["new"], every_s=70)
    assert set(begun(world, before)) == {"old0/0", "new/0", "new/1"}, "save the one the thread was at"
    assert world.read(f"board/{GROUP}/orders").data["header"]["lag"] == "0"


@pytest.mark.seed("D13", "0.38")
def test_a_time_means_the_nearer_of_two_messages_and_after_all_of_them_the_last_one(world: World) -> None:
    send_one_each(world, [f"k{n}" for n in range(5)], every_s=10)
    caller = asking(world)
    stored_ms = [message.store_ms for message in caller.pull("reader", "orders", 1, 0).messages]
    first, gap = stored_ms[0], stored_ms[1] - stored_ms[0]
    assert gap % 2 == 0
    cases = {
        first - 5_000: 0,
        first: 0,
        first + 4_000: 0,
        first + gap // 2: 0,
        first + gap // 2 + 1: 1,
        stored_ms[3] - 4_000: 3,
        stored_ms[3] + 4_000: 3,
        stored_ms[4]: 4,
        stored_ms[4] + 3_600_000: 4,
    }
    asked = {
        at_ms: caller.ask(RequestCode.SEARCH_OFFSET_BY_TIMESTAMP, SearchOffsetHeader("orders", 1, at_ms).to_ext())
        for at_ms in cases
    }
    assert {at_ms: int((answer.ext or {})["offset"]) for at_ms, answer in asked.items()} == cases
    for queue_id in (0, 1):
        caller.commit(GROUP, "orders", queue_id, 5)
    for at_ms, offset in cases.items():
        plan = world.ask("plan-reset", group=GROUP, topic="orders", target="time", value=at_ms, method="offline")
        assert plan["rows"][1]["target"] == str(offset), "and the reset goes there"
    world.act(
        "ResetOffsets",
        group=GROUP,
        topic="orders",
        target="time",
        value=stored_ms[4] + 3_600_000,
        method="offline",
        confirm=GROUP,
    )
    assert caller.stored_offset(GROUP, "orders", 0) == 4, "the last message once more, and not the end"


@pytest.mark.seed("0.39")
def test_a_reset_leaves_waiting_retries_and_delayed_messages_as_they_are(world: World) -> None:
    member(world)
    world.run(60)
    world.act("ChangeActor", actor="A", handler="reject bad")
    world.act("SendMessages", topic="orders", count=1, key="bad")
    world.act("SendMessages", topic="orders", count=1, key="later", delay_level=6)  # two minutes
    world.run(25)  # it failed twice, and waits 30 s for its third time
    tried = [e.event.reconsume_times for e in world.entries(MessagesConsumed) if "bad" in e.event.keys]
    assert tried == [0, 1]
    caller = asking(world)
    retried = caller.stored_offset(GROUP, RETRIES, 0)
    before, reset_ms = world.cluster.journal.next_seq, world.cluster.clock.now_ms()
    wire = WireLog(world)
    world.act("ResetOffsets", group=GROUP, topic="orders", target="latest", confirm=GROUP)
    world.run(13)
    reported = [ResetOffsetBody.decode(f.command.body) for f in wire.requests(RequestCode.RESET_CONSUMER_CLIENT_OFFSET)]
    assert {topic for body in reported for topic, *_ in body.offsets} == {"orders"}
    assert (caller.stored_offset(GROUP, RETRIES, 0), retried) == (1, 1)
    world.run(120)
    came = begun(world, before)
    assert 10_000 < came["later"] - reset_ms < 120_000, "the delayed message came in its time, skipping or not"
    tried = [e.event.reconsume_times for e in world.entries(MessagesConsumed) if "bad" in e.event.keys]
    assert tried[:4] == [0, 1, 2, 3], "and the failing one was tried on"


@pytest.mark.seed("0.40")
@pytest.mark.parametrize(("body_bytes", "hot", "cold"), [(100, 32, 8), (10_000, 25, 6)])
def test_messages_far_behind_the_end_come_eight_at_a_time_or_64_kib(
    world: World, body_bytes: int, hot: int, cold: int
) -> None:
    world.act("ChangeBroker", broker="broker-a", changes={"memory_bytes": 1 << 20})
    caller = asking(world)
    for _ in range(40):
        caller.send("orders", 0, b"x" * body_bytes)
    member(world)
    world.run(12)
    wire = WireLog(world)
    caller = asking(world)
    assert len(caller.pull("reader", "orders", 0, 0).messages) == hot, "within 40 % of memory"
    for _ in range(50):
        caller.send("elsewhere", 0, b"x" * 9_000)
    before = world.cluster.journal.next_seq
    world.act("ResetOffsets", group=GROUP, topic="orders", target="earliest")
    world.run(20)
    reported = [
        e.event
        for e in world.entries(PullAnswered, since=before)
        if (e.event.topic, e.event.queue_id, e.event.count > 0) == ("orders", 0, True)
    ]
    assert [event.count for event in reported][:-1] == [cold] * (len(reported) - 1)
    assert (sum(event.count for event in reported), {event.cold for event in reported}) == (40, {True})
    bodies = [frame.command.body for frame in wire.answers(PULL, receiver=prefix_of(world, "A")) if frame.command.body]
    sizes = Counter(len(list(record.decode_all(body))) for body in bodies)
    assert sizes[cold] == sum(event.count == cold for event in reported)
    assert max(len(body) for body in bodies) <= 65_536
