"""Three numbers for one lock: the broker's, and the client's two.  Each is set for itself."""

from itertools import pairwise
from typing import Any

import pytest

from sandbox.journal.events import BrokerStarted, LockLapsed, QueueLocked, QueueTaken
from sandbox.kernel.errors import ActionRefused
from sandbox.remoting.bodies import LockBatchBody
from sandbox.remoting.codes import RequestCode
from sandbox.simulation.world import World
from tests.seed.stage import WireLog, prefix_of

TOPIC = "payments"
GROUP = "payment-fifo"
LOCK = RequestCode.LOCK_BATCH_MQ
USUAL = {"broker_ms": 60_000, "client_ms": 30_000, "renew_ms": 20_000}


def join(world: World) -> None:
    world.act("StartConsumer", group=GROUP, subscriptions=[["payments", "*"]], listener="orderly", work_ms=[1])
    world.run(3)


def tune(world: World, **changes: Any) -> None:
    world.act("ChangeBroker", broker="broker-a", changes=changes)


def lives(world: World) -> dict[str, int]:
    return dict(world.read(f"locks/{GROUP}").data["lives"])


def renewals_ms(wire: WireLog, sender: str) -> set[int]:
    """Return the times between that client's rounds of renewal."""
    rounds = [
        frame.at_ms
        for frame in wire.requests(LOCK, sender=sender)
        if len(LockBatchBody.decode(frame.command.body).queues) > 1
    ]
    return {later - earlier for earlier, later in pairwise(rounds)}


@pytest.mark.seed("4.32", "D42")
@pytest.mark.parametrize(("life_ms", "stuck_s"), [(60_000, 60), (30_000, 40), (5_000, 20)])
def test_the_broker_s_life_of_a_lock_decides_how_long_a_crashed_owner_holds_others_up(
    world: World, life_ms: int, stuck_s: int
) -> None:
    """It counts at once, for locks that are held too; the successor looks every 20 s."""
    join(world)
    join(world)
    world.run(40)
    tune(world, lock_max_live_ms=life_ms)
    assert lives(world) == USUAL | {"broker_ms": life_ms}
    world.run(5)
    gone, crashed_ms = world.cluster.actors.get("A").client_id, world.cluster.clock.now_ms()
    renewed_ms = max(entry.at_ms for entry in world.entries(QueueLocked) if entry.event.client_id == gone)
    world.act("CrashActor", actor="A")
    world.run(90)
    taken_ms = {
        entry.at_ms
        for entry in world.entries(QueueTaken)
        if entry.at_ms >= crashed_ms and entry.event.topic == "payments"
    }
    looks_ms = [crashed_ms + 20_000 * number for number in range(5)]
    assert taken_ms == {min(at_ms for at_ms in looks_ms if at_ms > renewed_ms + life_ms)}
    assert (taken_ms.pop() - crashed_ms) / 1000 in (stuck_s, stuck_s - 20)
    assert len(world.entries(BrokerStarted)) == 1, "nothing was restarted for it"


@pytest.mark.seed("4.32", "D42")
def test_the_client_s_interval_is_its_process_s_own(world: World) -> None:
    join(world)
    tune(world, client_lock_interval_ms=5_000)
    join(world)
    assert len(world.entries(BrokerStarted)) == 1
    wire = WireLog(world)
    world.run(100)
    assert renewals_ms(wire, prefix_of(world, "A")) == {20_000}, "who runs keeps what it started with"
    assert renewals_ms(wire, prefix_of(world, "B")) == {5_000}
    board = world.read(f"locks/{GROUP}").data["queues"]
    second = world.cluster.actors.get("B").client_id
    assert {row["lock"]["renew_at_ms"] - row["lock"]["granted_at_ms"] > 0 for row in board.values()} == {True}
    for row in board.values():
        lock = row["lock"]
        own_ms = 5_000 if lock["holder"] == second else 20_000
        assert lock["expires_at_ms"] - lock["renew_at_ms"] == 60_000 - own_ms
        assert lock["trusted_until_ms"] - lock["renew_at_ms"] == 30_000 - own_ms
    world.act("RestartActor", actor="A")
    world.run(5)
    wire = WireLog(world)
    world.run(100)
    assert renewals_ms(wire, prefix_of(world, "A")) == {5_000}
    assert lives(world) == USUAL | {"renew_ms": 5_000}


@pytest.mark.seed("4.32", "D42")
@pytest.mark.parametrize("trust_ms", [30_000, 12_000])
def test_how_long_the_client_trusts_its_lock_is_the_client_s_own(world: World, trust_ms: int) -> None:
    """The broker hangs, so nothing is renewed: the client stops by its own number, the broker's is still 60 s."""
    tune(world, client_lock_max_live_ms=trust_ms)
    join(world)
    assert lives(world) == USUAL | {"client_ms": trust_ms}
    world.act("HangBroker", broker="broker-a")
    world.run(60)
    lapsed = [entry for entry in world.entries(LockLapsed) if entry.event.topic == "payments"]
    renewed_ms = max(entry.at_ms for entry in world.entries(QueueLocked))
    assert len(lapsed) == 4
    assert {entry.at_ms - renewed_ms for entry in lapsed} == {trust_ms + 1}, "trusted up to its last millisecond"


@pytest.mark.seed("4.32", "D42")
def test_the_three_numbers_are_bounded_and_kept(world: World) -> None:
    for key in ("lock_max_live_ms", "client_lock_interval_ms", "client_lock_max_live_ms"):
        with pytest.raises(ActionRefused) as refused:
            tune(world, **{key: 999})
        assert (refused.value.status, refused.value.field) == (422, key)
    tune(world, lock_max_live_ms=50_000, client_lock_interval_ms=7_000, client_lock_max_live_ms=9_000)
    join(world)
    world.sleep()
    world.wake()
    world.run(5)
    assert lives(world) == {"broker_ms": 50_000, "client_ms": 9_000, "renew_ms": 7_000}
