"""A running broker's settings over the wire: read, changed, refused."""

import pytest

from sandbox.journal.events import BrokerConfigChanged
from sandbox.remoting.bodies import Settings, TopicRouteData
from sandbox.remoting.codes import RequestCode, ResponseCode
from sandbox.remoting.command import RemotingCommand
from tests.unit.broker.stage import NAME_SERVER, Client, Stage, stage_with

stage = stage_with()


def read(admin: Client) -> dict[str, str]:
    return Settings.decode(admin.call(RequestCode.GET_BROKER_CONFIG).body).values


def update(admin: Client, lines: str) -> RemotingCommand:
    return admin.call(RequestCode.UPDATE_BROKER_CONFIG, None, lines.encode())


def test_settings_come_by_rocketmqs_names(admin: Client) -> None:
    found = read(admin)
    assert (found["brokerName"], found["brokerId"], found["brokerClusterName"]) == ("broker-a", "0", "DefaultCluster")
    assert (found["brokerPermission"], found["autoCreateTopicEnable"]) == ("6", "true")
    assert (found["listenPort"], found["haListenPort"], found["brokerRole"]) == ("10911", "10912", "ASYNC_MASTER")
    assert found["mappedFileSizeConsumeQueue"] == "20000"


def test_a_flag_counts_from_the_next_request_on(stage: Stage, admin: Client) -> None:
    assert update(admin, "autoCreateSubscriptionGroup=false").code == 0
    assert read(admin)["autoCreateSubscriptionGroup"] == "false"
    assert admin.pull("g", "TBW102", 0).code == ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST
    assert [event.changes for event in stage.events(BrokerConfigChanged)] == [{"autoCreateSubscriptionGroup": False}]


def test_a_broker_without_the_right_to_write_says_so_to_senders_and_name_servers(stage: Stage, admin: Client) -> None:
    stage.topic("orders", 1)
    admin.send("orders")
    before = stage.broker.topics.version
    assert update(admin, "brokerPermission=4").code == 0
    stage.settle()
    route = stage.client(address=NAME_SERVER).call(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": "orders"})
    assert TopicRouteData.decode(route.body).queues[0].permission == 4
    assert stage.broker.topics.version != before
    ext = {"offset": "0", "group": "g", "delayLevel": "0", "originTopic": "orders"}
    assert admin.call(RequestCode.CONSUMER_SEND_MSG_BACK, ext).code == ResponseCode.NO_PERMISSION


def test_what_senders_hear_changes_with_the_setting(admin: Client) -> None:
    assert (admin.send("orders").ext or {})["TRACE_ON"] == "true"
    update(admin, "traceOn=false")
    assert (admin.send("orders").ext or {})["TRACE_ON"] == "false"


@pytest.mark.parametrize(
    ("lines", "code", "remark"),
    [
        ("brokerConfigPath=/tmp/x", 16, "Can not update config in black list."),
        ("traceOn=false\nbrokerName=other", 16, "brokerName cannot be changed while the broker runs."),
        ("flushDiskType=SYNC_FLUSH", 16, "flushDiskType cannot be changed while the broker runs."),
        ("fileReservedTime=-1", 1, "fileReservedTime is 0 to 87600 here, not -1"),
        ("transactionCheckInterval=0", 1, "transactionCheckInterval is 1000 to 86400000 here, not 0"),
    ],
)
def test_what_cannot_be_changed_is_refused_whole(admin: Client, lines: str, code: int, remark: str) -> None:
    before = read(admin)
    answer = update(admin, lines)
    assert (answer.code, answer.remark) == (code, remark)
    assert read(admin) == before


@pytest.mark.parametrize("lines", ["sendMessageThreadPoolNums=4", "brokerPermission=six", "brokerName=broker-a", ""])
def test_what_changes_nothing_succeeds(stage: Stage, admin: Client, lines: str) -> None:
    before = read(admin)
    assert update(admin, lines).code == 0
    assert read(admin) == before
    assert stage.events(BrokerConfigChanged) == []


def test_files_are_kept_for_as_long_as_the_administrator_says_now(stage: Stage, admin: Client) -> None:
    """RocketMQ reads these settings in each cleaning run."""
    assert update(admin, "fileReservedTime=5\ndeleteWhen=07;19\ndiskMaxUsedSpaceRatio=60").code == 0
    found = read(admin)
    reported = (found["fileReservedTime"], found["deleteWhen"], found["diskMaxUsedSpaceRatio"])
    assert reported == ("5", "07;19", "60")
    store = stage.broker.store
    assert (store.config.file_reserved_hours, sorted(store.cleaning.config.delete_hours)) == (5, [7, 19])
    assert [event.changes for event in stage.events(BrokerConfigChanged)] == [
        {"fileReservedTime": 5, "deleteWhen": "07;19", "diskMaxUsedSpaceRatio": 60}
    ]


def test_a_time_of_day_that_is_none_changes_nothing(admin: Client) -> None:
    assert update(admin, "deleteWhen=25").code == 0
    assert read(admin)["deleteWhen"] == "04"


def test_what_mqadmin_exports_of_a_broker_is_reported(admin: Client) -> None:
    """Its `exportConfigs` ends in a NullPointerException where one of these is missing."""
    exported = {
        "autoCreateSubscriptionGroup",
        "autoCreateTopicEnable",
        "brokerClusterName",
        "brokerId",
        "brokerName",
        "brokerRole",
        "fileReservedTime",
        "filterServerNums",
        "flushDiskType",
        "maxMessageSize",
        "messageDelayLevel",
        "msgTraceTopicName",
        "slaveReadEnable",
        "traceOn",
        "traceTopicEnable",
        "useTLS",
    }
    found = read(admin)
    assert exported <= found.keys()
    assert found["messageDelayLevel"] == "1s 5s 10s 30s 1m 2m 3m 4m 5m 6m 7m 8m 9m 10m 20m 30m 1h 2h"


def test_every_update_has_a_version_of_its_own(stage: Stage, admin: Client) -> None:
    versions = [(admin.call(RequestCode.GET_BROKER_CONFIG).ext or {})["version"]]
    update(admin, "traceOn=false")
    versions.append((admin.call(RequestCode.GET_BROKER_CONFIG).ext or {})["version"])
    assert ['"counter":0' in versions[0], '"counter":1' in versions[1]] == [True, True]
