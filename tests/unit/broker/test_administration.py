"""Requests and changes of administrators."""

import pytest

from sandbox.broker.config import BrokerLimits
from sandbox.journal.events import GroupChanged, HandlerFailed, TopicChanged
from sandbox.message.queue import MessageQueue
from sandbox.remoting.bodies import (
    CheckClientBody,
    ConsumerConnection,
    ConsumeStats,
    GroupList,
    KVTable,
    ProducerConnection,
    SubscriptionData,
    TopicConfigTable,
    TopicList,
    TopicStats,
)
from sandbox.remoting.codes import RequestCode
from sandbox.remoting.command import RemotingCommand
from sandbox.remoting.json_body import loads
from tests.unit.broker.stage import NAME_SERVER, Client, Stage, messages, small_store


def update_topic(client: Client, topic: str, queues: int = 4) -> RemotingCommand:
    return client.call(
        RequestCode.UPDATE_AND_CREATE_TOPIC,
        {
            "topic": topic,
            "defaultTopic": "TBW102",
            "readQueueNums": str(queues),
            "writeQueueNums": str(queues),
            "perm": "6",
            "topicFilterType": "SINGLE_TAG",
            "topicSysFlag": "0",
            "order": "false",
        },
    )


@pytest.mark.parametrize(
    ("topic", "remark"),
    [
        ("TBW102", "The topic[TBW102] is conflict with system topic."),
        ("DefaultCluster", "The topic[DefaultCluster] is conflict with system topic."),
        ("a b", "The specified topic contains illegal characters, allowing only ^[%|a-zA-Z0-9_-]+$"),
    ],
)
def test_some_topics_cannot_be_made(admin: Client, topic: str, remark: str) -> None:
    answer = update_topic(admin, topic)
    assert (answer.code, answer.remark) == (1, remark)


def test_a_topic_is_made_registered_and_kept(admin: Client, stage: Stage) -> None:
    answer = update_topic(admin, "payments", 8)
    assert (answer.code, answer.remark) == (0, "not set any response code")
    assert stage.name_server.route_info.topic_queues["payments"]["broker-a"].read_queues == 8
    stage.stop_broker(kill=True)
    stage.disk.kill()
    stage.start_broker()
    assert stage.broker.topics.table["payments"].write_queues == 8


def test_shrinking_a_topic_leaves_its_data(admin: Client, stage: Stage) -> None:
    admin.send("orders", b"kept", queue=3)
    update_topic(admin, "orders", 2)
    assert admin.send("orders", queue=3).code == 1
    assert admin.pull("g", "orders", 0, queue=3).code == 1
    update_topic(admin, "orders", 4)
    assert [m.body for m in messages(admin.pull("g", "orders", 0, queue=3))] == [b"kept"]


def test_a_limit_refuses_a_topic_in_a_sentence() -> None:
    stage = Stage(limits=BrokerLimits(queues_per_topic=8, queues=12))
    admin = stage.client()
    assert update_topic(admin, "wide", 9).remark == "the limit queues_per_topic is 8, topic wide would make it 9"
    assert update_topic(admin, "one", 8).code == 0
    assert update_topic(admin, "two", 8).remark == "the limit queues is 12, topic two would make it 16"


def test_a_deleted_topic_is_gone_here_and_stays_at_the_name_server(admin: Client, stage: Stage) -> None:
    admin.send("orders")
    assert admin.call(RequestCode.DELETE_TOPIC_IN_BROKER, {"topic": "orders"}).code == 0
    assert admin.pull("g", "orders", 0).code == 17
    assert stage.broker.store.max_offset("orders", 0) == 0
    assert stage.name_server.route_info.route("orders") is not None
    assert stage.events(TopicChanged)[-1].how == "deleted"
    assert admin.call(RequestCode.DELETE_TOPIC_IN_BROKER, {"topic": "TBW102"}).code == 1


def test_all_topics_come_with_the_version_of_the_table(admin: Client, stage: Stage) -> None:
    answer = admin.call(RequestCode.GET_ALL_TOPIC_CONFIG)
    table = TopicConfigTable.decode(answer.body)
    assert table.version == stage.broker.topics.version
    assert table.topics["TBW102"].permission == 7
    assert table.topics["SCHEDULE_TOPIC_XXXX"].read_queues == 18
    assert answer.ext == {}


def test_traces_have_their_topic_from_the_start_where_they_are_wanted() -> None:
    """C10: a client with trace on stores its traces, although no sender may make a topic."""
    stage = Stage(trace_topic=True, auto_create_topic=False)
    assert stage.broker.topics.table["RMQ_SYS_TRACE_TOPIC"].write_queues == 1
    assert stage.client().send("RMQ_SYS_TRACE_TOPIC").code == 0


def test_system_topics_are_the_ones_a_real_broker_lists(admin: Client) -> None:
    topics = TopicList.decode(admin.call(RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_BROKER).body).topics
    assert set(topics) == {
        "SCHEDULE_TOPIC_XXXX",
        "RMQ_SYS_TRANS_HALF_TOPIC",
        "RMQ_SYS_TRACE_TOPIC",
        "DefaultCluster_REPLY_TOPIC",
        "RMQ_SYS_TRANS_OP_HALF_TOPIC",
        "BenchmarkTest",
        "TRANS_CHECK_MAX_TIME_TOPIC",
        "OFFSET_MOVED_EVENT",
        "TBW102",
        "broker-a",
        "SELF_TEST_TOPIC",
        "DefaultCluster",
    }


def test_group_rules_are_changed_listed_kept_and_deleted(admin: Client, stage: Stage) -> None:
    body = b'{"groupName":"g","consumeEnable":false,"retryMaxTimes":3}'
    assert admin.call(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, None, body).code == 0
    assert stage.events(GroupChanged)[-1].changes["consumeEnable"] is False
    stage.stop_broker()
    stage.start_broker()
    again = stage.client()
    table = loads(again.call(RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG).body)["subscriptionGroupTable"]
    assert (table["g"]["retryMaxTimes"], table["g"]["retryQueueNums"]) == (3, 1)
    assert again.call(RequestCode.DELETE_SUBSCRIPTIONGROUP, {"groupName": "g"}).code == 0
    assert "g" not in stage.broker.subscription_groups.table
    assert "TOOLS_CONSUMER" in stage.broker.subscription_groups.table


def test_deleting_a_group_takes_its_offsets_only_when_asked(admin: Client, stage: Stage) -> None:
    stage.broker.consumer_offsets.commit("g", "orders", 0, 5, "admin")
    admin.call(RequestCode.DELETE_SUBSCRIPTIONGROUP, {"groupName": "g", "removeOffset": "false"})
    assert stage.broker.consumer_offsets.get("g", "orders", 0) == 5
    admin.call(RequestCode.DELETE_SUBSCRIPTIONGROUP, {"groupName": "g", "removeOffset": "true"})
    assert stage.broker.consumer_offsets.get("g", "orders", 0) is None


def test_more_groups_than_allowed_do_not_make_themselves() -> None:
    stage = Stage(limits=BrokerLimits(groups=1))
    client = stage.client()
    assert client.pull("one", "TBW102", 0).code == 19
    assert client.pull("two", "TBW102", 0).code == 26


def test_topic_statistics_show_where_queues_begin_end_and_were_last_written(admin: Client, stage: Stage) -> None:
    admin.send("orders", queue=1)
    stage.pass_s(1)
    admin.send("orders", queue=1)
    stats = TopicStats.decode(admin.call(RequestCode.GET_TOPIC_STATS_INFO, {"topic": "orders"}).body)
    assert len(stats.queues) == 4
    row = stats.queues[MessageQueue("orders", "broker-a", 1)]
    assert row == (0, 2, stage.time.clock.now_ms())
    unknown = admin.call(RequestCode.GET_TOPIC_STATS_INFO, {"topic": "NoSuchTopicQ"})
    assert (unknown.code, unknown.remark) == (17, "topic[NoSuchTopicQ] not exist")


def test_consume_statistics_cover_every_queue_of_every_topic_the_group_has_committed_in(
    admin: Client, stage: Stage
) -> None:
    admin.send("orders", queue=1)
    sent_ms = stage.time.clock.now_ms()
    stage.pass_s(1)
    admin.send("orders", queue=1)
    stage.broker.consumer_offsets.commit("g", "orders", 1, 1, "timer")
    stats = ConsumeStats.decode(admin.call(RequestCode.GET_CONSUME_STATS, {"consumerGroup": "g"}).body)
    assert len(stats.queues) == 4
    assert stats.queues[MessageQueue("orders", "broker-a", 1)][:3] == (2, 1, sent_ms)
    assert stats.queues[MessageQueue("orders", "broker-a", 0)][:3] == (0, 0, 0)


def test_a_group_that_dropped_the_topic_has_no_statistics_of_it(admin: Client, stage: Stage) -> None:
    stage.broker.consumer_offsets.commit("g", "orders", 1, 1, "timer")
    admin.heartbeat("c1", "g", "payments")
    stats = ConsumeStats.decode(admin.call(RequestCode.GET_CONSUME_STATS, {"consumerGroup": "g"}).body)
    assert stats.queues == {}


def test_consumption_speed_is_the_mean_since_the_oldest_sample_of_the_last_minute(admin: Client, stage: Stage) -> None:
    for _ in range(20):
        admin.send("orders")
    stage.broker.consumer_offsets.commit("g", "orders", 0, 1, "timer")
    admin.pull("g", "orders", 0)
    stage.pass_s(10)
    stats = ConsumeStats.decode(admin.call(RequestCode.GET_CONSUME_STATS, {"consumerGroup": "g"}).body)
    assert stats.consume_tps == 2.0
    assert stage.broker.store.stats.put_per_s("orders") == 2.0


def test_connections_of_a_group_are_listed_with_its_subscriptions(admin: Client) -> None:
    admin.heartbeat("c1", "g", "orders", expression="A")
    found = ConsumerConnection.decode(admin.call(RequestCode.GET_CONSUMER_CONNECTION_LIST, {"consumerGroup": "g"}).body)
    assert [(c.client_id, c.language, c.version) for c in found.connections] == [("c1", "JAVA", 409)]
    assert [sub.sub_string for sub in found.subscriptions] == ["A"]
    unknown = admin.call(RequestCode.GET_CONSUMER_CONNECTION_LIST, {"consumerGroup": "GID_none"})
    assert (unknown.code, unknown.remark) == (206, "the consumer group[GID_none] not online")


def test_connections_of_a_producer_group_are_listed(admin: Client) -> None:
    admin.heartbeat("c1", "g", "orders")
    found = ProducerConnection.decode(admin.call(RequestCode.GET_PRODUCER_CONNECTION_LIST, {"producerGroup": "P"}).body)
    assert [c.client_id for c in found.connections] == ["c1"]
    unknown = admin.call(RequestCode.GET_PRODUCER_CONNECTION_LIST, {"producerGroup": "PID_none"})
    assert (unknown.code, unknown.remark) == (1, "the producer group[PID_none] not exist")


def test_a_topic_knows_who_consumes_it(admin: Client, stage: Stage) -> None:
    admin.heartbeat("c1", "online", "orders")
    stage.broker.consumer_offsets.commit("offline", "orders", 0, 1, "timer")
    answer = admin.call(RequestCode.QUERY_TOPIC_CONSUME_BY_WHO, {"topic": "orders"})
    assert GroupList.decode(answer.body).groups == ("offline", "online")


def test_offsets_of_unknown_queues_are_zero_and_their_first_time_minus_one(admin: Client) -> None:
    ext = {"topic": "nowhere", "queueId": "0"}
    assert admin.call(RequestCode.GET_MAX_OFFSET, ext).ext == {"offset": "0"}
    assert admin.call(RequestCode.GET_MIN_OFFSET, ext).ext == {"offset": "0"}
    assert admin.call(RequestCode.GET_EARLIEST_MSG_STORETIME, ext).ext == {"timestamp": "-1"}


def test_a_time_finds_the_nearest_message(admin: Client, stage: Stage) -> None:
    times = []
    for _ in range(3):
        admin.send("orders")
        times.append(stage.time.clock.now_ms())
        stage.pass_s(10)
    for at_ms, offset in ((times[0] - 99, 0), (times[1] + 10, 1), (times[2] - 10, 2), (times[2] + 99_999, 2)):
        answer = admin.call(
            RequestCode.SEARCH_OFFSET_BY_TIMESTAMP, {"topic": "orders", "queueId": "0", "timestamp": str(at_ms)}
        )
        assert answer.ext == {"offset": str(offset)}


def test_a_message_is_found_by_key_and_by_id(admin: Client) -> None:
    admin.send("orders", b"other")
    admin.send("orders", b"wanted", properties="KEYS\x01k1 k2\x02UNIQ_KEY\x01U1")
    ext = {"topic": "orders", "key": "k2", "maxNum": "32", "beginTimestamp": "0", "endTimestamp": str(2**63 - 1)}
    answer = admin.call(RequestCode.QUERY_MESSAGE, ext)
    [found] = messages(answer)
    assert found.body == b"wanted"
    assert answer.ext is not None
    assert answer.ext["indexLastUpdatePhyoffset"] == str(found.physical_offset)
    unique = admin.call(RequestCode.QUERY_MESSAGE, {**ext, "key": "U1", "maxNum": "0", "_UNIQUE_KEY_QUERY": "true"})
    assert len(messages(unique)) == 1
    viewed = admin.call(RequestCode.VIEW_MESSAGE_BY_ID, {"offset": str(found.physical_offset)})
    assert viewed.body == answer.body


def test_a_key_and_a_place_without_message_have_their_codes(admin: Client) -> None:
    ext = {"topic": "orders", "key": "none", "maxNum": "32", "beginTimestamp": "0", "endTimestamp": "9"}
    missed = admin.call(RequestCode.QUERY_MESSAGE, ext)
    assert (missed.code, missed.remark) == (22, "can not find message, maybe time range not correct")
    assert missed.ext == {"indexLastUpdateTimestamp": "0", "indexLastUpdatePhyoffset": "0"}
    nowhere = admin.call(RequestCode.VIEW_MESSAGE_BY_ID, {"offset": "999999"})
    assert (nowhere.code, nowhere.remark) == (1, "can not find message by the offset, 999999")


def test_a_tag_subscription_passes_the_check_and_sql_does_not(admin: Client) -> None:
    tag = CheckClientBody("c1", "g", SubscriptionData("orders", "A || B"))
    sql = tag._replace(subscription=SubscriptionData("orders", "a > 1", expression_type="SQL92"))
    assert admin.call(RequestCode.CHECK_CLIENT_CONFIG, None, tag.encode()).code == 0
    refused = admin.call(RequestCode.CHECK_CLIENT_CONFIG, None, sql.encode())
    assert (refused.code, refused.remark) == (1, "The broker does not support consumer to filter message by SQL92")


def test_an_unknown_request_is_answered_with_3(admin: Client) -> None:
    answer = admin.call(9999)
    assert (answer.code, answer.remark) == (3, " request type 9999 not supported")


def test_a_handler_that_breaks_is_code_1_and_in_the_journal(
    admin: Client, stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("the index is upside down")

    monkeypatch.setattr(stage.broker.store, "query", broken)
    ext = {"topic": "orders", "key": "k", "maxNum": "1", "beginTimestamp": "0", "endTimestamp": "9"}
    answer = admin.call(RequestCode.QUERY_MESSAGE, ext)
    assert (answer.code, answer.remark) == (1, "RuntimeError: the index is upside down")
    assert [(e.node, e.request_code) for e in stage.events(HandlerFailed)] == [("broker-a", 12)]


def test_the_name_server_never_answers_what_it_does_not_know(stage: Stage) -> None:
    client = stage.client(address=NAME_SERVER)
    client.post(9999)
    stage.pass_s(10)
    assert client.answers == {}


def test_runtime_figures_have_what_the_cluster_list_reads(admin: Client, stage: Stage) -> None:
    admin.send("orders", properties="DELAY\x011")
    stage.pass_s(2)
    found = KVTable.decode(admin.call(RequestCode.GET_BROKER_RUNTIME_INFO).body).table
    for key in (
        "putTps",
        "getTransferedTps",
        "getTransferredTps",
        "sendThreadPoolQueueSize",
        "pageCacheLockTimeMills",
        "pullThreadPoolQueueSize",
        "sendThreadPoolQueueHeadWaitTimeMills",
        "commitLogDiskRatio",
        "pullThreadPoolQueueHeadWaitTimeMills",
        "msgPutTotalTodayMorning",
        "msgGetTotalTodayNow",
    ):
        float(found[key].split()[0])
    assert found["brokerVersionDesc"] == "V4_9_8"
    assert found["scheduleMessageOffset_1"] == "1,1"
    assert found["msgPutTotalTodayNow"] == "2"  # delayed, then delivered
    assert found["runtime"] == "[ 0 days, 0 hours, 0 minutes, 2 seconds ]"
    assert int(found["earliestMessageTimeStamp"]) == stage.time.clock.now_ms() - 2_000


def test_an_empty_broker_has_no_earliest_message(admin: Client) -> None:
    found = KVTable.decode(admin.call(RequestCode.GET_BROKER_RUNTIME_INFO).body).table
    assert found["earliestMessageTimeStamp"] == "-1"


def test_positions_of_a_group_are_cloned(admin: Client, stage: Stage) -> None:
    stage.broker.consumer_offsets.commit("g", "orders", 2, 7, "timer")
    stage.broker.consumer_offsets.commit("g", "gone", 0, 1, "timer")
    assert admin.call(RequestCode.CLONE_GROUP_OFFSET, {"srcGroup": "g", "destGroup": "h", "offline": "true"}).code == 0
    assert stage.broker.consumer_offsets.get("h", "orders", 2) == 7
    assert stage.broker.consumer_offsets.get("h", "gone", 0) is None


def test_producers_are_listed_by_group(admin: Client) -> None:
    admin.heartbeat("c1", "g", "orders")
    [row] = loads(admin.call(RequestCode.GET_ALL_PRODUCER_INFO).body)["data"]["P"]
    assert (row["clientId"], row["language"]) == ("c1", "JAVA")


def test_queues_of_forgotten_topics_are_cleaned_up_and_others_stay(admin: Client, stage: Stage) -> None:
    admin.send("orders")
    admin.send("fresh")
    stage.broker.topics.delete("fresh")
    assert admin.call(RequestCode.CLEAN_UNUSED_TOPIC).code == 0
    assert list(stage.broker.store.queues()) == [("orders", 0)]


def test_expired_log_files_are_deleted_when_asked_and_only_those() -> None:
    stage = Stage(store=small_store(commit_log_file_bytes=4_096, max_message_bytes=2_048))
    client = stage.client()
    for _ in range(12):
        client.send("TBW102", bytes(1_000))
    assert client.call(RequestCode.DELETE_EXPIRED_COMMITLOG).code == 0
    assert stage.broker.store.min_physical_offset == 0
    stage.broker.store.age_files(100)
    client.call(RequestCode.DELETE_EXPIRED_COMMITLOG)
    assert stage.broker.store.min_physical_offset > 0
    assert client.call(RequestCode.CLEAN_EXPIRED_CONSUMEQUEUE).code == 0
