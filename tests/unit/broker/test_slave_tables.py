"""Tables that a slave copies from its master beside the log, and tables that it leaves to it."""

import pytest

from sandbox.journal.events import BrokerStarted, GroupChanged, TopicChanged
from sandbox.remoting.bodies import TopicConfig
from sandbox.remoting.codes import RequestCode, ResponseCode
from sandbox.remoting.headers import DeleteGroupHeader, TopicHeader, UpdateOffsetHeader
from sandbox.remoting.json_body import dumps
from tests.unit.broker.slave_stage import MASTER, SLAVE, SlaveStage

CREATE = {
    "topic": "new",
    "defaultTopic": "TBW102",
    "readQueueNums": "4",
    "writeQueueNums": "4",
    "perm": "6",
    "topicFilterType": "SINGLE_TAG",
}


def test_a_registration_says_who_the_slave_s_master_is() -> None:
    stage = SlaveStage()
    assert stage.slave.replica is not None
    assert stage.slave.slave_sync is not None
    assert stage.slave.replica.master_address == "10.0.0.1:10912"
    assert stage.slave.slave_sync.master_address == MASTER
    assert stage.master.replica is None


def test_each_says_at_its_start_what_it_is() -> None:
    roles = [(event.broker_id, event.role) for event in SlaveStage().events(BrokerStarted)]
    assert roles == [(0, "ASYNC_MASTER"), (1, "SLAVE")]


def test_tables_arrive_after_three_seconds_and_then_every_ten() -> None:
    stage = SlaveStage()
    stage.master.create_topic(TopicConfig("orders", 4, 4))
    stage.pass_s(2.9)
    assert "orders" not in stage.slave.topics.table
    stage.pass_s(0.2)
    assert stage.slave.topics.table == stage.master.topics.table
    assert stage.slave.topics.version == stage.master.topics.version
    stage.master.create_topic(TopicConfig("late", 2, 2))
    stage.pass_s(9.8)
    assert "late" not in stage.slave.topics.table
    stage.pass_s(0.2)
    assert "late" in stage.slave.topics.table


def test_topics_and_groups_are_replaced_whole() -> None:
    stage = SlaveStage()
    stage.master.create_topic(TopicConfig("orders", 4, 4))
    stage.master.subscription_groups.find("kept")
    stage.pass_s(3.1)
    stage.master.delete_topic("orders")
    stage.master.subscription_groups.delete("kept")
    stage.master.subscription_groups.find("other")
    stage.pass_s(10)
    assert "orders" not in stage.slave.topics.table
    assert stage.slave.subscription_groups.table == stage.master.subscription_groups.table


def test_consumer_offsets_are_overwritten_row_by_row() -> None:
    stage = SlaveStage()
    stage.master.consumer_offsets.commit("g", "orders", 0, 7, "timer")
    stage.slave.consumer_offsets.commit("g", "orders", 0, 3, "timer")
    stage.slave.consumer_offsets.commit("g", "orders", 1, 5, "timer")
    stage.slave.consumer_offsets.commit("only here", "orders", 0, 9, "timer")
    stage.pass_s(3.1)
    offsets = stage.slave.consumer_offsets
    assert (offsets.get("g", "orders", 0), offsets.get("g", "orders", 1)) == (7, None)
    assert offsets.get("only here", "orders", 0) == 9


def test_delay_offsets_go_to_the_slave_s_file_only() -> None:
    stage = SlaveStage()
    stage.master.delay.table[3] = 12
    stage.pass_s(3.1)
    assert stage.slave.store.config_file("delayOffset").read() == {"offsetTable": {"3": 12}}
    assert stage.slave.delay.table == {}


def test_all_tables_are_on_the_slave_s_disk() -> None:
    stage = SlaveStage()
    stage.master.create_topic(TopicConfig("orders", 4, 4))
    stage.master.subscription_groups.find("g")
    stage.master.consumer_offsets.commit("g", "orders", 0, 7, "timer")
    stage.pass_s(3.1)
    stage.end(stage.slave, kill=True)
    slave = stage.start(SLAVE, 1)
    assert "orders" in slave.topics.table
    assert "g" in slave.subscription_groups.table
    assert slave.consumer_offsets.get("g", "orders", 0) == 7


def test_without_a_master_nothing_is_asked_and_with_its_return_it_goes_on() -> None:
    stage = SlaveStage()
    stage.pass_s(3.1)
    assert stage.slave.slave_sync is not None
    stage.end(stage.master, kill=True)
    stage.pass_s(60)  # the slave registers again and hears that there is no master
    assert stage.slave.slave_sync.master_address is None
    rounds = stage.slave.slave_sync.rounds
    stage.pass_s(30)
    assert stage.slave.slave_sync.rounds == rounds
    stage.start(MASTER, 0)
    stage.master.create_topic(TopicConfig("after", 1, 1))
    stage.pass_s(41)
    assert "after" in stage.slave.topics.table


def test_a_master_that_does_not_answer_ends_the_round_and_the_next_one_is_tried() -> None:
    stage = SlaveStage()
    stage.pass_s(3.1)
    stage.master.create_topic(TopicConfig("orders", 4, 4))
    stage.network.partition("10.0.0.1", "10.0.0.2")
    stage.pass_s(15)
    assert "orders" not in stage.slave.topics.table
    stage.network.heal()
    stage.pass_s(10)
    assert "orders" in stage.slave.topics.table


@pytest.mark.parametrize(
    ("code", "ext", "body"),
    [
        (RequestCode.UPDATE_AND_CREATE_TOPIC, CREATE, None),
        (RequestCode.DELETE_TOPIC_IN_BROKER, TopicHeader("orders").to_ext(), None),
        (RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, {}, dumps({"groupName": "g"})),
        (RequestCode.DELETE_SUBSCRIPTIONGROUP, DeleteGroupHeader("g").to_ext(), None),
    ],
)
def test_a_slave_changes_neither_topics_nor_groups(code: int, ext: dict[str, str], body: bytes | None) -> None:
    stage = SlaveStage()
    answer = stage.client(SLAVE).call(code, ext, body)
    assert answer.code == ResponseCode.SYSTEM_ERROR
    assert answer.remark is not None
    assert "from slave broker" in answer.remark


def test_what_a_slave_notes_of_its_own_bears_its_own_name() -> None:
    stage = SlaveStage()
    stage.client(SLAVE).heartbeat("c", "g", "orders")
    assert [event.broker for event in stage.events(GroupChanged)] == ["broker-a.1"]
    assert {event.broker for event in stage.events(TopicChanged)} == {"broker-a.1"}


def test_an_offset_committed_at_the_slave_is_kept_until_the_master_s_next_table() -> None:
    stage = SlaveStage()
    stage.master.consumer_offsets.commit("g", "orders", 0, 7, "timer")
    stage.pass_s(3.1)
    ext = UpdateOffsetHeader("g", "orders", 0, 5).to_ext()
    assert stage.client(SLAVE).call(RequestCode.UPDATE_CONSUMER_OFFSET, ext).code == 0
    assert stage.slave.consumer_offsets.get("g", "orders", 0) == 5
    stage.pass_s(10)
    assert stage.slave.consumer_offsets.get("g", "orders", 0) == 7
