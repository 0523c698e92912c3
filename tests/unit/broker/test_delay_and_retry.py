"""Delay levels, retries and dead letters."""

import pytest

from sandbox.journal.events import DelayedMessageDue, MessageDeadLettered, MessageRetried, TopicChanged
from sandbox.message import msg_id
from sandbox.message.message import InboundMessage, StoredMessage
from sandbox.remoting.codes import RequestCode
from sandbox.remoting.command import RemotingCommand
from sandbox.remoting.headers import SendBackHeader
from sandbox.store.results import PutMessageStatus, PutResult
from tests.unit.broker.stage import Client, Stage, messages


def read(client: Client, topic: str, queue: int = 0) -> list[StoredMessage]:
    return messages(client.pull("reader", topic, 0, queue=queue))


def place(answer: RemotingCommand) -> int:
    assert answer.ext is not None
    return msg_id.decode(answer.ext["msgId"]).physical_offset


def send_back(
    client: Client, offset: int, *, level: int = 0, most: int | None = 16, version: int = 409
) -> RemotingCommand:
    header = SendBackHeader(offset, "g", level, max_reconsume_times=most)
    return client.call(RequestCode.CONSUMER_SEND_MSG_BACK, header.to_ext(), version=version)


def test_a_delayed_message_waits_in_the_queue_of_its_level(client: Client) -> None:
    answer = client.send("orders", queue=2, properties="TAGS\x01A\x02DELAY\x013\x02WAIT\x01true")
    assert answer.code == 0
    assert answer.ext is not None
    assert answer.ext["queueId"] == "2"
    [waiting] = read(client, "SCHEDULE_TOPIC_XXXX", queue=2)
    assert waiting.properties == {
        "TAGS": "A",
        "DELAY": "3",
        "WAIT": "true",
        "CLUSTER": "DefaultCluster",
        "REAL_TOPIC": "orders",
        "REAL_QID": "2",
    }
    assert read(client, "orders", queue=2) == []


def test_it_is_delivered_when_its_level_is_over_and_keeps_its_text(client: Client, stage: Stage) -> None:
    born_ms = stage.time.clock.now_ms()
    client.send("orders", b"later", queue=2, properties="DELAY\x013\x02TAGS\x01A")
    stage.pass_s(9.99)
    assert read(client, "orders", queue=2) == []
    stage.pass_s(0.11)
    [delivered] = read(client, "orders", queue=2)
    assert (delivered.body, delivered.born_ms, delivered.properties["DELAY"]) == (b"later", born_ms, "3")
    [due] = stage.events(DelayedMessageDue)
    assert (due.delay_level, due.delay_offset, due.topic, due.queue_id) == (3, 0, "orders", 2)


def test_a_delivered_message_wakes_who_waits_for_it(client: Client, stage: Stage) -> None:
    client.send("orders", properties="DELAY\x011")
    opaque = client.park("g", "orders", 0)
    stage.pass_s(1.2)
    assert len(messages(client.answers[opaque])) == 1


def test_a_level_beyond_the_last_is_the_last(client: Client) -> None:
    client.send("orders", properties="DELAY\x0199")
    [waiting] = read(client, "SCHEDULE_TOPIC_XXXX", queue=17)
    assert waiting.properties["DELAY"] == "18"


def test_many_due_at_once_all_arrive_in_order(client: Client, stage: Stage) -> None:
    for n in range(30):
        client.send("orders", b"%d" % n, properties="DELAY\x011")
    stage.pass_s(1.2)
    assert [m.body for m in read(client, "orders")] == [b"%d" % n for n in range(30)]


def test_what_was_delivered_stays_delivered_over_a_restart(client: Client, stage: Stage) -> None:
    client.send("orders", properties="DELAY\x011")
    client.send("orders", properties="DELAY\x012")
    stage.pass_s(2)
    stage.stop_broker()
    stage.start_broker()
    stage.pass_s(10)
    assert len(read(stage.client(), "orders")) == 2


def test_a_message_that_fell_due_while_the_broker_was_down_comes_a_second_after_the_start(
    client: Client, stage: Stage
) -> None:
    client.send("orders", properties="DELAY\x011")
    stage.stop_broker()
    stage.pass_s(60)
    stage.start_broker()
    again = stage.client()
    stage.pass_s(0.9)
    assert read(again, "orders") == []
    stage.pass_s(0.2)
    assert len(read(again, "orders")) == 1


def test_a_message_sent_back_comes_again_after_ten_seconds_in_the_retry_topic(client: Client, stage: Stage) -> None:
    sent = client.send("orders", b"try me", queue=1, properties="TAGS\x01A")
    assert sent.ext is not None
    assert send_back(client, place(sent)).code == 0
    stage.pass_s(9.9)
    assert read(client, "%RETRY%g") == []
    stage.pass_s(0.3)
    [again] = read(client, "%RETRY%g")
    assert (again.body, again.reconsume_times) == (b"try me", 1)
    assert again.properties["RETRY_TOPIC"] == "orders"
    assert again.properties["ORIGIN_MESSAGE_ID"] == sent.ext["msgId"]
    assert (again.properties["DELAY"], again.properties["WAIT"]) == ("3", "false")
    [reported] = stage.events(MessageRetried)
    assert (reported.topic, reported.queue_id, reported.offset) == ("orders", 1, 0)
    assert (reported.delay_level, reported.target) == (3, "broker")


def test_the_second_retry_waits_a_level_longer_and_remembers_its_first_id(client: Client, stage: Stage) -> None:
    sent = client.send("orders")
    send_back(client, place(sent))
    stage.pass_s(10.2)
    [first] = read(client, "%RETRY%g")
    send_back(client, first.physical_offset)
    stage.pass_s(29)
    assert len(read(client, "%RETRY%g")) == 1
    stage.pass_s(1.2)
    second = read(client, "%RETRY%g")[1]
    assert second.reconsume_times == 2
    assert second.properties["ORIGIN_MESSAGE_ID"] == first.properties["ORIGIN_MESSAGE_ID"]
    assert second.properties["RETRY_TOPIC"] == "orders"


def test_a_level_the_consumer_names_is_taken(client: Client, stage: Stage) -> None:
    send_back(client, place(client.send("orders")), level=1)
    stage.pass_s(1.2)
    assert len(read(client, "%RETRY%g")) == 1


@pytest.mark.parametrize(("level", "most"), [(-1, 16), (0, 0)])
def test_who_gives_up_sends_to_the_dead_letters(client: Client, stage: Stage, level: int, most: int) -> None:
    send_back(client, place(client.send("orders", b"dead")), level=level, most=most)
    [dead] = read(client, "%DLQ%g")
    assert (dead.body, dead.reconsume_times, dead.properties["DELAY"]) == (b"dead", 1, "0")
    [reported] = stage.events(MessageDeadLettered)
    assert (reported.group, reported.topic, reported.offset) == ("g", "orders", 0)
    assert ("%DLQ%g", 6, "dead_letter") in [(e.topic, e.permission, e.how) for e in stage.events(TopicChanged)]


def test_an_old_clients_limit_is_not_heard(client: Client) -> None:
    send_back(client, place(client.send("orders")), most=0, version=63)
    assert len(read(client, "SCHEDULE_TOPIC_XXXX", queue=2)) == 1


def test_a_place_where_no_message_begins_cannot_be_sent_back(client: Client) -> None:
    answer = send_back(client, 99_999_999)
    assert (answer.code, answer.remark) == (1, "look message by offset failed, 99999999")


def test_a_group_without_retry_queues_retries_nothing(client: Client, stage: Stage) -> None:
    stage.broker.subscription_groups.find("g")
    stage.broker.subscription_groups.change("g", retry_queues=0)
    before = stage.broker.store.max_physical_offset
    assert send_back(client, 0).code == 0
    assert stage.broker.store.max_physical_offset == before


def test_a_retry_sent_as_a_message_too_often_goes_to_the_dead_letters(client: Client) -> None:
    answer = client.send(
        "%RETRY%g",
        b"orderly",
        properties="RETRY_TOPIC\x01orders\x02DELAY\x013",
        reconsume_times=3,
        max_reconsume_times=3,
    )
    assert answer.code == 0
    [dead] = read(client, "%DLQ%g")
    assert (dead.body, dead.properties["DELAY"]) == (b"orderly", "0")


def test_the_offsets_of_the_levels_can_be_asked_for(client: Client, stage: Stage) -> None:
    client.send("orders", properties="DELAY\x011")
    stage.pass_s(1.2)
    assert client.call(RequestCode.GET_ALL_DELAY_OFFSET).body == b'{"offsetTable":{"1":1}}'


def test_a_delivery_the_disk_refuses_is_tried_again(
    client: Client, stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.send("orders", properties="DELAY\x011")
    with monkeypatch.context() as full:
        full.setattr(stage.broker.store, "put_message", lambda _: PutResult(PutMessageStatus.SERVICE_NOT_AVAILABLE))
        stage.pass_s(5)
    assert read(client, "orders") == []
    stage.pass_s(0.2)
    assert len(read(client, "orders")) == 1


def test_a_level_that_stumbles_rests_ten_seconds(client: Client, stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    def stumble(_: int) -> None:
        raise RuntimeError("unreadable")

    client.send("orders", properties="DELAY\x011")
    with monkeypatch.context() as broken:
        broken.setattr(stage.broker.store, "read_message", stumble)
        stage.pass_s(1.2)
    stage.pass_s(9.7)
    assert read(client, "orders") == []
    stage.pass_s(0.3)
    assert len(read(client, "orders")) == 1


def test_a_delayed_message_that_no_store_takes_holds_up_no_other(client: Client, stage: Stage) -> None:
    text = f"DELAY\x011\x02REAL_TOPIC\x01{'t' * 128}\x02REAL_QID\x010".encode()
    stage.broker.store.put_message(InboundMessage("SCHEDULE_TOPIC_XXXX", 0, b"long", text, 0, 0, 0, 0, bytes(8)))
    client.send("orders", b"found", properties="DELAY\x011")
    stage.pass_s(1.2)
    assert [m.body for m in read(client, "orders")] == [b"found"]


@pytest.mark.parametrize("group", ["../../x", "a/b", "a\0b", "a\x02b", "\ud800"])
def test_a_group_no_directory_can_be_named_for_gets_no_retry_topic(client: Client, stage: Stage, group: str) -> None:
    header = SendBackHeader(place(client.send("orders")), group, 0, max_reconsume_times=16)
    assert client.call(RequestCode.CONSUMER_SEND_MSG_BACK, header.to_ext()).code == 26
    assert [topic for topic in stage.broker.topics.table if group in topic] == []


def test_a_retry_topic_longer_than_topics_are_is_refused_at_once(client: Client, stage: Stage) -> None:
    header = SendBackHeader(place(client.send("orders")), "g" * 121, 0, max_reconsume_times=16)
    assert client.call(RequestCode.CONSUMER_SEND_MSG_BACK, header.to_ext()).code == 13
    assert read(client, "SCHEDULE_TOPIC_XXXX", queue=2) == []


def test_a_delayed_message_without_destination_is_discarded(client: Client, stage: Stage) -> None:
    lost = InboundMessage("SCHEDULE_TOPIC_XXXX", 0, b"lost", b"DELAY\x011", 0, 0, 0, 0, bytes(8))
    stage.broker.store.put_message(lost)
    client.send("orders", b"found", properties="DELAY\x011")
    stage.pass_s(1.2)
    assert [m.body for m in read(client, "orders")] == [b"found"]
    assert stage.broker.delay.table == {1: 2}
