"""A name server as brokers and clients meet it."""

import zlib

import pytest

from sandbox.journal.events import BrokerRegistered, NameServerStopped, RouteChanged
from sandbox.remoting.bodies import (
    ClusterInfo,
    KVTable,
    RegisterBrokerBody,
    TopicConfig,
    TopicConfigTable,
    TopicList,
    TopicRouteData,
)
from sandbox.remoting.codes import RequestCode
from sandbox.remoting.command import RemotingCommand
from sandbox.remoting.headers import RegisterBrokerHeader
from tests.unit.broker.stage import BROKER, NAME_SERVER, Client, Stage


def route(client: Client, topic: str) -> RemotingCommand:
    return client.call(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": topic})


def test_a_started_broker_is_found_at_once(client: Client) -> None:
    found = TopicRouteData.decode(route(client, "TBW102").body)
    assert [(q.broker, q.write_queues, q.permission) for q in found.queues] == [("broker-a", 8, 7)]
    assert found.brokers[0].addresses == {0: BROKER}
    assert found.brokers[0].cluster == "DefaultCluster"


def test_an_unknown_topic_is_17_in_rocketmqs_words(client: Client) -> None:
    answer = route(client, "WireAuto")
    assert (answer.code, answer.remark) == (
        17,
        "No topic route info in name server for the topic: WireAuto\n"
        "See http://rocketmq.apache.org/docs/faq/ for further details.",
    )


def test_route_keys_are_quoted_so_that_every_client_can_read_them(client: Client) -> None:
    assert b'"brokerAddrs":{"0":"127.0.0.2:10911"}' in (route(client, "TBW102").body or b"")


@pytest.mark.seed("3.5")
def test_brokers_register_at_start_after_ten_seconds_and_every_thirty(stage: Stage) -> None:
    stage.pass_s(39.9)
    assert len(stage.events(BrokerRegistered)) == 2  # at 0 and 10 s
    stage.pass_s(0.2)
    assert [e.changed for e in stage.events(BrokerRegistered)] == [True, False, False]


def test_a_new_topic_is_registered_at_once(stage: Stage) -> None:
    """Here the one of half messages, which the first round of the transaction check makes after 60 s."""
    stage.pass_s(59.9)
    assert len(stage.events(BrokerRegistered)) == 3
    stage.pass_s(0.2)
    assert [e.changed for e in stage.events(BrokerRegistered)] == [True, False, False, True]


@pytest.mark.seed("D46")
def test_a_clean_stop_unregisters_at_once(stage: Stage, client: Client) -> None:
    stage.stop_broker()
    assert route(client, "TBW102").code == 17
    assert [e.why for e in stage.events(RouteChanged)] == ["registered", "unregistered"]


@pytest.mark.seed("D46")
def test_a_killed_broker_is_dropped_when_its_connection_closes(stage: Stage, client: Client) -> None:
    stage.stop_broker(kill=True)
    assert route(client, "TBW102").code == 17
    assert stage.events(RouteChanged)[-1].why == "closed"


@pytest.mark.seed("3.6", "D46")
def test_a_broker_behind_a_cut_link_is_dropped_after_two_minutes(stage: Stage, client: Client) -> None:
    stage.pass_s(11)  # last heartbeat at 10 s
    stage.network.gate = lambda a, b: "127.0.0.2" not in a + b
    stage.pass_s(123)  # scans at 5, 15, … 125, 135 s
    assert route(client, "TBW102").code == 0
    stage.pass_s(2)
    assert route(client, "TBW102").code == 17
    assert stage.events(RouteChanged)[-1].why == "expired"


def test_a_restarted_name_server_learns_everything_with_the_next_registration(stage: Stage) -> None:
    stage.name_server.stop()
    stage.network.unlisten(NAME_SERVER)
    stage.settle()
    assert [e.name_server for e in stage.events(NameServerStopped)] == ["ns-1"]
    again = type(stage.name_server)(
        stage.name_server.config, clock=stage.time.clock, journal=stage.time.journal, name="ns-1"
    )
    again.start()
    stage.network.listen(NAME_SERVER, again)
    stage.topic("orders")  # a change while nothing is known: the whole table goes out
    client = stage.client(address=NAME_SERVER)
    assert route(client, "orders").code == 0
    assert route(client, "TBW102").code == 0


def test_a_registration_damaged_on_its_way_is_refused(client: Client) -> None:
    body = RegisterBrokerBody(TopicConfigTable.decode(None)).encode()
    header = RegisterBrokerHeader("b", "10.0.0.9:10911", "C", "10.0.0.9:10912", 0, body_crc32=1)
    answer = client.call(RequestCode.REGISTER_BROKER, header.to_ext(), body)
    assert (answer.code, answer.remark) == (1, "crc32 not match")
    good = header._replace(body_crc32=zlib.crc32(body) & 0x7FFF_FFFF)
    assert client.call(RequestCode.REGISTER_BROKER, good.to_ext(), body).code == 0


def test_a_broker_that_registers_over_a_client_that_leaves_is_gone(stage: Stage, client: Client) -> None:
    header = RegisterBrokerHeader("b", "10.0.0.9:10911", "C", "10.0.0.9:10912", 0)
    client.call(RequestCode.REGISTER_BROKER, header.to_ext())
    assert "b" in stage.name_server.route_info.brokers
    client.close()
    assert "b" not in stage.name_server.route_info.brokers


def test_a_broker_without_write_permission_registers_its_topics_without() -> None:
    stage = Stage(permission=4)
    found = TopicRouteData.decode(route(stage.client(address=NAME_SERVER), "TBW102").body)
    assert [q.permission for q in found.queues] == [4]


def test_clusters_and_topics_are_listed(client: Client) -> None:
    cluster = ClusterInfo.decode(client.call(RequestCode.GET_BROKER_CLUSTER_INFO).body)
    assert cluster.clusters == {"DefaultCluster": ("broker-a",)}
    assert cluster.brokers["broker-a"].addresses == {0: BROKER}
    everything = TopicList.decode(client.call(RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER).body).topics
    of_cluster = client.call(RequestCode.GET_TOPICS_BY_CLUSTER, {"cluster": "DefaultCluster"})
    assert everything == TopicList.decode(of_cluster.body).topics
    assert "TBW102" in everything
    system = TopicList.decode(client.call(RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_NS).body)
    assert (system.topics, system.broker_address) == (("DefaultCluster", "broker-a"), BROKER)


def test_write_permission_is_wiped_and_given_back_with_a_count(client: Client, stage: Stage) -> None:
    count = str(len(stage.broker.topics.table))
    ext = {"brokerName": "broker-a"}
    assert client.call(RequestCode.WIPE_WRITE_PERM_OF_BROKER, ext).ext == {"wipeTopicCount": count}
    assert client.call(RequestCode.ADD_WRITE_PERM_OF_BROKER, ext).ext == {"addTopicCount": count}
    assert stage.events(RouteChanged)[-1].why == "permission"


def test_a_deleted_topic_has_no_route(client: Client, stage: Stage) -> None:
    stage.topic("orders")
    assert client.call(RequestCode.DELETE_TOPIC_IN_NAMESRV, {"topic": "orders"}).code == 0
    assert route(client, "orders").code == 17


def test_texts_are_kept_by_name_space_and_key(client: Client) -> None:
    item = {"namespace": "ns1", "key": "k1"}
    assert client.call(RequestCode.PUT_KV_CONFIG, {**item, "value": "v1"}).code == 0
    assert client.call(RequestCode.GET_KV_CONFIG, item).ext == {"value": "v1"}
    table = client.call(RequestCode.GET_KVLIST_BY_NAMESPACE, {"namespace": "ns1"})
    assert KVTable.decode(table.body).table == {"k1": "v1"}
    assert client.call(RequestCode.DELETE_KV_CONFIG, item).code == 0
    missed = client.call(RequestCode.GET_KV_CONFIG, item)
    assert (missed.code, missed.remark) == (22, "No config item, Namespace: ns1 Key: k1")


def test_brokers_hear_with_a_registration_which_topics_are_in_order(stage: Stage, client: Client) -> None:
    """RocketMQ 4.9: a topic that name servers do not name is not in order, whatever its creator said."""
    item = {"namespace": "ORDER_TOPIC_CONFIG", "key": "orders", "value": "broker-a:4"}
    topics = stage.broker.topics
    topics.update(TopicConfig("orders"))
    topics.update(TopicConfig("ours", order=True))
    before = topics.version
    stage.pass_s(11)
    assert (topics.table["orders"].order, topics.table["ours"].order) == (False, True), "nothing was ever said of any"
    assert client.call(RequestCode.PUT_KV_CONFIG, item).code == 0
    stage.pass_s(31)
    assert (topics.table["orders"].order, topics.table["ours"].order) == (True, False)
    assert topics.version.counter == before.counter + 1
    assert client.call(RequestCode.DELETE_KV_CONFIG, item).code == 0
    stage.pass_s(31)
    assert topics.table["orders"].order is False
