"""A broker that may not be read or written, is a slave, starts late, or is set up from Apache's file."""

import pytest

from sandbox.broker.config import BrokerConfig
from sandbox.kernel.errors import BrokerRefused, StoreError
from sandbox.remoting.bodies import ConsumerData, HeartbeatData, SubscriptionData, TopicConfig
from sandbox.remoting.codes import RequestCode
from sandbox.remoting.headers import SendBackHeader, SendHeader
from sandbox.store.results import PutMessageStatus, PutResult
from tests.unit.broker.stage import Client, Stage, messages


def test_apaches_keys_set_the_fields_and_strange_ones_are_left_alone() -> None:
    config = BrokerConfig.from_properties(
        {
            "brokerName": "b",
            "brokerId": "1",
            "brokerClusterName": "C",
            "autoCreateTopicEnable": "false",
            "defaultTopicQueueNums": "4",
            "regionId": "here",
            "listenPort": "10911",
        },
        address="10.0.0.1:10911",
    )
    assert (config.name, config.broker_id, config.cluster, config.auto_create_topic) == ("b", 1, "C", False)
    assert (config.default_topic_queues, config.region, config.is_master) == (4, "here", False)
    assert (config.ip, config.ha_address) == ("10.0.0.1", "10.0.0.1:10912")


def test_a_broker_that_may_not_be_read_refuses_pulls() -> None:
    answer = Stage(permission=2).client().pull("g", "TBW102", 0)
    assert (answer.code, answer.remark) == (16, "the broker[127.0.0.2] pulling message is forbidden")


def test_a_broker_that_may_not_be_written_refuses_order_topics_alone() -> None:
    stage = Stage(permission=4)
    stage.broker.create_topic(TopicConfig("plain", 1, 1))
    stage.broker.create_topic(TopicConfig("ordered", 1, 1, order=True))
    client = stage.client()
    assert client.send("plain").code == 0
    assert client.send("ordered").code == 16
    assert client.call(36, SendBackHeader(0, "g", 0).to_ext()).code == 16


def test_a_broker_refuses_sends_until_its_time_has_come() -> None:
    stage = Stage(start_accept_send_ms=1_700_000_060_000)
    client = stage.client()
    assert client.send("TBW102").code == 1
    stage.pass_s(61)
    assert stage.client().send("TBW102").code == 0


def test_a_group_that_may_not_be_broadcast_to_is_refused() -> None:
    stage = Stage()
    client = stage.client()
    client.heartbeat("c1", "g", "TBW102", model="BROADCASTING")
    stage.broker.subscription_groups.change("g", consume_broadcast_enable=False)
    answer = client.pull("g", "TBW102", 0, flags=0, subscription=None)
    assert (answer.code, answer.remark) == (16, "the consumer group[g] can not consume by broadcast way")


def test_a_registered_expression_counts_by_the_hashes_its_member_sent() -> None:
    client = Stage().client()
    client.send("TBW102", b"of A", properties="TAGS\x01A")
    client.send("TBW102", b"of B", properties="TAGS\x01B")
    reported = SubscriptionData("TBW102", "A", ("A",), (ord("B"),), 1)  # Go hashes bytes where Java hashes UTF-16
    heartbeat = HeartbeatData("c1", (), (ConsumerData("g", subscriptions=(reported,)),))
    client.call(RequestCode.HEART_BEAT, None, heartbeat.encode())
    found = messages(client.pull("g", "TBW102", 0, flags=0, subscription=None))
    assert [message.body for message in found] == [b"of B"]


def test_a_slave_changes_no_topic_and_carries_no_offset() -> None:
    stage = Stage(broker_id=1)
    with pytest.raises(BrokerRefused, match="slave broker"):
        stage.broker.create_topic(TopicConfig("T", 1, 1))
    client = stage.client()
    client.pull("g", "TBW102", 0, flags=5, commit=3)
    assert stage.broker.consumer_offsets.get("g", "TBW102", 0) is None
    moved = client.pull("g", "TBW102", 7)
    assert (moved.code, (moved.ext or {})["nextBeginOffset"]) == (20, "7")


def test_a_topic_has_no_negative_number_of_queues() -> None:
    with pytest.raises(BrokerRefused, match="not -1"):
        Stage().broker.create_topic(TopicConfig("T", -1, 1))


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (PutMessageStatus.CREATE_MAPEDFILE_FAILED, 1),
        (PutMessageStatus.SERVICE_NOT_AVAILABLE, 14),
        (PutMessageStatus.OS_PAGECACHE_BUSY, 1),
        (PutMessageStatus.PROPERTIES_SIZE_EXCEEDED, 13),
        (PutMessageStatus.UNKNOWN_ERROR, 1),
    ],
)
def test_what_the_store_refuses_has_its_code(
    status: PutMessageStatus, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = Stage()
    client = stage.client()
    sent = client.send("TBW102")
    assert sent.code == 0
    monkeypatch.setattr(stage.broker.store, "put_message", lambda _: PutResult(status))
    assert client.send("TBW102").code == code
    assert client.call(36, SendBackHeader(0, "g", 0).to_ext()).code == 1, "whatever the store said"
    assert stage.broker.stats.puts_failed == 1


def test_a_message_of_a_multi_tag_topic_says_so_in_its_record() -> None:
    stage = Stage()
    stage.broker.create_topic(TopicConfig("T", 1, 1, filter_type="MULTI_TAG"))
    client = stage.client()
    client.send("T")
    [stored] = messages(client.pull("g", "T", 0))
    assert stored.sys_flag & 2


def test_a_message_from_an_ipv6_address_keeps_it() -> None:
    stage = Stage()
    client = Client(stage, stage.config.address, "[fe80::1]")
    client.send("TBW102")
    [stored] = messages(client.pull("g", "TBW102", 0))
    assert stored.born_host.startswith("[fe80::1]:")


def test_a_table_on_disk_that_is_something_else_stops_the_start_with_a_sentence() -> None:
    stage = Stage()
    stage.stop_broker()
    for name in ("config/consumerOffset.json", "config/consumerOffset.json.bak"):
        stage.disk.write(name, b'{"offsetTable":{"T@g":{"zero":"none"}}}')
    with pytest.raises(StoreError, match="consumerOffset\\.json is JSON, but not the expected table"):
        stage.start_broker()
    stage.disk.write("config/consumerOffset.json", b'{"offsetTable":{"T@g":{0:5}}}')
    stage.start_broker()
    assert stage.broker.consumer_offsets.get("g", "T", 0) == 5


def test_what_a_sender_claims_about_addresses_is_not_believed() -> None:
    stage = Stage()
    client = stage.client()
    header = SendHeader("P", "TBW102", "TBW102", 4, 0, 0x30, 0, 0, "")
    assert client.call(310, header.to_ext(), b"x").code == 0
    [stored] = messages(client.pull("g", "TBW102", 0))
    assert stored.sys_flag == 0
    assert stored.born_host.startswith("127.0.0.1:")
