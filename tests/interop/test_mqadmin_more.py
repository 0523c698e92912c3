"""The commands of mqadmin that its guide does not begin with: none throws, and what changes is changed."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.golden.independent_reader import hash_of
from tests.interop.test_mqadmin import COUNT, Scene
from tests.interop.test_mqadmin import scene as scene


@pytest.fixture
def broker(scene: Scene) -> str:
    return scene.server.broker


def test_topic_permission(scene: Scene, broker: str) -> None:
    topic = scene.server.create_topic(f"{scene.topic}-perm")
    scene.run(f"updateTopicPerm -b {broker} -t {topic} -p 4")
    assert '"perm":4' in re.sub(r"\s", "", scene.run(f"topicRoute -t {topic}"))
    assert scene.rows(f"topicClusterList -t {topic}") == [["DefaultCluster"]]


def test_write_permission_of_a_broker(scene: Scene) -> None:
    topic = scene.server.create_topic(f"{scene.topic}-wiped")
    assert "OK" in scene.run("wipeWritePerm -b broker-a")
    try:
        assert '"perm":4' in re.sub(r"\s", "", scene.run(f"topicRoute -t {topic}"))
    finally:
        assert "OK" in scene.run("addWritePerm -b broker-a")
    assert '"perm":6' in re.sub(r"\s", "", scene.run(f"topicRoute -t {topic}"))


def test_broker_config_is_changed(scene: Scene, broker: str) -> None:
    for hours in ("96", "72"):
        assert "success" in scene.run(f"updateBrokerConfig -b {broker} -k fileReservedTime -v {hours}")
        assert scene.values(f"getBrokerConfig -b {broker}", "=")["fileReservedTime"] == hours


def test_name_server_config(scene: Scene) -> None:
    reported = scene.values("getNamesrvConfig", "=")
    assert reported["listenPort"] == scene.server.namesrv.rpartition(":")[2]
    assert "success" in scene.run("updateNamesrvConfig -k orderMessageEnable -v false")


def test_exported_files(scene: Scene, broker: str) -> None:
    home = scene.peer.log.parent
    for command in (
        f"exportMetadata -b {broker} -t",
        f"exportMetadata -b {broker} -g",
        "exportConfigs -c DefaultCluster",
    ):
        assert "success" in scene.run(f"{command} -f .")
    topics = exported(home, "topic.json")["topicConfigTable"]
    assert topics[scene.topic]["writeQueueNums"] == 4
    assert scene.group in exported(home, "subscriptionGroup.json")["subscriptionGroupTable"]
    configs = exported(home, "configs.json")["brokerConfigs"]["broker-a"]
    assert (configs["fileReservedTime"], configs["useTLS"]) == ("72", "false")
    assert configs["messageDelayLevel"].startswith("1s 5s 10s")


def test_exported_metrics(scene: Scene) -> None:
    """No figure of the report is missing, and those of delayed messages and of transactions are theirs.

    The tool leaves out what a broker does not answer: 4.9.8's own `totalMemKBytes`, for one.
    """
    topic = scene.server.create_topic(f"{scene.topic}-special")
    scene.peer.do("send", topic=topic, level=18)
    scene.peer.do("transact", topic=topic, group=f"{scene.senders}-special", first="commit")
    for special in ("SCHEDULE_TOPIC_XXXX", "RMQ_SYS_TRANS_HALF_TOPIC"):
        scene.server.until(lambda special=special: counted_in_minute(scene, special))
    assert "success" in scene.run("exportMetrics -c DefaultCluster -f .")
    metrics = exported(scene.peer.log.parent, "metrics.json")
    broker, total = metrics["evaluateReport"]["broker-a"], metrics["totalData"]
    assert {name: set(part) for name, part in broker.items()} == {
        "runtimeEnv": {"cpuNum", "totalMemKBytes"},
        "runtimeVersion": {"rocketmqVersion", "clientInfo"},
        "runtimeQuota": {"diskRatio", "tps", "oneDayNum", "messageAverageSize", "topicSize", "groupSize"},
    }
    quota = broker["runtimeQuota"]
    assert set(quota["diskRatio"]) == {"commitLogDiskRatio", "consumeQueueDiskRatio"}
    assert set(quota["tps"]) == {"normalInTps", "normalOutTps", "transInTps", "scheduleInTps"}
    assert min(quota["tps"]["transInTps"], quota["tps"]["scheduleInTps"]) > 0
    assert total["totalTps"]["totalScheduleInTps"] == quota["tps"]["scheduleInTps"]
    assert min(quota["oneDayNum"]["transOneDayInNum"], quota["oneDayNum"]["scheduleOneDayInNum"]) >= 1
    assert broker["runtimeVersion"]["clientInfo"]
    assert None not in values_of(metrics)


def counted_in_minute(scene: Scene, topic: str) -> bool:
    """Counters are looked at every 10 s; in the body the last minute comes last."""
    body = scene.server.ask(315, {"statsName": "TOPIC_PUT_NUMS", "statsKey": topic})["body"]
    return b'"sum":0' not in body.rpartition(b"statsMinute")[2]


def values_of(found: object) -> list[object]:
    """Return the leaves of a JSON tree."""
    if not isinstance(found, dict | list):
        return [found]
    return [value for part in (found.values() if isinstance(found, dict) else found) for value in values_of(part)]


def exported(home: Path, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((home / name).read_text())
    return found


def test_consume_queue(scene: Scene, broker: str) -> None:
    """Two units of a queue: where each message is in the log, how long it is, and the hash of its tag."""
    said = scene.run(f"queryCq -t {scene.topic} -q 0 -i 0 -c 5 -b {broker}")
    for record in scene.server.records(scene.topic):
        if record.queue_id == 0:
            assert re.search(rf"physicOffset={record.at}, physicSize={record.size}, tagsCode={hash_of('A')}\b", said)


def test_messages_of_one_queue(scene: Scene) -> None:
    said = scene.run(f"printMsgByQueue -t {scene.topic} -a broker-a -i 0 -p true -d true -f true")
    assert re.search(r"Tag: A +Count: 2", said)


def test_consumed_by_the_command_line(scene: Scene) -> None:
    """At most 128; with fewer queues, the tool uses even fewer than its option."""
    said = scene.run(f"consumeMessage -t {scene.topic} -g {scene.group}-tool")
    assert sorted(re.findall(r"BODY: (body \d)", said)) == [f"body {i}" for i in range(COUNT)]


def test_sent_to_the_queues_of_a_member(scene: Scene) -> None:
    """A message that is there already, given to the member once more."""
    wanted = scene.sent[0]
    client_id = scene.member.of("started")[0]["client_id"]
    said = scene.run(f"queryMsgByUniqueKey -t {scene.topic} -i {wanted['msg_id']} -g {scene.group} -d {client_id}")
    assert "consumeResult=CR_SUCCESS" in said


def test_send_status(scene: Scene) -> None:
    """It sends to the topic every broker has of its own name."""
    said = scene.run("sendMsgStatus -b broker-a -s 10 -c 3")
    assert said.count("sendStatus=SEND_OK") >= 3


def test_broker_consume_stats(scene: Scene, broker: str) -> None:
    rows = [row for row in scene.rows(f"brokerConsumeStats -b {broker} -t 20000") if row[0] == scene.topic]
    assert [row[:6] for row in rows] == [
        [scene.topic, scene.group, "broker-a", str(queue), "2", "2"] for queue in range(4)
    ]


def test_producers_of_a_broker(scene: Scene, broker: str) -> None:
    assert f"producer group ({scene.senders}) instance" in scene.run(f"producer -b {broker}")


def test_skipped_messages(scene: Scene) -> None:
    topic, group = scene.server.create_topic(f"{scene.topic}-skip"), f"{scene.group}-skip"
    member = scene.peer.order("consume", topic=topic, group=group)
    member.wait("started")
    scene.peer.do("send", topic=topic, count=COUNT)
    member.wait("received", COUNT)
    scene.server.until(lambda: all(scene.server.committed(group, topic, queue) == 2 for queue in range(4)))
    said = scene.run(f"skipAccumulatedMessage -g {group} -t {topic} -f true")
    assert sorted(re.findall(r"^broker-a +(\d) +(\d+)", said, re.MULTILINE)) == [(str(q), "2") for q in range(4)]
    member.stop()


def test_key_value_config(scene: Scene) -> None:
    assert "success" in scene.run("updateKvConfig -s SPACE -k key -v value")
    assert "success" in scene.run("deleteKvConfig -s SPACE -k key")


def test_order_config(scene: Scene) -> None:
    assert "success" in scene.run(f"updateOrderConf -m put -t {scene.topic} -v broker-a:4")
    assert "broker-a:4" in scene.run(f"updateOrderConf -m get -t {scene.topic}")
    assert "success" in scene.run(f"updateOrderConf -m delete -t {scene.topic}")


def test_cleaning(scene: Scene, broker: str) -> None:
    for command in ("cleanExpiredCQ", "deleteExpiredCommitLog", "cleanUnusedTopic"):
        assert "success" in scene.run(f"{command} -b {broker}")
    assert scene.server.records(scene.topic)


def test_division_by_the_command_line(scene: Scene) -> None:
    said = re.sub(r"\s", "", scene.run(f"allocateMQ -t {scene.topic} -i 10.0.0.1,10.0.0.2"))
    assert said.count('"queueId":') == 4
