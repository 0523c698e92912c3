"""One client process: its timers, its name servers, its connections."""

import pytest

from sandbox.client.config import ClientConfig, ProducerConfig
from sandbox.client.instance import ClientInstance
from sandbox.client.producer import Producer
from sandbox.journal.events import RouteLearned
from sandbox.kernel.chance import Chance
from sandbox.kernel.errors import ClientError, ConnectFailed, SendTimeout, TooManyRequests
from sandbox.remoting.codes import RequestCode as Code
from sandbox.remoting.codes import ResponseCode
from sandbox.remoting.command import RemotingCommand
from sandbox.remoting.headers import RouteHeader
from tests.unit.client.fake_cluster import ADDRESS, START_MS, FakeCluster

SECOND = "10.0.0.7:9876"


def test_the_client_id_says_where_and_who() -> None:
    config = ClientConfig(name_servers=(ADDRESS,), ip="10.0.0.9", instance_name="4#77", unit_name="u")
    assert config.client_id == "10.0.0.9@4#77@u"
    assert ClientConfig(name_servers=(ADDRESS,), stream=True).client_id == "127.0.0.1@DEFAULT@STREAM"


def test_the_timer_table_reports_when_each_job_is_due(cluster: FakeCluster) -> None:
    instance = cluster.instance("a")
    cluster.run(instance.start())
    cluster.loop.run_for(0.005)
    assert {name: due_ms - START_MS for name, due_ms in instance.timers.items()} == {
        "route": 10,
        "heartbeat": 1_000,
        "commit": 10_000,
        "rebalance": 20_000,
    }
    cluster.loop.run_for(61)
    assert {name: due_ms - START_MS for name, due_ms in instance.timers.items()} == {
        "route": 90_010,
        "heartbeat": 61_000 + 30_000,
        "commit": 65_000,
        "rebalance": 80_000,
    }


def test_a_job_that_adjusts_thread_pools_runs_every_minute_and_does_nothing(cluster: FakeCluster) -> None:
    instance = cluster.instance("a")
    cluster.run(instance.start())
    cluster.loop.run_for(125)
    job = instance.timer_rows()["adjust pool"]
    assert (job.first_ms, job.period_ms, job.runs) == (60_000, 60_000, 2)
    assert job.due_ms == START_MS + 180_000
    assert "adjust pool" not in instance.timers


def test_a_silent_name_server_is_left_for_the_next_and_the_working_one_is_kept(cluster: FakeCluster) -> None:
    cluster.network.listen(SECOND, cluster)
    config = ClientConfig(name_servers=("10.0.0.8:9876", SECOND), instance_name="a")
    connector = cluster.network.connector("10.0.0.9")
    instance = ClientInstance(
        config, clock=cluster.clock, chance=Chance(3), connector=connector, journal=cluster.journal
    )
    for _ in range(3):
        assert cluster.run(instance.name_servers.learn_route("T"))
        assert instance.name_servers.chosen == SECOND
    assert [event.name_server for event in cluster.events(RouteLearned)] == [SECOND]


def test_what_is_known_stays_when_a_topic_is_deleted(cluster: FakeCluster) -> None:
    instance = cluster.instance("a")
    cluster.run(instance.name_servers.learn_route("T"))
    del cluster.topics["T"]
    assert cluster.run(instance.name_servers.learn_route("T"))
    assert len(instance.routes.publish_queues("T")) == 4


def test_a_request_without_an_answer_ends_on_the_clock_and_closes_its_connection(cluster: FakeCluster) -> None:
    instance = cluster.instance("a")
    cluster.silent = {Code.GET_ROUTEINFO_BY_TOPIC}
    command = RemotingCommand(Code.GET_ROUTEINFO_BY_TOPIC, RouteHeader("T").to_ext())
    with pytest.raises(SendTimeout, match="within 3000 ms"):
        cluster.run(instance.connections.invoke(ADDRESS, command, 3_000))
    assert cluster.loop.time() == pytest.approx(3.0, abs=0.001)
    cluster.loop.run_for(0.1)
    assert not instance.connections.is_connected(ADDRESS)
    assert instance.connections.pending == []


def test_a_link_that_is_cut_fails_the_connect_after_three_seconds(cluster: FakeCluster) -> None:
    cluster.network.gate = lambda _sender, _receiver: False
    instance = cluster.instance("a")
    with pytest.raises(ConnectFailed):
        cluster.run(instance.connections.send_oneway(ADDRESS, RemotingCommand(Code.HEART_BEAT)))
    assert cluster.loop.time() == pytest.approx(3.0, abs=0.001)


def test_too_many_pending_requests_are_refused(cluster: FakeCluster) -> None:
    instance = cluster.instance("a", max_pending_requests=2)
    cluster.silent = {Code.HEART_BEAT}

    async def three() -> None:
        for _ in range(3):
            instance.tasks.spawn(one(), "one")
        await cluster.clock.sleep(0.1)
        assert len(instance.connections.pending) == 2

    refused: list[str] = []

    async def one() -> None:
        try:
            await instance.connections.invoke(ADDRESS, RemotingCommand(Code.HEART_BEAT), 60_000)
        except TooManyRequests as why:
            refused.append(str(why))

    cluster.run(instance.connections.send_oneway(ADDRESS, RemotingCommand(Code.UNREGISTER_CLIENT)))
    cluster.run(three())
    assert refused == ["2 requests are waiting for answers"]


def test_a_broker_learns_that_a_client_does_not_know_a_request(cluster: FakeCluster) -> None:
    instance = cluster.instance("a")
    cluster.run(instance.name_servers.learn_route("T"))
    answers: list[RemotingCommand] = []
    cluster.handle = lambda commands, channel: answers.extend(commands)  # type: ignore[method-assign]
    channels: list[object] = []
    original = cluster.connected
    cluster.connected = lambda channel: (channels.append(channel), original(channel))[1]  # type: ignore[method-assign]
    instance.connections.close()
    fresh = cluster.instance("b")
    cluster.run(fresh.connections.send_oneway(ADDRESS, RemotingCommand(Code.HEART_BEAT)))
    channels[0].send(RemotingCommand(9_999, opaque=5))  # type: ignore[attr-defined]
    cluster.loop.run_for(0.1)
    assert (answers[-1].code, answers[-1].opaque) == (ResponseCode.REQUEST_CODE_NOT_SUPPORTED, 5)


def test_an_instance_lives_as_long_as_someone_uses_it(cluster: FakeCluster) -> None:
    instance = cluster.instance("a")
    first, second = (Producer(ProducerConfig(group=group), instance) for group in ("P1", "P2"))
    cluster.run(first.start())
    cluster.run(second.start())
    cluster.run(first.shutdown())
    assert instance.state == "running"
    cluster.run(second.shutdown())
    assert instance.state == "stopped"
    with pytest.raises(ClientError, match="cannot start again"):
        cluster.run(instance.start())


def test_without_name_servers_nothing_starts(cluster: FakeCluster) -> None:
    connector = cluster.network.connector("10.0.0.9")
    instance = ClientInstance(
        ClientConfig(name_servers=()),
        clock=cluster.clock,
        chance=Chance(1),
        connector=connector,
        journal=cluster.journal,
    )
    with pytest.raises(ClientError, match="no name server"):
        cluster.run(instance.start())
