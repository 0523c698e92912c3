"""Apache's command line against our broker: no command throws, and what it prints is what we know otherwise."""

import re
from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple

import pytest

from tests.interop.clients import CLIENTS, Client
from tests.interop.conftest import Mqadmin, Start, printed
from tests.interop.peer import Fact, Order, Peer
from tests.interop.servers import Server

COUNT = 8
TOOLS = [client for client in CLIENTS if client.name.startswith("java-")]


class Scene(NamedTuple):
    """Eight messages in four queues, a member that took them all, and a producer that stays."""

    run: Mqadmin
    tools: Client
    topic: str
    group: str
    senders: str
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


@pytest.fixture(scope="module", params=TOOLS, ids=lambda client: str(client).replace("java", "mqadmin"))
def scene(request: pytest.FixtureRequest, server: Server, start: Start) -> Iterator[Scene]:
    tools: Client = request.param
    word = f"{request.module.__name__.rpartition('.')[2]}-{tools.name.replace('.', '_')}"
    topic, group, senders = f"admin-topic-{word}", f"admin-group-{word}", f"admin-senders-{word}"
    with start(tools) as peer:

        def run(line: str) -> str:
            said = printed(peer, line)
            assert not re.search(r"\w+Exception: |\bCODE: |not exist\.", said), f"{line}\n{said}"
            return said

        run(f"updateTopic -b {server.broker} -t {topic} -r 4 -w 4 -p 6")
        run(f"updateSubGroup -b {server.broker} -g {group} -r 3")
        sent = peer.do("send", topic=topic, group=senders, count=COUNT, tags="A").of("sent")
        peer.order("send", topic=server.create_topic("elsewhere"), group=senders, count=1_000, every_ms=60_000)
        member = peer.order("consume", topic=topic, group=group)
        member.wait("received", COUNT)
        server.until(lambda: all(server.committed(group, topic, queue) == 2 for queue in range(4)))
        yield Scene(run, tools, topic, group, senders, server, peer, sent, member)
        peer.stop_orders()


def test_cluster_list(scene: Scene) -> None:
    [row] = scene.rows("clusterList")
    assert row[:4] == ["DefaultCluster", "broker-a", "0", scene.server.broker]
    assert re.fullmatch(r"V\d_\d_\d", row[4])
    [totals] = scene.rows("clusterList -m")
    assert int(totals[4]) >= COUNT  # taken in today


def test_topic_list(scene: Scene) -> None:
    assert {scene.topic, f"%RETRY%{scene.group}", "TBW102"} <= {row[0] for row in scene.rows("topicList")}
    assert ["DefaultCluster", scene.topic, scene.group] in scene.rows("topicList -c")


def test_topic_route(scene: Scene) -> None:
    route = re.sub(r"\s", "", scene.run(f"topicRoute -t {scene.topic}"))
    assert f'"brokerAddrs":{{0:"{scene.server.broker}"}}' in route
    assert '"brokerName":"broker-a","perm":6,"readQueueNums":4,"topicSysFlag":0,"writeQueueNums":4' in route


def test_topic_status(scene: Scene) -> None:
    last = {record.queue_id: record.stored for record in scene.server.records(scene.topic)}
    expected = [["broker-a", str(queue), "0", "2", *local_time(last[queue])] for queue in range(4)]
    reported = scene.rows(f"topicStatus -t {scene.topic}")
    assert [row for row in reported if row[0] == "broker-a"] == expected


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
    rows = [row[:6] for row in scene.rows(f"consumerProgress -g {scene.group}") if row[0] == scene.topic]
    assert rows == [[scene.topic, "broker-a", str(queue), "2", "2", "0"] for queue in range(4)]
    [group] = [row for row in scene.rows("consumerProgress") if row[0] == scene.group]
    assert (group[1], group[3:5], group[-1]) == ("1", ["PUSH", "CLUSTERING"], "0")


def test_consumer_connection(scene: Scene) -> None:
    said = scene.run(f"consumerConnection -g {scene.group}")
    assert scene.member.of("started")[0]["client_id"] in said
    assert re.search(rf"{scene.topic} +\*", said)
    assert "ConsumeType: CONSUME_PASSIVELY" in said
    assert "ConsumeFromWhere: CONSUME_FROM_FIRST_OFFSET" in said


def test_producer_connection(scene: Scene) -> None:
    [row] = scene.rows(f"producerConnection -g {scene.senders} -t {scene.topic}")
    assert row[3:] == ["JAVA", scene.tools.name.replace("java-", "V").replace(".", "_")]


def test_consumer_status(scene: Scene) -> None:
    said = scene.run(f"consumerStatus -g {scene.group}")
    assert scene.member.of("started")[0]["client_id"] in said
    assert "Rebalance OK" in said
    running = scene.run(f"consumerStatus -g {scene.group} -i {scene.member.of('started')[0]['client_id']}")
    assert re.search(rf"{scene.topic} +broker-a +3 +2", running)  # asked of the member through the broker
    assert "PROP_CONSUME_TYPE" in running


def test_broker_status(scene: Scene) -> None:
    reported = scene.values(f"brokerStatus -b {scene.server.broker}", ":")
    assert reported["brokerVersionDesc"].startswith("V4_9_")
    assert int(reported["msgPutTotalTodayNow"]) >= COUNT
    assert reported["dispatchBehindBytes"] == "0"


def test_broker_config(scene: Scene) -> None:
    reported = scene.values(f"getBrokerConfig -b {scene.server.broker}", "=")
    assert (reported["brokerName"], reported["brokerClusterName"], reported["brokerId"]) == (
        "broker-a",
        "DefaultCluster",
        "0",
    )
    assert reported["enablePropertyFilter"] == "true"


def test_stats_all(scene: Scene) -> None:
    """Counters are looked at every 10 s; in the body the last minute comes last."""
    asked = {"statsName": "GROUP_GET_NUMS", "statsKey": f"{scene.topic}@{scene.group}"}
    scene.server.until(lambda: b'"sum":0' not in scene.server.ask(315, asked)["body"].rpartition(b"statsMinute")[2])
    [row] = [row for row in scene.rows("statsAll") if row[0] == scene.topic]
    assert (row[1], row[2]) == (scene.group, "0")
    assert float(row[3]) > 0
    assert float(row[4]) > 0


def test_query_message_by_id(scene: Scene) -> None:
    wanted = scene.sent[3]
    about = f" -t {scene.topic}" if scene.tools.name.startswith("java-5") else ""  # which 5.x also wants
    assert the_message(scene.run(f"queryMsgById{about} -i {wanted['offset_msg_id']}")) == place(scene, wanted)


def test_query_message_by_unique_key(scene: Scene) -> None:
    wanted = scene.sent[5]
    said = scene.run(f"queryMsgByUniqueKey -t {scene.topic} -i {wanted['msg_id']}")
    assert the_message(said) == place(scene, wanted)
    assert f"consumerGroup={scene.group}, trackType=CONSUMED" in said


def test_query_message_by_key(scene: Scene) -> None:
    wanted = scene.sent[2]
    assert scene.rows(f"queryMsgByKey -t {scene.topic} -k k2") == [
        [wanted["msg_id"], str(wanted["queue"]), str(wanted["offset"])]
    ]


def test_query_message_by_offset(scene: Scene) -> None:
    wanted = scene.sent[7]
    said = scene.run(f"queryMsgByOffset -t {scene.topic} -b broker-a -i {wanted['queue']} -o {wanted['offset']}")
    assert the_message(said) == place(scene, wanted)


def the_message(said: str) -> dict[str, str]:
    reported = dict(re.findall(r"^(Queue ID|Queue Offset|Tags|Keys|Topic): +\[?([^\]\n]*)\]?$", said, re.MULTILINE))
    return {name: value.strip() for name, value in reported.items()}


def place(scene: Scene, sent: Fact) -> dict[str, str]:
    return {
        "Topic": scene.topic,
        "Tags": "A",
        "Keys": f"k{sent['number']}",
        "Queue ID": str(sent["queue"]),
        "Queue Offset": str(sent["offset"]),
    }


def test_print_messages(scene: Scene) -> None:
    said = scene.run(f"printMsg -t {scene.topic} -d true")
    assert sorted(re.findall(r"MSGID: (\w+)", said)) == sorted(fact["msg_id"] for fact in scene.sent)
    assert sorted(re.findall(r"BODY: (body \d)", said)) == [f"body {i}" for i in range(COUNT)]


def test_send_message(scene: Scene) -> None:
    topic = scene.server.create_topic(f"{scene.topic}-sent")
    [row] = scene.rows(f"sendMessage -t {topic} -p hello -k kk -c T")
    [record] = scene.server.records(topic)
    assert row[:3] == ["broker-a", str(record.queue_id), "SEND_OK"]
    assert row[3] == record.properties["UNIQ_KEY"]
    assert (record.body, record.properties["KEYS"], record.properties["TAGS"]) == (b"hello", "kk", "T")


def test_check_send_rt(scene: Scene) -> None:
    topic = scene.server.create_topic(f"{scene.topic}-timed")
    rows = scene.rows(f"checkMsgSendRT -t {topic} -a 5 -s 10")
    assert [row[:3] for row in rows[:5]] == [["broker-a", str(queue), "true"] for queue in (0, 1, 2, 3, 0)]
    assert sorted(len(record.body) for record in scene.server.records(topic)) == [10] * 5


def test_clone_group_offset(scene: Scene) -> None:
    assert "success" in scene.run(f"cloneGroupOffset -s {scene.group} -d {scene.group}-clone -t {scene.topic}")
    assert [scene.server.committed(f"{scene.group}-clone", scene.topic, queue) for queue in range(4)] == [2] * 4


def test_reset_offset_by_time(scene: Scene) -> None:
    """The group is offline: Apache's second way, one commit per queue."""
    topic, group = scene.server.create_topic(f"{scene.topic}-reset"), f"{scene.group}-reset"
    scene.peer.do("send", topic=topic, count=COUNT)
    member = scene.peer.order("consume", topic=topic, group=group)
    member.wait("received", COUNT)
    member.stop()
    rows = scene.rows(f"resetOffsetByTime -g {group} -t {topic} -s 0")
    assert [row for row in rows if row[0] == "broker-a"]
    assert [scene.server.committed(group, topic, queue) for queue in range(4)] == [0] * 4
