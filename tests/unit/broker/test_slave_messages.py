"""A slave's responses to sends and pulls."""

import pytest

from sandbox.journal.events import BrokerStarted, DelayedMessageDue
from sandbox.message import properties as props
from sandbox.remoting.bodies import TopicConfig
from sandbox.remoting.codes import RequestCode, ResponseCode
from sandbox.remoting.headers import SendHeader
from tests.unit.broker.slave_stage import MASTER, SLAVE, SlaveStage
from tests.unit.broker.stage import Client, messages, small_store

FLAG_COMMIT = 1
FLAG_SUBSCRIPTION = 4


def stocked(count: int = 3, **config: object) -> SlaveStage:
    """A pair in step, with so many messages in queue 0 of `orders`."""
    stage = SlaveStage(**config)
    stage.master.create_topic(TopicConfig("orders", 4, 4))
    stage.follow()
    client = stage.client()
    for number in range(count):
        assert client.send("orders", f"m{number}".encode()).code == ResponseCode.SUCCESS
    stage.pass_s(0.2)
    return stage


def send(stage: SlaveStage, client: Client, properties: str = "WAIT\x01true") -> int:
    """Post one message; the answer may come later."""
    header = SendHeader("P", "orders", "TBW102", 4, 0, 0, stage.time.clock.now_ms(), 0, properties)
    opaque = client.post(RequestCode.SEND_MESSAGE_V2, header.to_ext(), b"hello")
    stage.settle()
    return opaque


def test_a_slave_gives_out_what_its_master_stored_also_without_slave_read() -> None:
    stage = stocked()
    answer = stage.client(SLAVE).pull("g", "orders", 0)
    assert (answer.code, [m.body for m in messages(answer)]) == (0, [b"m0", b"m1", b"m2"])
    assert answer.ext is not None
    assert answer.ext["suggestWhichBrokerId"] == "0"


def test_a_slave_refuses_to_store() -> None:
    stage = stocked()
    answer = stage.client(SLAVE).send("orders")
    assert answer.code == ResponseCode.SERVICE_NOT_AVAILABLE
    assert answer.remark is not None
    assert "slave" in answer.remark


@pytest.mark.parametrize("offset", [1, 99])
def test_a_slave_does_not_correct_an_offset_it_does_not_know(offset: int) -> None:
    stage = stocked(0)
    answer = stage.client(SLAVE).pull("g", "orders", offset)
    assert (answer.code, answer.ext and answer.ext["nextBeginOffset"]) == (20, str(offset))
    assert answer.remark == "NO_MESSAGE_IN_QUEUE"


def test_a_slave_that_lags_says_ask_again_where_a_master_would_send_back() -> None:
    stage = stocked(3)
    answer = stage.client(SLAVE).pull("g", "orders", 8)
    assert (answer.code, answer.remark) == (20, "OFFSET_OVERFLOW_BADLY")
    assert answer.ext is not None
    assert answer.ext["nextBeginOffset"] == "8"
    assert stage.client().pull("g", "orders", 8).code == ResponseCode.PULL_OFFSET_MOVED


def test_with_offset_check_a_slave_corrects_as_a_master_does() -> None:
    stage = stocked(3, offset_check_in_slave=True)
    answer = stage.client(SLAVE).pull("g", "orders", 8)
    assert (answer.code, answer.ext and answer.ext["nextBeginOffset"]) == (21, "3")


def test_a_slave_ignores_the_offset_a_pull_carries() -> None:
    stage = stocked()
    stage.client(SLAVE).pull("g", "orders", 0, flags=FLAG_COMMIT | FLAG_SUBSCRIPTION, commit=2)
    assert stage.slave.consumer_offsets.get("g", "orders", 0) is None
    stage.client().pull("g", "orders", 0, flags=FLAG_COMMIT | FLAG_SUBSCRIPTION, commit=2)
    assert stage.master.consumer_offsets.get("g", "orders", 0) == 2


def test_a_pull_parked_at_a_slave_is_woken_by_the_scan_alone() -> None:
    stage = stocked()
    client = stage.client(SLAVE)
    stage.pass_s(5 - stage.time.loop.time() % 5)  # right after a scan
    opaque = client.park("g", "orders", 3)
    assert stage.client().send("orders", b"m3").code == 0
    stage.pass_s(4.5)
    assert stage.slave.store.max_offset("orders", 0) == 4
    assert opaque not in client.answers
    stage.pass_s(0.5)
    assert [m.body for m in messages(client.answers[opaque])] == [b"m3"]


def test_a_slave_delivers_no_delayed_message_but_has_its_copy() -> None:
    stage = stocked(0)
    assert stage.client().send("orders", b"late", properties=props.encode({"DELAY": "1"})).code == 0
    stage.pass_s(2)
    assert len(stage.events(DelayedMessageDue)) == 1
    assert [m.body for m in messages(stage.client(SLAVE).pull("g", "orders", 0))] == [b"late"]


def test_a_master_suggests_the_slave_to_who_reads_what_is_long_gone_from_memory() -> None:
    old = small_store(memory_bytes=4_000)  # 1 600 bytes count as in memory
    stage = stocked(40, store=old, slave_read=True)
    assert stage.client().pull("g", "orders", 0).ext == {
        "suggestWhichBrokerId": "1",
        "nextBeginOffset": "8",
        "minOffset": "0",
        "maxOffset": "40",
    }
    near = stage.client().pull("g", "orders", 38)
    assert near.ext is not None
    assert near.ext["suggestWhichBrokerId"] == "0"


def test_without_slave_read_a_master_never_suggests_a_slave() -> None:
    stage = stocked(40, store=small_store(memory_bytes=4_000))
    answer = stage.client().pull("g", "orders", 0)
    assert answer.ext is not None
    assert answer.ext["suggestWhichBrokerId"] == "0"


@pytest.mark.seed("3.13", "D37")
def test_a_sync_master_waits_for_the_slave_and_no_longer_than_three_seconds() -> None:
    stage = stocked(1, store=small_store(replication="SYNC_MASTER"))
    client = stage.client()
    assert client.answers[send(stage, client)].code == ResponseCode.SUCCESS
    stage.network.partition("10.0.0.1", "10.0.0.2")
    opaque = send(stage, client)
    stage.pass_s(2.9)
    assert opaque not in client.answers
    stage.pass_s(0.2)
    answer = client.answers[opaque]
    assert answer.code == ResponseCode.FLUSH_SLAVE_TIMEOUT
    assert answer.ext is not None
    assert answer.ext["queueOffset"] == "2"
    assert len(messages(stage.client().pull("g", "orders", 0))) == 3, "it is stored all the same"


@pytest.mark.seed("3.13", "D37")
def test_with_its_slave_stopped_a_sync_master_answers_at_once_that_there_is_none() -> None:
    stage = stocked(1, store=small_store(replication="SYNC_MASTER"))
    assert [event.role for event in stage.events(BrokerStarted)] == ["SYNC_MASTER", "SLAVE"]
    stage.end(stage.slave)
    answer = stage.client().send("orders")
    assert answer.code == ResponseCode.SLAVE_NOT_AVAILABLE
    assert answer.ext is not None
    assert answer.ext["queueOffset"] == "1"


@pytest.mark.seed("3.13")
@pytest.mark.parametrize("mode", ["ASYNC_MASTER", "SYNC_MASTER"])
def test_who_does_not_want_to_wait_does_not(mode: str) -> None:
    stage = stocked(1, store=small_store(replication=mode))
    stage.end(stage.slave)
    answer = stage.client().send("orders", properties="WAIT\x01false" if mode == "SYNC_MASTER" else "WAIT\x01true")
    assert answer.code == ResponseCode.SUCCESS


def test_a_hung_slave_acknowledges_nothing_until_it_goes_on() -> None:
    stage = stocked(1, store=small_store(replication="SYNC_MASTER"))
    stage.slave.hang()
    client = stage.client()
    opaque = send(stage, client)
    stage.pass_s(3.1)
    assert client.answers[opaque].code == ResponseCode.FLUSH_SLAVE_TIMEOUT
    assert stage.slave.store.max_offset("orders", 0) == 1
    stage.slave.resume()
    stage.settle()
    assert stage.slave.store.max_offset("orders", 0) == 2
    assert client.answers[send(stage, client)].code == ResponseCode.SUCCESS


def test_a_slave_that_hung_for_long_begins_a_new_link() -> None:
    stage = stocked()
    stage.slave.hang()
    stage.client().send("orders", b"m3")
    stage.pass_s(30)
    assert stage.master.store.ha.slaves() == [], "the master has given it up"
    stage.slave.resume()
    stage.pass_s(5.2)
    assert stage.slave.store.max_offset("orders", 0) == 4


def test_started_as_a_master_a_slave_takes_messages_and_goes_on_with_the_delays() -> None:
    stage = stocked(2)
    assert stage.client().send("orders", b"late", properties=props.encode({"DELAY": "5"})).code == 0
    stage.pass_s(11)
    stage.end(stage.master, kill=True)
    stage.end(stage.slave)
    stage.start(SLAVE, 0)
    assert stage.client(SLAVE).send("orders", b"m2").code == ResponseCode.SUCCESS
    stage.pass_s(60)
    bodies = [m.body for m in messages(stage.client(SLAVE).pull("g", "orders", 0))]
    assert bodies == [b"m0", b"m1", b"m2", b"late"]
    assert MASTER not in stage.name_server.route_info.live
