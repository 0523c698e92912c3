"""Responses to a producer's sends."""

import pytest

from sandbox.broker.config import BrokerLimits
from sandbox.journal.events import DelayIgnored, HandlerFailed, LimitReached, MessagesStored, TopicChanged
from sandbox.message import batch, msg_id, record
from sandbox.message.message import StoredMessage
from sandbox.remoting.codes import RequestCode
from sandbox.remoting.exchange import End
from sandbox.remoting.headers import SendHeader
from tests.unit.broker.stage import BROKER, Client, Stage, small_store


@pytest.fixture
def producer(stage: Stage) -> Client:
    return stage.client()


def stored(stage: Stage, answer_msg_id: str) -> StoredMessage:
    raw = stage.broker.store.read(msg_id.decode(answer_msg_id).physical_offset)
    assert raw is not None
    return record.decode(raw)


def test_the_answer_names_queue_offset_and_place_in_the_log(producer: Client, stage: Stage) -> None:
    first, second = producer.send("orders", queue=2), producer.send("orders", queue=2)
    assert first.code == second.code == 0
    assert first.ext is not None
    assert second.ext is not None
    assert (second.ext["queueId"], second.ext["queueOffset"]) == ("2", "1")
    assert (second.ext["MSG_REGION"], second.ext["TRACE_ON"]) == ("DefaultRegion", "true")
    place = msg_id.decode(second.ext["msgId"])
    assert msg_id.host_text(place.host) == BROKER
    assert stored(stage, second.ext["msgId"]).queue_offset == 1


def test_the_record_has_no_wait_and_has_the_cluster(producer: Client, stage: Stage) -> None:
    answer = producer.send("orders", properties="KEYS\x01k1\x02WAIT\x01true\x02TAGS\x01A")
    assert answer.ext is not None
    assert stored(stage, answer.ext["msgId"]).properties == {"KEYS": "k1", "TAGS": "A", "CLUSTER": "DefaultCluster"}


def test_the_record_reports_where_it_was_born(producer: Client, stage: Stage) -> None:
    answer = producer.send("orders")
    assert answer.ext is not None
    assert stored(stage, answer.ext["msgId"]).born_host.startswith("127.0.0.1:")


def test_a_long_header_is_no_reason_to_close_and_long_properties_are_code_13() -> None:
    """Control characters between properties are six letters each in a JSON header (RocketMQ: frames have one limit)."""
    stage = Stage(wire=True)
    stage.topic("orders")
    producer = stage.client()
    pairs = "\x02".join(f"k{n:04}\x01v" for n in range(4_000))
    assert 31_000 < len(pairs) <= record.MAX_PROPERTIES_BYTES
    assert producer.send("orders", properties=pairs).code == 0
    assert producer.send("orders", properties=pairs + "\x02more\x01" + "v" * 1_000).code == 13
    assert producer.send("orders").code == 0, "the connection is still open"


def test_the_old_header_is_understood_too(producer: Client) -> None:
    header = SendHeader("P", "orders", "TBW102", 4, 1, 0, 0, 0, "")
    answer = producer.call(RequestCode.SEND_MESSAGE, header.to_v1_ext(), b"v1")
    assert (answer.code, answer.ext and answer.ext["queueId"]) == (0, "1")


def test_a_negative_queue_lets_the_broker_choose_a_write_queue(producer: Client) -> None:
    chosen = {(producer.send("orders", queue=-1).ext or {})["queueId"] for _ in range(40)}
    assert chosen == {"0", "1", "2", "3"}


def test_a_queue_beyond_both_counts_is_refused_in_rocketmqs_words(producer: Client) -> None:
    answer = producer.send("orders", queue=99)
    assert answer.code == 1
    assert answer.remark is not None
    assert answer.remark.startswith(
        "request queueId[99] is illegal, TopicConfig [topicName=orders, readQueueNums=4, writeQueueNums=4, perm=RW-, "
        "topicFilterType=SINGLE_TAG, topicSysFlag=0, order=false] Producer: 127.0.0.1:"
    )
    assert answer.ext == {"MSG_REGION": "DefaultRegion", "TRACE_ON": "true"}


@pytest.mark.parametrize(
    ("topic", "code", "remark"),
    [
        ("SCHEDULE_TOPIC_XXXX", 16, "Sending message to topic[SCHEDULE_TOPIC_XXXX] is forbidden."),
        ("a b", 1, "The specified topic contains illegal characters, allowing only ^[%|a-zA-Z0-9_-]+$"),
        ("x" * 128, 1, "The specified topic is longer than topic max length."),
        (" ", 1, "The specified topic is blank."),
    ],
)
def test_a_topic_that_cannot_be_sent_to_is_refused(producer: Client, topic: str, code: int, remark: str) -> None:
    answer = producer.send(topic)
    assert (answer.code, answer.remark) == (code, remark)


def test_a_permission_of_the_topic_is_the_clients_affair(producer: Client, stage: Stage) -> None:
    stage.broker.create_topic(stage.broker.topics.table["orders"]._replace(permission=4))
    assert producer.send("orders").code == 0


def test_an_unknown_topic_makes_itself_after_its_template(producer: Client, stage: Stage) -> None:
    assert producer.send("fresh").code == 0
    made = stage.broker.topics.table["fresh"]
    assert (made.read_queues, made.write_queues, made.permission) == (4, 4, 6)
    assert [e.how for e in stage.events(TopicChanged) if e.topic == "fresh"] == ["automatic"]
    assert stage.name_server.route_info.route("fresh") is not None


@pytest.mark.seed("3.9")
def test_without_auto_creation_an_unknown_topic_is_refused() -> None:
    answer = Stage(auto_create_topic=False).client().send("fresh")
    assert (answer.code, answer.remark) == (
        17,
        "topic[fresh] not exist, apply first please!\nSee http://rocketmq.apache.org/docs/faq/ for further details.",
    )


def test_a_body_too_large_is_illegal(producer: Client) -> None:
    answer = producer.send("orders", b"x" * 65_537)
    assert (answer.code, answer.remark) == (
        13,
        "the message is illegal, maybe msg body or properties length not matched. "
        "msg body length limit 65536B, msg properties length limit 32KB.",
    )


def test_properties_beyond_a_short_are_illegal(producer: Client) -> None:
    assert producer.send("orders", properties="a\x01" + "x" * 32_768).code == 13


def test_a_missing_field_is_code_1_and_no_failure_of_ours(producer: Client, stage: Stage) -> None:
    answer = producer.call(RequestCode.SEND_MESSAGE, {"topic": "orders"}, b"x")
    assert answer.code == 1
    assert stage.events(HandlerFailed) == []


def test_a_transaction_is_refused_where_they_are_not_wanted() -> None:
    answer = Stage(reject_transaction=True).client().send("orders", properties="TRAN_MSG\x01true\x02PGROUP\x01P")
    assert (answer.code, answer.remark) == (16, "the broker[127.0.0.2] sending transaction message is forbidden")


def test_a_batch_takes_consecutive_offsets_and_answers_all_ids(producer: Client, stage: Stage) -> None:
    items = [batch.BatchItem(0, b"one", b"KEYS\x01k1\x02WAIT\x01true"), batch.BatchItem(0, b"two", b"TAGS\x01B")]
    header = SendHeader("P", "orders", "TBW102", 4, 1, 0, 0, 0, "WAIT\x01true", batch=True)
    answer = producer.call(RequestCode.SEND_BATCH_MESSAGE, header.to_ext(), batch.encode(items))
    assert answer.code == 0
    assert answer.ext is not None
    assert answer.ext["queueOffset"] == "0"
    found = [stored(stage, one) for one in answer.ext["msgId"].split(",")]
    assert [(m.body, m.queue_offset) for m in found] == [(b"one", 0), (b"two", 1)]
    assert found[1].properties == {"TAGS": "B", "CLUSTER": "DefaultCluster", "WAIT": "true"}
    assert [e.count for e in stage.events(MessagesStored)] == [2]


def test_a_broken_batch_is_refused_whole(producer: Client, stage: Stage) -> None:
    header = SendHeader("P", "orders", "TBW102", 4, 1, 0, 0, 0, "", batch=True)
    assert producer.call(RequestCode.SEND_BATCH_MESSAGE, header.to_ext(), b"\0\0\0\x09junk").code == 1
    assert producer.call(RequestCode.SEND_BATCH_MESSAGE, header.to_ext(), b"").code == 13
    assert stage.broker.store.max_physical_offset == 0


def test_the_largest_batch_still_gets_its_answer_over_the_wire() -> None:
    stage = Stage(wire=True)
    producer = stage.client()
    header = SendHeader("P", "TBW102", "TBW102", 4, 1, 0, 0, 0, "", batch=True)
    most = batch.encode([batch.BatchItem(0, b"", b"")] * 1_900)
    assert producer.call(RequestCode.SEND_BATCH_MESSAGE, header.to_ext(), most).code == 0
    assert producer.call(RequestCode.SEND_BATCH_MESSAGE, header.to_ext(), most + most[:22]).code == 13


def test_a_one_way_send_is_stored_and_not_answered(producer: Client, stage: Stage) -> None:
    producer.oneway(RequestCode.SEND_MESSAGE_V2, SendHeader("P", "orders", "TBW102", 4, 0, 0, 0, 0, "").to_ext(), b"x")
    assert producer.answers == {}
    assert stage.broker.store.max_offset("orders", 0) == 1


def test_a_batch_of_commands_is_one_turn_and_one_event_per_queue(producer: Client, stage: Stage) -> None:
    for n in range(6):
        header = SendHeader("P", "orders", "TBW102", 4, n % 2, 0, 0, 0, "")
        producer.post(RequestCode.SEND_MESSAGE_V2, header.to_ext(), b"x")
    stage.settle()
    assert len(producer.answers) == 6
    assert sorted((e.queue_id, e.first_offset, e.count) for e in stage.events(MessagesStored)) == [(0, 0, 3), (1, 0, 3)]


@pytest.mark.seed("3.14")
def test_a_synchronous_flush_answers_when_the_log_is_durable() -> None:
    stage = Stage(store=small_store(flush="SYNC_FLUSH"))
    stage.topic("orders")
    producer = stage.client()
    opaque = producer.post(RequestCode.SEND_MESSAGE_V2, SendHeader("P", "orders", "TBW102", 4, 0, 0, 0, 0, "").to_ext())
    stage.pass_s(0.1)
    assert producer.answers[opaque].code == 0
    assert stage.broker.store.flushed_offset == stage.broker.store.max_physical_offset


@pytest.mark.seed("3.14")
def test_a_flush_that_does_not_come_is_status_10_and_the_message_is_stored() -> None:
    stage = Stage(store=small_store(flush="SYNC_FLUSH"))
    stage.topic("orders")
    producer = stage.client()
    stage.disk.broken_sync = True
    opaque = producer.post(RequestCode.SEND_MESSAGE_V2, SendHeader("P", "orders", "TBW102", 4, 0, 0, 0, 0, "").to_ext())
    stage.pass_s(6)
    answer = producer.answers[opaque]
    assert answer.code == 10
    assert answer.ext is not None
    assert answer.ext["queueOffset"] == "0"
    assert stage.broker.store.max_offset("orders", 0) == 1


def test_more_messages_a_second_than_allowed_over_the_wire_are_refused_and_said_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(End, "transport_kind", "tcp")
    stage = Stage(limits=BrokerLimits(messages_per_s=3))
    stage.topic("orders")
    producer = stage.client()
    assert [producer.send("orders").code for _ in range(5)] == [0, 0, 0, 2, 2]
    assert [(e.limit, e.allowed) for e in stage.events(LimitReached)] == [("stored_messages_per_s", 3)]
    stage.pass_s(1)
    assert producer.send("orders").code == 0


def test_more_topics_than_allowed_do_not_make_themselves() -> None:
    stage = Stage(limits=BrokerLimits(topics=1))
    producer = stage.client()
    assert producer.send("one").code == 0
    assert producer.send("two").code == 17
    assert [(e.limit, e.value) for e in stage.events(LimitReached)] == [("topics", 2)]


def test_a_stopped_broker_closes_its_connections(producer: Client, stage: Stage) -> None:
    stage.stop_broker()
    assert producer.closed


@pytest.mark.parametrize("name", ["TIMER_DELIVER_MS", "TIMER_DELAY_MS", "TIMER_DELAY_SEC"])
def test_a_delay_by_time_is_not_served_and_that_is_said_once_a_second(client: Client, stage: Stage, name: str) -> None:
    for _ in range(3):
        assert client.send("T", properties=f"WAIT\x01true\x02{name}\x0160").code == 0
    [said] = stage.time.events(DelayIgnored)
    assert said == DelayIgnored("T", "broker-a", name, "60", client.channel.local)
    stage.time.pass_s(1)
    client.send("T", properties=f"{name}\x0160")
    assert len(stage.time.events(DelayIgnored)) == 2
    assert client.pull("g", "T", 0).code == 0, "delivered at once"
