"""Administrators' requests to a name server other than routes."""

import zlib

import pytest

from sandbox.namesrv import kv_config
from sandbox.remoting.bodies import (
    DataVersion,
    RegisterBrokerBody,
    Settings,
    TopicConfig,
    TopicConfigTable,
    TopicList,
    TopicRouteData,
)
from sandbox.remoting.bodies.packed_registration import pack
from sandbox.remoting.codes import RequestCode, ResponseCode
from sandbox.remoting.command import RemotingCommand
from sandbox.remoting.headers import RegisterBrokerHeader
from tests.unit.broker.stage import BROKER, Client, Stage


def topics(client: Client, code: int) -> list[str]:
    return list(TopicList.decode(client.call(code).body).topics)


def test_topics_are_found_by_their_flags(stage: Stage, client: Client) -> None:
    for name, flag in (("plain", 0), ("unit", 1), ("sub", 2), ("both", 3)):
        ext = {"topic": name, "readQueueNums": "1", "writeQueueNums": "1", "perm": "6", "topicSysFlag": str(flag)}
        stage.client().call(RequestCode.UPDATE_AND_CREATE_TOPIC, ext)
    assert topics(client, RequestCode.GET_UNIT_TOPIC_LIST) == ["both", "unit"]
    assert topics(client, RequestCode.GET_HAS_UNIT_SUB_TOPIC_LIST) == ["both", "sub"]
    assert topics(client, RequestCode.GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST) == ["sub"]


# 318, 319.


def read(client: Client) -> dict[str, str]:
    return Settings.decode(client.call(RequestCode.GET_NAMESRV_CONFIG).body).values


def test_settings_are_read_and_changed_and_count_at_once(stage: Stage, client: Client) -> None:
    stage.topic("orders", 1)
    client.call(RequestCode.PUT_KV_CONFIG, {"namespace": "ORDER_TOPIC_CONFIG", "key": "orders", "value": "broker-a:1"})

    def order() -> str | None:
        answer = client.call(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": "orders"})
        return TopicRouteData.decode(answer.body).order_topic_conf

    assert (read(client)["orderMessageEnable"], read(client)["listenPort"], order()) == ("false", "9876", None)
    assert client.call(RequestCode.UPDATE_NAMESRV_CONFIG, None, b"orderMessageEnable=true\nunknown=1").code == 0
    assert (read(client)["orderMessageEnable"], order()) == ("true", "broker-a:1")
    assert "unknown" not in read(client)


def test_paths_are_not_changed_over_the_wire(client: Client) -> None:
    answer = client.call(RequestCode.UPDATE_NAMESRV_CONFIG, None, b"kvConfigPath=/etc/passwd\norderMessageEnable=true")
    assert (answer.code, answer.remark) == (ResponseCode.NO_PERMISSION, "Can not update config in black list.")
    assert read(client)["orderMessageEnable"] == "false"


def test_settings_no_one_can_read_are_refused(client: Client) -> None:
    answer = client.call(RequestCode.UPDATE_NAMESRV_CONFIG, None, b"name=\\u12")
    assert (answer.code, answer.remark) == (1, "string2Properties error")


# 322.


def ask(client: Client, version: DataVersion) -> RemotingCommand:
    ext = {"brokerName": "broker-a", "brokerAddr": BROKER, "clusterName": "DefaultCluster", "brokerId": "0"}
    return client.call(RequestCode.QUERY_DATA_VERSION, ext, version.encode())


def test_a_broker_hears_whether_its_table_is_known(stage: Stage, client: Client) -> None:
    version = stage.broker.topics.version
    same = ask(client, version)
    assert (same.code, same.ext) == (0, {"changed": "false"})
    assert DataVersion.decode(same.body) == version
    other = ask(client, DataVersion(99, 1))
    assert (other.ext, DataVersion.decode(other.body)) == ({"changed": "true"}, version)


def test_asking_with_the_known_version_keeps_a_broker_alive(stage: Stage, client: Client) -> None:
    live = stage.name_server.route_info.live[BROKER]
    registered_ms = live.last_update_ms
    stage.pass_s(5)
    ask(client, DataVersion(99, 1))
    assert live.last_update_ms == registered_ms
    ask(client, stage.broker.topics.version)
    assert live.last_update_ms == registered_ms + 5_000


def test_a_broker_no_one_knows_has_changed(client: Client) -> None:
    ext = {"brokerName": "x", "brokerAddr": "10.0.0.9:1", "clusterName": "c", "brokerId": "0"}
    answer = client.call(RequestCode.QUERY_DATA_VERSION, ext, DataVersion(0, 0).encode())
    assert (answer.ext, answer.body) == ({"changed": "true"}, None)


# Limits.


def test_texts_are_limited_in_number_and_length(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kv_config, "MAX_KEYS", 2)

    def put(key: str, value: str = "v", namespace: str = "n") -> int:
        return client.call(RequestCode.PUT_KV_CONFIG, {"namespace": namespace, "key": key, "value": value}).code

    assert [put("a"), put("b", namespace="m"), put("c")] == [0, 0, 1]
    assert put("a", "again") == 0
    assert put("a", "x" * kv_config.MAX_CHARS) == 1
    client.call(RequestCode.DELETE_KV_CONFIG, {"namespace": "n", "key": "a"})
    assert put("c") == 0


# 103, packed.


def test_a_packed_registration_counts_like_any_other(stage: Stage, client: Client) -> None:
    body = pack(RegisterBrokerBody(TopicConfigTable(DataVersion(1, 1), {"packed": TopicConfig("packed", 4, 4, 6)})))
    header = RegisterBrokerHeader(
        "broker-p",
        "10.0.0.9:10911",
        "DefaultCluster",
        "10.0.0.9:10912",
        0,
        compressed=True,
        body_crc32=zlib.crc32(body) & 0x7FFF_FFFF,
    )
    assert client.call(RequestCode.REGISTER_BROKER, header.to_ext(), body).code == 0
    found = client.call(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": "packed"})
    assert [queue.broker for queue in TopicRouteData.decode(found.body).queues] == ["broker-p"]
