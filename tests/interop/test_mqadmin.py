"""Apache's command line against our broker: no command throws, and what it prints is what we know otherwise."""

import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.interop.clients import TOOLS
from tests.interop.conftest import Mqadmin, Start
from tests.interop.peer import Fact, Order, Peer
from tests.interop.servers import Server

TOPIC, GROUP, SENDERS = "admin-topic", "admin-group", "admin-senders"
COUNT = 8
RETRY = f"%RETRY%{GROUP}"


class Scene(NamedTuple):
    """Eight messages in four queues, a member that took them all, and a producer that stays."""

    run: Mqadmin
    server: Server
    peer: Peer
    sent: list[Fact]
    member: Order

    def rows(self, line: str) -> list[list[str]]:
        """The words of each line that is no heading."""
        said = self.run(line).splitlines()
        return [row.split() for row in said if row.strip() and not row.startswith(("#", "Consume TPS", "Diff Total"))]

    def values(self, line: str, separator: str) -> dict[str, str]:
        pairs = (row.split(separator, 1) for row in self.run(line).splitlines() if separator in row)
        return {key.strip(): value.strip() for key, value in pairs}


@pytest.fixture(scope="module")
def scene(server: Server, mqadmin: Mqadmin, start: Start) -> Iterator[Scene]:
    def run(line: str) -> str:
        said = mqadmin(line)
        assert not re.search(r"\w+Exception: |\bCODE: |not exist\.", said), f"{line}\n{said}"
        return said

    with start(TOOLS) as peer:
        run(f"updateTopic -b {server.broker} -t {TOPIC} -r 4 -w 4 -p 6")
        run(f"updateSubGroup -b {server.broker} -g {GROUP} -r 3")
        sent = peer.do("send", topic=TOPIC, group=SENDERS, count=COUNT, tags="A").of("sent")
        peer.order("send", topic=server.create_topic("elsewhere"), group=SENDERS, count=1_000, every_ms=60_000)
        member = peer.order("consume", topic=TOPIC, group=GROUP)
        member.wait("received", COUNT)
        server.until(lambda: all(server.committed(GROUP, TOPIC, queue) == 2 for queue in range(4)))
        yield Scene(run, server, peer, sent, member)
        peer.stop_orders()


def test_cluster_list(scene: Scene) -> None:
    [row] = scene.rows("clusterList")
    assert row[:4] == ["DefaultCluster", "broker-a", "0", scene.server.broker]
    assert re.fullmatch(r"V\d_\d_\d", row[4])
    [totals] = scene.rows("clusterList -m")
    assert int(totals[4]) >= COUNT  # taken in today


def test_topic_list(scene: Scene) -> None:
    assert {TOPIC, RETRY, "TBW102"} <= {row[0] for row in scene.rows("topicList")}
    assert ["DefaultCluster", TOPIC, GROUP] in scene.rows("topicList -c")


def test_topic_route(scene: Scene) -> None:
    route = re.sub(r"\s", "", scene.run(f"topicRoute -t {TOPIC}"))
    assert f'"brokerAddrs":{{0:"{scene.server.broker}"}}' in route
    assert '"brokerName":"broker-a","perm":6,"readQueueNums":4,"topicSysFlag":0,"writeQueueNums":4' in route


def test_topic_status(scene: Scene) -> None:
    last = {record.queue_id: record.stored for record in scene.server.records(TOPIC)}
    expected = [["broker-a", str(queue), "0", "2", *local_time(last[queue])] for queue in range(4)]
    assert scene.rows(f"topicStatus -t {TOPIC}") == expected


def local_time(time_ms: int) -> list[str]:
    at = datetime.fromtimestamp(time_ms // 1000).astimezone()
    return [f"{at:%Y-%m-%d}", f"{at:%H:%M:%S},{time_ms % 1000:03}"]


def test_update_and_delete_topic(scene: Scene) -> None:
    scene.run(f"updateTopic -b {scene.server.broker} -t short-lived -r 3 -w 2 -p 4")
    route = re.sub(r"\s", "", scene.run("topicRoute -t short-lived"))
    assert '"perm":4,"readQueueNums":3,"topicSysFlag":0,"writeQueueNums":2' in route
    assert "success" in scene.run("deleteTopic -c DefaultCluster -t short-lived")
    assert ["short-lived"] not in scene.rows("topicList")


def test_update_and_delete_sub_group(scene: Scene) -> None:
    said = scene.run(f"updateSubGroup -b {scene.server.broker} -g passing -r 7 -q 2 -s false")
    assert "retryMaxTimes=7" in said
    groups = scene.server.ask(201)["body"].decode()
    assert re.search(r'"passing":\{[^}]*"consumeEnable":false[^}]*"retryMaxTimes":7[^}]*"retryQueueNums":2', groups)
    assert "success" in scene.run(f"deleteSubGroup -b {scene.server.broker} -g passing")
    assert '"passing"' not in scene.server.ask(201)["body"].decode()


def test_consumer_progress(scene: Scene) -> None:
    rows = [row[:6] for row in scene.rows(f"consumerProgress -g {GROUP}") if row[0] == TOPIC]
    assert rows == [[TOPIC, "broker-a", str(queue), "2", "2", "0"] for queue in range(4)]
    [group] = [row for row in scene.rows("consumerProgress") if row[0] == GROUP]
    assert (group[1], group[3:5], group[-1]) == ("1", ["PUSH", "CLUSTERING"], "0")


def test_consumer_connection(scene: Scene) -> None:
    said = scene.run(f"consumerConnection -g {GROUP}")
    assert scene.member.of("started")[0]["client_id"] in said
    assert re.search(rf"{TOPIC} +\*", said)
    assert "ConsumeType: CONSUME_PASSIVELY" in said
    assert "ConsumeFromWhere: CONSUME_FROM_FIRST_OFFSET" in said


def test_producer_connection(scene: Scene) -> None:
    [row] = scene.rows(f"producerConnection -g {SENDERS} -t {TOPIC}")
    assert row[3:] == ["JAVA", "V4_9_8"]


def test_consumer_status(scene: Scene, tmp_path_factory: pytest.TempPathFactory) -> None:
    said = scene.run(f"consumerStatus -g {GROUP}")
    assert scene.member.of("started")[0]["client_id"] in said
    assert "Rebalance OK" in said
    running = scene.run(f"consumerStatus -g {GROUP} -i {scene.member.of('started')[0]['client_id']}")
    assert re.search(rf"{TOPIC} +broker-a +3 +2", running)  # asked of the member through the broker
    assert "PROP_CONSUME_TYPE" in running


def test_broker_status(scene: Scene) -> None:
    told = scene.values(f"brokerStatus -b {scene.server.broker}", ":")
    records = list(Path(scene.server.store / "commitlog").iterdir())
    assert records
    assert told["brokerVersionDesc"].startswith("V4_9_")
    assert int(told["msgPutTotalTodayNow"]) >= COUNT
    assert told["dispatchBehindBytes"] == "0"


def test_broker_config(scene: Scene) -> None:
    told = scene.values(f"getBrokerConfig -b {scene.server.broker}", "=")
    assert (told["brokerName"], told["brokerClusterName"], told["brokerId"]) == ("broker-a", "DefaultCluster", "0")
    assert told["enablePropertyFilter"] == "true"


def test_stats_all(scene: Scene) -> None:
    scene.server.until(lambda: '"sum":0' not in scene.server.ask(
        315, {"statsName": "GROUP_GET_NUMS", "statsKey": f"{TOPIC}@{GROUP}"})["body"].decode().rpartition("Minute")[2])
    [row] = [row for row in scene.rows("statsAll") if row[0] == TOPIC]
    assert (row[1], row[2]) == (GROUP, "0")
    assert float(row[3]) > 0
    assert float(row[4]) > 0


def test_query_message_by_id(scene: Scene) -> None:
    wanted = scene.sent[3]
    assert the_message(scene.run(f"queryMsgById -i {wanted['offset_msg_id']}")) == place(wanted)


def test_query_message_by_unique_key(scene: Scene) -> None:
    wanted = scene.sent[5]
    said = scene.run(f"queryMsgByUniqueKey -t {TOPIC} -i {wanted['msg_id']}")
    assert the_message(said) == place(wanted)
    assert f"consumerGroup={GROUP}, trackType=CONSUMED" in said


def test_query_message_by_key(scene: Scene) -> None:
    wanted = scene.sent[2]
    assert scene.rows(f"queryMsgByKey -t {TOPIC} -k k2") == [
        [wanted["msg_id"], str(wanted["queue"]), str(wanted["offset"])]]


def test_query_message_by_offset(scene: Scene) -> None:
    wanted = scene.sent[7]
    said = scene.run(f"queryMsgByOffset -t {TOPIC} -b broker-a -i {wanted['queue']} -o {wanted['offset']}")
    assert the_message(said) == place(wanted)


def the_message(said: str) -> dict[str, str]:
    told = dict(re.findall(r"^(Queue ID|Queue Offset|Tags|Keys|Topic): +\[?([^\]\n]*)\]?$", said, re.MULTILINE))
    return {name: value.strip() for name, value in told.items()}


def place(sent: Fact) -> dict[str, str]:
    return {"Topic": TOPIC, "Tags": "A", "Keys": f"k{sent['number']}", "Queue ID": str(sent["queue"]),
            "Queue Offset": str(sent["offset"])}


def test_print_messages(scene: Scene) -> None:
    said = scene.run(f"printMsg -t {TOPIC} -d true")
    assert sorted(re.findall(r"MSGID: (\w+)", said)) == sorted(fact["msg_id"] for fact in scene.sent)
    assert sorted(re.findall(r"BODY: (body \d)", said)) == [f"body {i}" for i in range(COUNT)]


def test_send_message(scene: Scene) -> None:
    topic = scene.server.create_topic("admin-sent")
    [row] = scene.rows(f"sendMessage -t {topic} -p hello -k kk -c T")
    [record] = scene.server.records(topic)
    assert row[:3] == ["broker-a", str(record.queue_id), "SEND_OK"]
    assert row[3] == record.properties["UNIQ_KEY"]
    assert (record.body, record.properties["KEYS"], record.properties["TAGS"]) == (b"hello", "kk", "T")


def test_check_send_rt(scene: Scene) -> None:
    topic = scene.server.create_topic("admin-timed")
    rows = scene.rows(f"checkMsgSendRT -t {topic} -a 5 -s 10")
    assert [row[:3] for row in rows[:5]] == [["broker-a", str(queue), "true"] for queue in (0, 1, 2, 3, 0)]
    assert sorted(len(record.body) for record in scene.server.records(topic)) == [10] * 5


def test_clone_group_offset(scene: Scene) -> None:
    assert "success" in scene.run(f"cloneGroupOffset -s {GROUP} -d cloned -t {TOPIC}")
    assert [scene.server.committed("cloned", TOPIC, queue) for queue in range(4)] == [2] * 4


def test_reset_offset_by_time(scene: Scene) -> None:
    """Of a group that is not online: Apache's second way, a commit for each queue."""
    topic = scene.server.create_topic("admin-reset")
    scene.peer.do("send", topic=topic, count=COUNT)
    member = scene.peer.order("consume", topic=topic, group="reset-group")
    member.wait("received", COUNT)
    member.stop()
    rows = scene.rows(f"resetOffsetByTime -g reset-group -t {topic} -s 0")
    assert [row for row in rows if row[0] == "broker-a"]
    assert [scene.server.committed("reset-group", topic, queue) for queue in range(4)] == [0] * 4
