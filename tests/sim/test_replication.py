"""A master dies, its slave lives: who goes on, who waits, and what the master's return changes."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox.control.actions import Subscription
from sandbox.journal.events import (
    LocksLost,
    MessagesConsumed,
    OffsetCommitted,
    QueueLocked,
    ReplicationChanged,
    SendFailed,
)
from sandbox.remoting.codes import RequestCode, ResponseCode
from sandbox.simulation.world import World
from tests.seed.stage import WireLog, broker_address

COMMIT_FLAG = 1
ROUTES_LEARNED_S = 35  # clients ask for routes every 30 s


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[World]:
    """`broker-a` with a slave and `broker-b` without; both groups at work, the slave in step."""
    with World(tmp_path, "cluster", seed=11, latency_ms=(0.5, 3.0)) as world:
        world.run(60)
        assert [entry.event.state for entry in world.entries(ReplicationChanged)] == ["connected"]
        yield world


def consumed(world: World, group: str, broker: str, *, since: int) -> list[int]:
    return [
        offset
        for entry in world.entries(MessagesConsumed, since=since)
        if (entry.event.group, entry.event.broker) == (group, broker)
        for offset in entry.event.offsets
    ]


def slave_log_equals_its_master_s(world: World) -> bool:
    master, slave = world.cluster.nodes.broker("broker-a"), world.cluster.nodes.broker("broker-a", 1)
    start, end = slave.running.store.min_physical_offset, slave.running.store.max_physical_offset
    return bool(end) and all(
        slave.running.store.log.read(at, min(4096, end - at)) == master.running.store.log.read(at, min(4096, end - at))
        for at in range(start, end, 4096)
    )


@pytest.mark.seed("3.15", "4.30", "D36")
@pytest.mark.parametrize("slave_read", [True, False])
def test_a_concurrent_group_goes_on_from_the_slave_and_an_orderly_one_stands_still(
    tmp_path: Path, slave_read: bool
) -> None:
    with World(tmp_path, "cluster", seed=11, latency_ms=(0.5, 3.0)) as world:
        world.act("ChangeBroker", broker="broker-a", changes={"slave_read": slave_read})
        world.act("StopActor", actor="shop")
        world.act("CreateTopic", topic="late", write_queues=4, read_queues=4)
        world.run(40)
        world.act("SendMessages", topic="late", count=200)  # no one reads them yet: 100 lie on each broker
        world.run(15)  # the slave has the messages and, by its last round, the topic
        wire = WireLog(world)
        killed = world.act("KillBroker", broker="broker-a")
        world.run(ROUTES_LEARNED_S)
        late = (Subscription("late"),)
        world.act("StartConsumer", group="readers", subscriptions=late, from_where="CONSUME_FROM_FIRST_OFFSET")
        world.act(
            "StartConsumer",
            group="in-order",
            subscriptions=late,
            listener="orderly",
            from_where="CONSUME_FROM_FIRST_OFFSET",
        )
        world.run(90)
        assert len(consumed(world, "readers", "broker-a", since=killed)) == 100, "read from the slave"
        assert consumed(world, "in-order", "broker-a", since=killed) == []
        assert len(consumed(world, "in-order", "broker-b", since=killed)) == 100
        [lost] = world.entries(LocksLost, since=killed)
        assert lost.event.broker == "broker-a"
        assert {entry.event.broker for entry in world.entries(QueueLocked, since=killed)} == {"broker-b"}
        slave = broker_address(world, "broker-a", 1)
        assert not [frame for frame in wire.requests(RequestCode.LOCK_BATCH_MQ) if frame.receiver == slave]


@pytest.mark.seed("3.15", "D36")
def test_no_one_takes_over_the_writing_and_producers_leave_the_broker_out(cluster: World) -> None:
    killed = cluster.act("KillBroker", broker="broker-a")
    cluster.run(ROUTES_LEARNED_S)
    calm = cluster.cluster.journal.next_seq
    cluster.run(30)
    assert cluster.entries(SendFailed, since=killed), "those under way when it died"
    assert not cluster.entries(SendFailed, since=calm), "then they know the route"
    rows = {row["broker_id"]: row for row in cluster.snapshot()["brokers"] if row["broker"] == "broker-a"}
    assert (rows[0]["state"], rows[1]["state"], rows[1]["role"]) == ("killed", "running", "slave")
    slave = cluster.cluster.nodes.broker("broker-a", 1).running.store
    before = slave.max_physical_offset
    cluster.run(30)
    assert slave.max_physical_offset == before


def test_a_group_that_reads_from_the_slave_commits_there_and_never_by_pull(cluster: World) -> None:
    cluster.act("KillBroker", broker="broker-a")
    cluster.run(ROUTES_LEARNED_S)
    since = cluster.cluster.journal.next_seq
    wire = WireLog(cluster)
    cluster.run(30)
    slave = broker_address(cluster, "broker-a", 1)
    pulls = [frame.command.ext or {} for frame in wire.requests(RequestCode.PULL_MESSAGE) if frame.receiver == slave]
    assert pulls
    assert not [ext for ext in pulls if int(ext["sysFlag"]) & COMMIT_FLAG]
    assert [frame for frame in wire.requests(RequestCode.UPDATE_CONSUMER_OFFSET) if frame.receiver == slave]
    by = {entry.event.by for entry in cluster.entries(OffsetCommitted, since=since) if entry.event.broker == "broker-a"}
    assert "pull" not in by


def test_when_the_master_returns_the_slave_follows_it_again_and_all_go_on(cluster: World) -> None:
    cluster.act("KillBroker", broker="broker-a")
    cluster.run(ROUTES_LEARNED_S)
    cluster.act("StartBroker", broker="broker-a")
    cluster.run(75)  # routes 30 s, the master's address at the slave 30 s, five seconds of silence
    since = cluster.cluster.journal.next_seq
    cluster.run(30)
    assert consumed(cluster, "order-svc", "broker-a", since=since)
    assert consumed(cluster, "invoice-fifo", "broker-a", since=since)
    assert [entry.event.state for entry in cluster.entries(ReplicationChanged)][-1] == "connected"
    cluster.act("StopActor", actor="shop")
    cluster.run(5)
    assert slave_log_equals_its_master_s(cluster)


def test_tables_and_log_of_the_slave_are_its_master_s(cluster: World) -> None:
    cluster.act("StopActor", actor="shop")
    cluster.run(25)
    master, slave = (cluster.cluster.nodes.broker("broker-a", number).running for number in (0, 1))
    assert slave_log_equals_its_master_s(cluster)
    assert slave.store.max_physical_offset == master.store.max_physical_offset
    assert slave.topics.table == master.topics.table
    assert slave.subscription_groups.table == master.subscription_groups.table
    assert slave.consumer_offsets.table == master.consumer_offsets.table
    for key in slave.store.queues():
        assert slave.store.max_offset(*key) == master.store.max_offset(*key)


def test_a_cut_between_the_two_stops_the_copying_and_nothing_else(cluster: World) -> None:
    cluster.act("CutLink", a="broker-a", b="broker-a.1")
    slave = cluster.cluster.nodes.broker("broker-a", 1).running.store
    before, since = slave.max_physical_offset, cluster.cluster.journal.next_seq
    cluster.run(30)
    assert slave.max_physical_offset - before < 4_096, "what was under way"
    assert consumed(cluster, "order-svc", "broker-a", since=since)
    assert [entry.event.state for entry in cluster.entries(ReplicationChanged)][-1] == "lost"
    cluster.act("HealLink", a="broker-a", b="broker-a.1")
    cluster.act("StopActor", actor="shop")
    cluster.run(20)
    assert slave_log_equals_its_master_s(cluster)
    assert slave.max_physical_offset == cluster.cluster.nodes.broker("broker-a").running.store.max_physical_offset


@pytest.mark.seed("3.13", "D37")
def test_a_sync_master_makes_its_senders_wait_for_a_cut_slave(cluster: World) -> None:
    cluster.act("ChangeBroker", broker="broker-a", changes={"replication": "SYNC_MASTER"})
    cluster.run(60)
    roles = {row["broker"]: row["replication"] for row in cluster.snapshot()["brokers"] if row["role"] == "master"}
    assert roles["broker-a"] == "SYNC_MASTER"
    address = broker_address(cluster)

    def answers_of(seconds: float) -> list[int]:
        wire = WireLog(cluster)
        cluster.run(seconds)
        return [frame.command.code for frame in wire.answers(RequestCode.SEND_MESSAGE_V2) if frame.sender == address]

    assert set(answers_of(10)) == {ResponseCode.SUCCESS}
    cluster.act("CutLink", a="broker-a", b="broker-a.1")
    assert ResponseCode.FLUSH_SLAVE_TIMEOUT in answers_of(8)
    cluster.run(20)  # the master has given the slave up
    assert set(answers_of(5)) == {ResponseCode.SLAVE_NOT_AVAILABLE}


def test_a_group_that_has_read_more_than_the_slave_has_asks_it_again_and_again_but_time_passes(tmp_path: Path) -> None:
    with World(tmp_path, "cluster", seed=11) as world:  # wires that take no time at all
        world.run(40)
        world.act("CutLink", a="broker-a", b="broker-a.1")
        world.run(15)
        world.act("KillBroker", broker="broker-a")
        world.run(ROUTES_LEARNED_S)
        wire = WireLog(world)
        world.run(10)
        slave = broker_address(world, "broker-a", 1)
        answers = [frame.command for frame in wire.answers(RequestCode.PULL_MESSAGE) if frame.sender == slave]
        assert {(answer.code, answer.remark) for answer in answers} >= {
            (ResponseCode.PULL_RETRY_IMMEDIATELY, "OFFSET_OVERFLOW_BADLY")
        }
        assert len(answers) < 8 * 10 * 25  # queues of two groups, seconds, at most twenty a second
