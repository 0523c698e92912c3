"""Progress of a group: its storage, its commits, and redelivery after a crash."""

from itertools import pairwise
from typing import Any

import pytest

from sandbox.journal.events import MessagesConsumed, OffsetCommitted
from sandbox.kernel.loose_json import loads
from sandbox.message.batch import BatchItem, encode
from sandbox.remoting.codes import RequestCode
from sandbox.remoting.headers import PullHeader, RunningInfoHeader, SendHeader, UpdateOffsetHeader
from sandbox.simulation.world import World
from tests.seed.stage import Caller, WireLog, broker_address, files_of, prefix_of

QUEUE_COUNT = 1
GROUP = "order-svc"
ORDERS = [["orders", "*"]]
FIRST = "CONSUME_FROM_FIRST_OFFSET"
PULL, COMMIT = RequestCode.PULL_MESSAGE, RequestCode.UPDATE_CONSUMER_OFFSET
COMMIT_FLAG = 1


def join(world: World, **fields: Any) -> None:
    world.act(
        "StartConsumer", **{"group": GROUP, "subscriptions": ORDERS, "work_ms": [1], "from_where": FIRST, **fields}
    )


def offsets(world: World, *, since: int = 0, group: str = GROUP) -> list[int]:
    """Return the offsets that listeners received and finished, in that order."""
    return [
        offset
        for entry in world.entries(MessagesConsumed, since=since)
        if entry.event.group == group and entry.event.outcome != "INTERRUPTED"
        for offset in entry.event.offsets
    ]


def committed(world: World) -> int | None:
    """Return the broker's committed offsets, as the board shows them."""
    text = world.read(f"board/{GROUP}/orders").data["queues"]["broker-a:0"]["committed"]
    return None if text is None else int(text)


def again(world: World, group: str = GROUP) -> int:
    return int(world.read(f"board/{group}/orders").data["header"]["delivered_again"])


@pytest.mark.seed("1.8")
def test_every_group_gets_everything_at_its_own_pace(world: World) -> None:
    join(world, copies=2)
    join(world, group="audit", work_ms=[2_000], threads=1)
    world.act("StartConsumer", group="late", subscriptions=ORDERS, work_ms=[1], from_where=FIRST)
    world.act("StopActor", actor="D")
    world.run(12)
    world.act("SendMessages", topic="orders", count=20, key="m-{n}")
    world.run(20.5)
    assert sorted(offsets(world)) == list(range(20))
    assert len(offsets(world, group="audit")) == 10
    table = loads(files_of(world)["config/consumerOffset.json"])["offsetTable"]
    assert int(table[f"orders@{GROUP}"]["0"]) == 20
    assert 0 < int(table["orders@audit"]["0"]) <= 10, "half way, and nobody else is held up"
    world.act("RestartActor", actor="D")
    world.run(25)
    for group in (GROUP, "audit", "late"):
        assert sorted(offsets(world, group=group)) == list(range(20)), group
        assert again(world, group) == 0


@pytest.mark.seed("1.32", "D21")
def test_a_finished_batch_sends_nothing_and_the_offset_goes_with_the_next_pull_or_the_timer(world: World) -> None:
    join(world, work_ms=[200])
    world.run(31)
    wire = WireLog(world)
    a = prefix_of(world, "A")

    def commits() -> list[tuple[int, int]]:
        return [
            (frame.at_ms, header.commit_offset)
            for frame in wire.requests(COMMIT, sender=a)
            if (header := UpdateOffsetHeader.from_ext(frame.command.ext or {})).topic == "orders"
        ]

    def pulls() -> list[tuple[int, int]]:
        """Return the committed offset in each pull; -1: the pull has none."""
        return [
            (header.queue_offset, header.commit_offset if header.sys_flag & COMMIT_FLAG else -1)
            for frame in wire.requests(PULL, sender=a)
            if (header := PullHeader.from_ext(frame.command.ext or {})).topic == "orders"
        ]

    world.run_until(lambda: bool(commits()), within_s=6, step_s=0.01)
    tick_ms = commits()[0][0]
    frames = len(wire.frames)
    world.act("SendMessages", topic="orders", count=4)
    world.run(1)
    assert offsets(world) == [0, 1, 2, 3], "done after 200 ms"
    assert len(commits()) == 1
    mine = [frame.code for frame in wire.frames[frames:] if frame.sender.startswith(a) and not frame.answer]
    assert set(mine) <= {PULL}
    assert pulls()[-1] == (4, -1), "the pull that waits now was sent before anything was done"
    assert committed(world) == 0, "so the broker knows nothing of it"
    world.act("SendMessages", topic="orders", count=1)
    world.run(0.1)
    assert pulls()[-1] == (5, 4), "the next pull carries what is done, not where it pulls"
    assert committed(world) == 4
    reported = [entry.event for entry in world.entries(OffsetCommitted) if entry.event.topic == "orders"][-1]
    assert (reported.offset, reported.by) == (4, "pull")
    world.run(1)
    assert offsets(world)[-1] == 4
    assert len(commits()) == 1, "the timer was not yet"
    world.run(21)
    assert commits()[:3] == [(tick_ms, 0), (tick_ms + 5_000, 5), (tick_ms + 10_000, 5)]
    assert {after - before for (before, _), (after, _) in pairwise(commits())} == {5_000}, "every 5 s, news or not"


@pytest.mark.seed("D19")
def test_however_much_piles_up_the_pool_keeps_its_size(world: World) -> None:
    """Java's client compares what has piled up with 100 000 every minute, and then does nothing."""
    caller = Caller(world, broker_address(world))
    header = SendHeader("P", "orders", "TBW102", 4, 0, 0, 0, 0, batch=True)
    body = encode([BatchItem(0, b"x", b"")] * 1_000)
    for _ in range(105):
        assert caller.ask(RequestCode.SEND_BATCH_MESSAGE, header.to_ext(), body).code == 0
        world.run(0.6)
    join(world, threads=3, work_ms=[3_600_000])
    world.run(130)
    client_id = world.cluster.actors.get("A").client_id
    board = world.read(f"board/{GROUP}/orders").data
    assert (board["header"]["lag"], board["members"][client_id]["busy"]) == ("105000", 3)
    pool = world.read(f"client/{client_id.replace('#', '%23')}").data["timers"]["adjust pool"]
    assert (pool["runs"], pool["period_ms"], pool["how"]) == (2, 60_000, "empty")
    caller = Caller(world, broker_address(world))
    answer = caller.ask(RequestCode.GET_CONSUMER_RUNNING_INFO, RunningInfoHeader(GROUP, client_id).to_ext())
    reported = loads(answer.body or b"")
    assert reported["properties"]["PROP_THREADPOOL_CORE_SIZE"] == "3"
    assert int(board["queues"]["broker-a:0"]["next_pull"]) < 5_000, "100 000 and more lie behind what it pulled last"
