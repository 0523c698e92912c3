"""Requests of mqadmin's `exportMetrics`: every figure of its report has a value."""

from typing import Any

from sandbox.remoting.bodies import (
    ConsumerConnection,
    KVTable,
    Settings,
    StatsData,
    SubscriptionGroupTable,
    TopicConfigTable,
    TopicList,
)
from sandbox.remoting.codes import RequestCode
from tests.unit.broker.stage import Client, Stage
from tests.unit.broker.transactions import HALF, Transactor


def report(admin: Client) -> dict[str, Any]:
    """As the tool puts it together, answer by answer; KeyError where an answer lacks what it reads."""
    runtime = KVTable.decode(admin.call(RequestCode.GET_BROKER_RUNTIME_INFO).body).table
    config = Settings.decode(admin.call(RequestCode.GET_BROKER_CONFIG).body).values
    system = TopicList.decode(admin.call(RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_BROKER).body).topics
    topics = TopicConfigTable.decode(admin.call(RequestCode.GET_ALL_TOPIC_CONFIG).body).topics
    groups = SubscriptionGroupTable.decode(admin.call(RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG).body).groups
    members = ConsumerConnection.decode(
        admin.call(RequestCode.GET_CONSUMER_CONNECTION_LIST, {"consumerGroup": "g"}).body
    ).connections
    counted = [
        StatsData.decode(
            admin.call(RequestCode.VIEW_BROKER_STATS_DATA, {"statsName": "TOPIC_PUT_NUMS", "statsKey": topic}).body
        )
        for topic in (HALF, "SCHEDULE_TOPIC_XXXX")
    ]
    return {
        "cpuNum": int(config["clientCallbackExecutorThreads"]),
        "totalMemKBytes": int(runtime["totalMemKBytes"]),
        "diskRatio": (float(runtime["commitLogDiskRatio"]), float(runtime["consumeQueueDiskRatio"])),
        "normalTps": (float(runtime["putTps"].split()[0]), float(runtime["getTransferedTps"].split()[0])),
        "specialInTps": tuple(data.minute.tps for data in counted),
        "normalOneDayIn": int(runtime["msgPutTotalTodayMorning"]) - int(runtime["msgPutTotalYesterdayMorning"]),
        "normalOneDayOut": int(runtime["msgGetTotalTodayMorning"]) - int(runtime["msgGetTotalYesterdayMorning"]),
        "specialOneDayIn": tuple(data.minute.sum for data in counted),  # of a day, once there is an hour to show
        "messageAverageSize": float(runtime["putMessageAverageSize"]),
        "topics": sorted({topic for topic in topics if not topic.startswith("%")} - set(system)),
        "groups": [group for group in groups if group == "g"],
        "clientInfo": [(member.language, member.version) for member in members],
    }


def test_the_report_has_no_gaps() -> None:
    stage = Stage(wire=True)
    stage.topic("orders", 2)
    admin = stage.client()
    admin.heartbeat("c1", "g", "orders")
    shop = Transactor(stage)
    shop.prepare()
    for level in (5, 6):
        admin.send("orders", properties=f"DELAY\x01{level}")
    admin.send("orders")
    admin.pull("g", "orders", 0)
    stage.pass_s(10)
    found = report(admin)
    assert found.pop("totalMemKBytes") > 0
    assert found.pop("messageAverageSize") == stage.broker.store.max_physical_offset / 4
    assert 0 <= min(found["diskRatio"]) <= max(found.pop("diskRatio")) <= 1
    assert found == {
        "cpuNum": 1,
        "normalTps": (0.4, 0.1),
        "specialInTps": (0.1, 0.2),
        "specialOneDayIn": (1, 2),
        "normalOneDayIn": 0,
        "normalOneDayOut": 0,
        "topics": ["orders"],
        "groups": ["g"],
        "clientInfo": [("JAVA", 409)],
    }
