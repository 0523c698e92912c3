"""Bodies: as recorded from a real broker, in all their dialects, and refused when they are something else."""

import json
from pathlib import Path
from typing import Any

import pytest

from sandbox.kernel import loose_json
from sandbox.remoting import bodies
from sandbox.remoting.bodies import (
    BrokerData,
    ConsumerData,
    GroupOffset,
    HeartbeatData,
    LockBatchBody,
    QueueData,
    ResetOffsetBody,
    SubscriptionData,
    TopicRouteData,
    TopicStats,
)
from sandbox.remoting.fields import Malformed

WIRE = Path(__file__).parents[2] / "golden" / "wire"
FRAMES = [json.loads(line) for line in (WIRE / "json.jsonl").read_text("utf-8").splitlines()]

REQUESTS: dict[int, Any] = {
    34: HeartbeatData,
    41: LockBatchBody,
    42: LockBatchBody,
    103: bodies.RegisterBrokerBody,
    220: ResetOffsetBody,
}
RESPONSES: dict[int, Any] = {
    21: bodies.TopicConfigTable,
    28: bodies.KVTable,
    38: bodies.ConsumerList,
    41: bodies.LockedQueues,
    43: bodies.OffsetWrapper,
    105: TopicRouteData,
    106: bodies.ClusterInfo,
    202: TopicStats,
    203: bodies.ConsumerConnection,
    204: bodies.ProducerConnection,
    206: bodies.TopicList,
    208: bodies.ConsumeStats,
    219: bodies.KVTable,
    221: bodies.ConsumerStatusBody,
    222: ResetOffsetBody,
    223: bodies.ConsumerStatusBody,
    224: bodies.TopicList,
    300: bodies.GroupList,
    304: bodies.TopicList,
    305: bodies.TopicList,
    201: bodies.SubscriptionGroupTable,
    307: bodies.RunningInfo,
}


def recorded(code: int, kind: str) -> list[bytes]:
    found = [
        bytes.fromhex(f["body_hex"])
        for f in FRAMES
        if f["kind"] == kind and f["body_hex"] and (f.get("request_code") if kind == "response" else f["code"]) == code
    ]
    assert found, f"no {kind} {code} was recorded with a body"
    return found


@pytest.mark.parametrize(
    ("code", "kind", "body"),
    [
        *[(code, "request", body) for code, body in REQUESTS.items()],
        *[(code, "response", body) for code, body in RESPONSES.items()],
    ],
)
def test_a_recorded_body_is_read_and_means_the_same_when_written_again(code: int, kind: str, body: Any) -> None:
    for data in recorded(code, kind):
        value = body.decode(data)
        again = value.encode()
        if body is ResetOffsetBody:
            assert again == data  # no JSON, by which Go's client knows it from gson's
        else:
            json.loads(again)  # strict JSON
        assert loose_json.loads(again) == loose_json.loads(data)
        assert body.decode(again) == value


def test_a_heartbeat_of_a_c_client_is_understood() -> None:
    data = b"""{"clientID":"1-10.0.0.1@x","consumerDataSet":[{"consumeFromWhere":4,"consumeType":1,"groupName":"CG",
        "messageModel":0,"subscriptionDataSet":[{"codeSet":[0,0],"subString":"A||B","subVersion":"1700000000000",
        "tagsSet":["A","B"],"topic":"T"},{"subString":"*","subVersion":"1","topic":"U"}]}]}"""
    both = SubscriptionData("T", "A||B", ("A", "B"), (0, 0), 1_700_000_000_000)
    wanted = (both, SubscriptionData("U", "*", (), (), 1))
    group = ConsumerData("CG", "CONSUME_PASSIVELY", "BROADCASTING", "CONSUME_FROM_FIRST_OFFSET", wanted)
    assert HeartbeatData.decode(data) == HeartbeatData("1-10.0.0.1@x", (), (group,))


def test_a_heartbeat_is_written_as_java_writes_it() -> None:
    group = ConsumerData("CG", subscriptions=(SubscriptionData("T", "A", ("A",), (65,), 7),))
    assert HeartbeatData("c", ("PG",), (group,)).encode() == (
        b'{"clientID":"c","consumerDataSet":[{"consumeFromWhere":"CONSUME_FROM_LAST_OFFSET","consumeType":'
        b'"CONSUME_PASSIVELY","groupName":"CG","messageModel":"CLUSTERING","subscriptionDataSet":[{"classFilterMode":'
        b'false,"codeSet":[65],"expressionType":"TAG","subString":"A","subVersion":7,"tagsSet":["A"],"topic":"T"}],'
        b'"unitMode":false}],"producerDataSet":[{"groupName":"PG"}]}'
    )


def test_a_route_is_read_with_bare_and_with_quoted_broker_ids() -> None:
    text = (
        '{"brokerDatas":[{"brokerAddrs":{0:"1.2.3.4:10911",1:"1.2.3.5:10911"},"brokerName":"b","cluster":"C"}],'
        '"filterServerTable":{},"orderTopicConf":"b:4","queueDatas":[{"brokerName":"b","perm":6,'
        '"readQueueNums":4,"topicSysFlag":0,"writeQueueNums":2}]}'
    )
    route = TopicRouteData(
        (QueueData("b", 4, 2, 6),), (BrokerData("b", "C", {0: "1.2.3.4:10911", 1: "1.2.3.5:10911"}),), "b:4"
    )
    assert TopicRouteData.decode(text.encode()) == route
    assert TopicRouteData.decode(route.encode()) == route
    assert route.encode().decode() == text.replace("{0:", '{"0":').replace(",1:", ',"1":')


def test_a_reset_has_a_map_for_java_and_a_list_for_c() -> None:
    body = ResetOffsetBody({("T", "b", 0): 5, ("T", "b", 1): 6})
    assert json.loads(body.encode_for_c()) == {
        "offsetTable": [
            {"brokerName": "b", "offset": 5, "queueId": 0, "topic": "T"},
            {"brokerName": "b", "offset": 6, "queueId": 1, "topic": "T"},
        ]
    }
    assert ResetOffsetBody.decode(body.encode_for_c()) == body
    assert body.encode() == (
        b'{"offsetTable":{{"brokerName":"b","queueId":0,"topic":"T"}:5,{"brokerName":"b","queueId":1,"topic":"T"}:6}}'
    )
    assert (
        ResetOffsetBody.decode(
            b'{"offsetTable":{{"brokerName":"b","queueId":0,"topic":"T"}:5,'
            b'"{\\"topic\\":\\"T\\",\\"queueId\\":1,\\"brokerName\\":\\"b\\"}":6}}'
        )
        == body
    )


def test_a_value_written_as_a_reference_is_found() -> None:
    data = (
        b'{"clientId":"c","consumerGroup":"G","mqSet":[{"brokerName":"b","queueId":0,"topic":"T"},'
        b'{"$ref":"$.mqSet[0]"}]}'
    )
    assert LockBatchBody.decode(data).queues == (("T", "b", 0), ("T", "b", 0))


def test_no_body_is_an_empty_answer() -> None:
    assert bodies.ConsumerList.decode(None).client_ids == ()
    assert bodies.LockedQueues.decode(b"").queues == ()
    assert bodies.RegisterBrokerBody.decode(None).table == bodies.TopicConfigTable(bodies.DataVersion(0, 0), {})


@pytest.mark.parametrize(
    ("body", "data", "words"),
    [
        (HeartbeatData, b"", "the body is no heartbeat: KeyError 'clientID'"),
        (HeartbeatData, b"[1]", "list instead of an object"),
        (HeartbeatData, b"{", "the body is no heartbeat"),
        (HeartbeatData, b'{"clientID":7}', "7 instead of a text"),
        (HeartbeatData, b'{"clientID":"c","consumerDataSet":{}}', "{} instead of a list"),
        (HeartbeatData, b'{"clientID":"c","consumerDataSet":[3]}', "the body is no heartbeat"),
        (
            HeartbeatData,
            b'{"clientID":"c","consumerDataSet":[{"groupName":"G","consumeType":9}]}',
            "9 instead of a text",
        ),
        (LockBatchBody, b'{"clientId":"c","consumerGroup":"G","mqSet":[{}]}', "KeyError 'topic'"),
        (TopicStats, b'{"offsetTable":{"T":{}}}', "the body is no topic statistics"),
        (TopicStats, b'{"offsetTable":[]}', "[] instead of a map"),
        (
            ResetOffsetBody,
            b'{"offsetTable":{{"brokerName":"b","queueId":0,"topic":"T"}:null}}',
            "None instead of a number",
        ),
        (bodies.OffsetWrapper, b'{"offsetTable":{"T@G":{"x":1}}}', "the body is no table of offsets"),
        (bodies.ConsumeStats, b'{"consumeTps":"fast"}', "the body is no consume statistics"),
        (bodies.KVTable, b"\xff\xff", "the body is no table of texts"),
    ],
)
def test_a_body_of_another_shape_is_refused_in_words(body: Any, data: bytes, words: str) -> None:
    with pytest.raises(Malformed) as refused:
        body.decode(data)
    assert words in refused.value.remark
    assert refused.value.code == 1


def test_statistics_keep_their_numbers() -> None:
    stats = bodies.ConsumeStats({("T", "b", 0): GroupOffset(9, 7, 1_700_000_000_000)}, 1.5)
    assert bodies.ConsumeStats.decode(stats.encode()) == stats
    check = bodies.CheckClientBody("c", "G", SubscriptionData("T", "a > 1", expression_type="SQL92"))
    assert bodies.CheckClientBody.decode(check.encode()) == check


def test_what_5_x_adds_to_bodies_is_read_or_left_alone() -> None:
    """As Apache's 5.3.3 answers."""
    queue = b'{"brokerName":"broker-a","queueId":0,"topic":"T"}'
    progress = bodies.ConsumeStats.decode(
        b'{"consumeTps":0.0,"offsetTable":{%s:{"brokerOffset":9,"consumerOffset":7,"lastTimestamp":5,"pullOffset":8}}}'
        % queue
    )
    assert progress.queues == {("T", "broker-a", 0): GroupOffset(9, 7, 5, 8)}
    assert bodies.ConsumeStats.decode(progress.encode()) == progress
    ends = TopicStats.decode(
        b'{"offsetTable":{%s:{"lastUpdateTimestamp":3,"maxOffset":2,"minOffset":1}},"topicPutTps":0.2}' % queue
    )
    assert ends.queues == {("T", "broker-a", 0): bodies.TopicOffset(1, 2, 3)}
    table = bodies.OffsetWrapper.decode(
        b'{"dataVersion":{"counter":0,"stateVersion":0,"timestamp":1},"groupTopicMap":{},"offsetTable":{"T@G":{0:7}}}'
    )
    assert table.offsets == {"T@G": {0: 7}}
    group = bodies.SubscriptionGroupConfig.decode(
        b'{"attributes":{},"brokerId":0,"consumeBroadcastEnable":true,"consumeEnable":true,"consumeFromMinEnable":true,'
        b'"consumeMessageOrderly":false,"consumeTimeoutMinute":15,"groupName":"G","groupRetryPolicy":'
        b'{"type":"CUSTOMIZED"},"groupSysFlag":0,"notifyConsumerIdsChangedEnable":true,"retryMaxTimes":16,'
        b'"retryQueueNums":1,"whichBrokerWhenConsumeSlowly":1}'
    )
    assert group == bodies.SubscriptionGroupConfig("G")


def test_a_member_that_says_little_of_itself_is_still_understood() -> None:
    info = bodies.RunningInfo.decode(b'{"mqTable":{{"brokerName":"b","queueId":1,"topic":"T"}:{"locked":true}}}')
    held = info.queues["T", "b", 1]
    assert (held.locked, held.dropped, held.cached_count, held.last_pull_ms) == (True, False, 0, 0)
    assert (info.properties, info.subscriptions, info.stacks) == ({}, (), None)
