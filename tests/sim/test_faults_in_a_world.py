"""Faults of links, name servers, clocks and machines, and the reactions of the others."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sandbox.journal.events import (
    BrokerStarted,
    BrokerStopped,
    LocksLost,
    NameServerStarted,
    NameServerStopped,
    QueueLocked,
    QueueUnlocked,
    RecoveryDone,
    RouteChanged,
    UnflushedLost,
)
from sandbox.simulation.world import World
from tests.beginnings import world_of
from tests.sim.fault_stage import broker, caused_by, refusal
from tests.wide import seeds

GROUP = "order-svc"
world = world_of("orders", seconds=40, seed=3)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[World]:
    with World(tmp_path, "cluster", seed=3) as made:
        made.run(40)
        yield made


def sent(world: World) -> int:
    return sum(producer["sent"] for producer in world.snapshot()["producers"])


# Refusals.


@pytest.mark.parametrize(
    ("action", "fields", "status", "field"),
    [
        ("CutLink", {"a": "A", "b": "B"}, 422, "b"),
        ("CutLink", {"a": "A", "b": "A"}, 422, "b"),
        ("CutLink", {"a": "broker-a", "b": "broker-b"}, 422, "b"),
        ("CutLink", {"a": "ns-1", "b": "ns-1"}, 422, "b"),
        ("CutLink", {"a": "nobody", "b": "ns-1"}, 422, "a"),
        ("HealLink", {"a": "A", "b": "broker-a"}, 409, None),
        ("DelayLink", {"a": "A", "b": "broker-a", "delay_ms": 0}, 422, "delay_ms"),
        ("StopNameServer", {"name_server": "ns-9"}, 404, "name_server"),
        ("StartNameServer", {"name_server": "ns-1"}, 409, None),
        ("ResumeBroker", {"broker": "broker-a"}, 409, None),
        ("PromoteSlave", {"broker": "broker-a", "broker_id": 0}, 409, "broker_id"),
        ("PromoteSlave", {"broker": "broker-a", "broker_id": 1}, 404, "broker"),
        ("PowerCut", {"broker": "broker-z"}, 404, "broker"),
        ("SkewClock", {"broker": "broker-a", "skew_ms": 0}, 409, "skew_ms"),
        ("ForceUnlock", {"group": GROUP, "topic": "orders", "broker": "broker-a", "queue_id": 0}, 409, "queue_id"),
    ],
)
def test_what_makes_no_sense_is_refused(
    world: World, action: str, fields: dict[str, Any], status: int, field: str | None
) -> None:
    why = refusal(world, action, **fields)
    assert (why.status, why.field) == (status, field)


# Name servers.


def test_a_broker_cut_off_from_one_name_server_stays_with_the_other(cluster: World) -> None:
    cluster.act("CutLink", a="broker-b", b="ns-1")
    cluster.run(160)
    known = {
        server["name"]: {row["broker"] for row in server["brokers"]} for server in cluster.snapshot()["name_servers"]
    }
    assert known == {"ns-1": {"broker-a"}, "ns-2": {"broker-a", "broker-b"}}
    [gone] = [entry.event for entry in cluster.entries(RouteChanged) if entry.event.why == "expired"]
    assert (gone.name_server, gone.broker) == ("ns-1", "broker-b")


def test_a_name_server_that_stops_forgets_and_learns_again(cluster: World) -> None:
    seq = cluster.act("StopNameServer", name_server="ns-1")
    assert caused_by(cluster, seq) == ["NameServerStopped"]
    cluster.run(1)
    states = {
        server["name"]: (server["state"], len(server["brokers"])) for server in cluster.snapshot()["name_servers"]
    }
    assert states == {"ns-1": ("stopped", 0), "ns-2": ("running", 3)}
    assert refusal(cluster, "StopNameServer", name_server="ns-1").status == 409
    before = sent(cluster)
    cluster.run(60)
    assert sent(cluster) > before + 300, "clients go on with the other one"
    cluster.act("StartNameServer", name_server="ns-1")
    cluster.run(31)
    assert len(cluster.snapshot()["name_servers"][0]["brokers"]) == 3
    assert [entry.event.name_server for entry in cluster.entries(NameServerStopped)] == ["ns-1"]
    assert [entry.event.name_server for entry in cluster.entries(NameServerStarted)] == ["ns-1", "ns-2", "ns-1"]


# Brokers.


def test_a_hung_broker_answers_no_one_and_goes_on_where_it_was(world: World) -> None:
    world.act("HangBroker", broker="broker-a")
    assert world.snapshot()["brokers"][0]["state"] == "hung"
    assert refusal(world, "HangBroker", broker="broker-a").status == 409
    assert refusal(world, "StopBroker", broker="broker-a").status == 409
    high = broker(world).store.max_physical_offset
    world.run(130)
    assert broker(world).store.max_physical_offset == high
    [expired] = [entry.event for entry in world.entries(RouteChanged) if entry.event.why == "expired"]
    assert expired.broker == "broker-a"
    world.act("ResumeBroker", broker="broker-a")
    world.run(40)
    assert world.snapshot()["brokers"][0]["state"] == "running"
    assert broker(world).store.max_physical_offset > high
    assert len(world.snapshot()["name_servers"][0]["brokers"]) == 2


def test_a_sandbox_with_a_hung_broker_stops_and_wakes_whole(world: World) -> None:
    world.act("HangBroker", broker="broker-a")
    world.sleep()
    world.wake()
    assert [entry.event.kind for entry in world.entries(RecoveryDone)][-2:] == ["abnormal", "normal"]
    assert {row["state"] for row in world.snapshot()["brokers"]} == {"running"}


def test_a_hung_broker_can_be_killed(world: World) -> None:
    world.act("HangBroker", broker="broker-a")
    world.act("KillBroker", broker="broker-a")
    world.act("StartBroker", broker="broker-a")
    world.run(40)
    assert world.snapshot()["brokers"][0]["state"] == "running"
    assert len(world.snapshot()["name_servers"][0]["brokers"]) == 2


@pytest.mark.parametrize("seed", seeds(4, 12))
def test_a_power_cut_is_counted_as_recovery_finds_it(tmp_path: Path, seed: int) -> None:
    """Which sectors survive is the seed's; what the journal says is what the next start finds, to the byte."""
    with World(tmp_path, seed=seed, preset="teaching") as world:
        world.act("CreateTopic", topic="orders", write_queues=4, read_queues=4)
        world.run(40)
        world.act("StartProducer", actor="shop", topic="orders", rate_per_s=40, body_bytes=900)
        world.run(11.3)
        store = broker(world).store
        before = sum(store.max_offset("orders", queue_id) for queue_id in range(4))
        end, flushed = store.max_physical_offset, store.flushed_offset
        seq = world.act("PowerCut", broker="broker-a")
        assert caused_by(world, seq)[-2:] == ["BrokerStopped", "UnflushedLost"]
        lost = world.entries(UnflushedLost)[-1].event
        world.act("StartBroker", broker="broker-a")
        store = broker(world).store
        assert flushed <= lost.from_offset <= lost.to_offset == end
        assert store.max_physical_offset == lost.from_offset
        assert before - sum(store.max_offset("orders", queue_id) for queue_id in range(4)) == lost.messages
        assert lost.answered == lost.messages > 0
        assert world.entries(RecoveryDone)[-1].event.kind == "abnormal"
        assert world.entries(BrokerStopped)[-1].event.how == "power_cut"


def test_what_waits_for_its_flush_when_the_power_goes_had_no_ok(tmp_path: Path) -> None:
    """A disk that flushes nothing: senders wait, and get no answer before the machine is dark."""
    with World(tmp_path, seed=7) as world:
        world.act("CreateTopic", topic="orders", write_queues=1, read_queues=1)
        world.act("ChangeBroker", broker="broker-a", changes={"flush": "SYNC_FLUSH"})
        world.run(40)
        node = world.cluster.nodes.broker("broker-a")
        held: list[Any] = []
        node.running.store.flush._flusher = type("Slow", (), {"submit": lambda self, *work: held.append(work)})()
        world.act("SendMessages", topic="orders", count=1)
        world.run(1)
        assert held, "a flush is asked for"
        world.act("PowerCut", broker="broker-a")
        lost = world.entries(UnflushedLost)[-1].event
        assert (lost.messages, lost.answered) == (1, 0)


# Slaves.


def test_a_slave_that_loses_its_power_loses_what_its_master_still_has(cluster: World) -> None:
    before = broker(cluster, "broker-a", 1).store.max_physical_offset
    cluster.act("PowerCut", broker="broker-a", broker_id=1)
    lost = cluster.entries(UnflushedLost)[-1].event
    assert (lost.broker, lost.to_offset) == ("broker-a.1", before)
    assert lost.answered == lost.messages > 0
    cluster.act("StartBroker", broker="broker-a", broker_id=1)
    assert broker(cluster, "broker-a", 1).store.max_physical_offset == lost.from_offset
    cluster.run(60)
    assert broker(cluster, "broker-a", 1).store.max_physical_offset > before, "it asks its master for it again"


def test_a_slave_is_promoted_by_hand_and_the_dead_master_comes_back_as_its_slave(cluster: World) -> None:
    assert refusal(cluster, "PromoteSlave", broker="broker-a", broker_id=1).status == 409, "the master is alive"
    old, new = (cluster.cluster.nodes.broker("broker-a", number).record for number in (0, 1))
    cluster.act("KillBroker", broker="broker-a")
    cluster.run(5)
    had = broker(cluster, "broker-a", 1).store.max_physical_offset
    seq = cluster.act("PromoteSlave", broker="broker-a", broker_id=1)
    assert caused_by(cluster, seq)[-1] == "BrokerStarted"
    rows = [
        (row["broker_id"], row["role"], row["state"], row["address"])
        for row in cluster.snapshot()["brokers"]
        if row["broker"] == "broker-a"
    ]
    assert sorted(rows) == [(0, "master", "running", new.address), (1, "slave", "killed", old.address)]
    assert cluster.entries(BrokerStarted)[-1].event == BrokerStarted("broker-a", 0, new.address, "ASYNC_MASTER")
    cluster.run(40)
    assert broker(cluster).store.max_physical_offset > had, "producers send to it"
    cluster.act("StartBroker", broker="broker-a", broker_id=1)
    cluster.run(60)
    assert cluster.entries(BrokerStarted)[-1].event.role == "SLAVE"
    route = {(row["broker"], row["broker_id"]) for row in cluster.snapshot()["name_servers"][0]["brokers"]}
    assert route == {("broker-a", 0), ("broker-a", 1), ("broker-b", 0)}
    before = [(node.node, node.record) for node in cluster.cluster.nodes.brokers]
    cluster.sleep()
    cluster.wake()
    assert [(node.node, node.record) for node in cluster.cluster.nodes.brokers] == before
    assert before[0][1].directory == "broker-a"
    assert before[0][0] == "broker-a.1", "files stay with their machine"


def test_only_a_master_with_a_slave_waits_for_one(cluster: World) -> None:
    assert refusal(cluster, "ChangeBroker", broker="broker-b", changes={"replication": "SYNC_MASTER"}).status == 422
    cluster.act("ChangeBroker", broker="broker-a", changes={"replication": "SYNC_MASTER"})
    assert [(row["role"], row["replication"]) for row in cluster.snapshot()["brokers"]] == [
        ("master", "SYNC_MASTER"),
        ("slave", None),
        ("master", "ASYNC_MASTER"),
    ]


def test_links_and_clocks_stay_with_the_machine_when_a_slave_is_promoted(cluster: World) -> None:
    cluster.act("CutLink", a="A", b="broker-a.1")
    cluster.act("SkewClock", broker="broker-a", broker_id=1, skew_ms=5_000)
    cluster.act("KillBroker", broker="broker-a")
    cluster.act("PromoteSlave", broker="broker-a", broker_id=1)
    assert [(row["a"], row["b"]) for row in cluster.snapshot()["links"]] == [("A", "broker-a")]
    assert {
        (row["broker_id"], row["skew_ms"]) for row in cluster.snapshot()["brokers"] if row["broker"] == "broker-a"
    } == {(0, 5_000), (1, 0)}


def test_a_cut_between_master_and_slave_stops_the_copying(cluster: World) -> None:
    master, slave = broker(cluster).store, broker(cluster, "broker-a", 1).store
    cluster.act("CutLink", a="broker-a", b="broker-a.1")
    cluster.run(1)
    stood = slave.max_physical_offset
    cluster.run(30)
    assert slave.max_physical_offset == stood < master.max_physical_offset
    cluster.act("HealLink", a="broker-a", b="broker-a.1")
    cluster.run(60)
    assert slave.max_physical_offset > stood
    assert master.max_physical_offset - slave.max_physical_offset < 5_000


# Clocks.


def test_a_wrong_clock_stamps_messages_and_leaves_durations_alone(world: World) -> None:
    hour_ms = 3_600_000
    world.act("SkewClock", broker="broker-a", skew_ms=-hour_ms)
    world.run(10)

    def behind_ms(name: str) -> int:
        store = broker(world, name).store
        at = store.max_offset("orders", 0) - 1
        stored_ms = store.store_time("orders", 0, at)
        assert stored_ms is not None
        return int(world.cluster.clock.now_ms()) - stored_ms

    assert behind_ms("broker-a") - hour_ms < 5_000
    assert behind_ms("broker-b") < 5_000
    assert world.snapshot()["brokers"][0]["skew_ms"] == -hour_ms
    world.sleep()
    world.wake()
    assert world.snapshot()["brokers"][0]["skew_ms"] == -hour_ms
    world.act("SkewClock", broker="broker-a", skew_ms=0)
    world.run(10)
    assert behind_ms("broker-a") < 5_000


def test_a_clock_that_jumps_ahead_ends_locks_early(tmp_path: Path) -> None:
    """The lock's age is what the broker's own clock says it is."""
    with World(tmp_path, "payments", seed=3) as world:
        world.run(60)
        victim = world.cluster.actors.by_label["A"]
        client_id = victim.client_id
        world.act("HangActor", actor="A")
        world.act("StartConsumer", group="payment-fifo")
        world.run(3)
        assert not [entry for entry in world.entries(QueueLocked) if entry.event.how == "taken_over"]
        world.act("SkewClock", broker="broker-a", skew_ms=61_000)
        world.run(21)
        taken = [entry.event for entry in world.entries(QueueLocked) if entry.event.how == "taken_over"]
        assert client_id in {event.previous for event in taken}
        locks = world.read("locks/payment-fifo").data["queues"].values()
        now_ms = world.cluster.clock.now_ms()
        left_ms = [row["lock"]["expires_at_ms"] - now_ms for row in locks if row["lock"]["holder"] != client_id]
        assert left_ms
        assert all(35_000 <= left <= 60_000 for left in left_ms), "renewed every 20 s, and drawn on the sandbox's time"


# Locks.


def test_a_lock_can_be_taken_away_by_force(tmp_path: Path) -> None:
    with World(tmp_path, "payments", seed=3) as world:
        world.run(60)
        queue = next(iter(broker(world).locks.table["payment-fifo"]))
        seq = world.act(
            "ForceUnlock", group="payment-fifo", topic=queue.topic, broker=queue.broker, queue_id=queue.queue_id
        )
        [freed] = [entry.event for entry in world.entries(QueueUnlocked) if entry.cause == seq]
        assert (freed.queue_id, freed.why) == (queue.queue_id, "forced")
        world.run(25)
        assert queue in broker(world).locks.table["payment-fifo"], "the owner asks again within 20 s"


def test_a_promoted_slave_knows_no_locks(cluster: World) -> None:
    assert broker(cluster).locks.table["invoice-fifo"]
    cluster.act("KillBroker", broker="broker-a")
    assert cluster.entries(LocksLost)[-1].event.broker == "broker-a"
    cluster.act("PromoteSlave", broker="broker-a", broker_id=1)
    assert "invoice-fifo" not in broker(cluster).locks.table
