"""Findings about offsets, messages and brokers: each is planted, says its cause, and is absent before and after."""

from collections.abc import Callable

import pytest

from tests.sim.finding_stage import FindingStage


@pytest.fixture
def stage(staged: Callable[..., FindingStage]) -> FindingStage:
    return staged()


def opened(stage: FindingStage, code: str) -> str:
    """The text with which the code opened, once."""
    [text] = [line.text for line in stage.opened if line.code == code]
    return text


def test_a_group_without_a_stored_offset_is_named_with_the_messages_that_count(stage: FindingStage) -> None:
    stage.member("A")
    stage.run(10)
    stage.act("StopActor", actor="A")
    stage.run(10)
    stage.act("ChangeTopic", topic="orders", write_queues=6, read_queues=6)
    stage.act("SendMessages", topic="orders", count=60, key="order-{n}")
    stage.run(60)
    text = opened(stage, "offset_unknown")
    assert text.startswith("No offset is stored for 3 queues of orders. 30 stored messages count as lag.")
    stage.act("RestartActor", actor="A")
    stage.run(90)
    assert "offset_unknown" not in stage.codes


def test_new_queues_get_their_first_offset_within_a_route_and_a_rebalance(stage: FindingStage) -> None:
    """Found by seed 12: messages arrive in a new queue up to 50 s before a member reads it."""
    stage.member("P", listener="orderly")
    stage.run(6)
    stage.producer(8)
    stage.run(60)
    stage.act("ChangeTopic", topic="orders", write_queues=6, read_queues=6)
    stage.run(120)
    assert stage.opened == []


def test_pulls_are_paused_behind_a_message_that_is_not_finished(staged: Callable[..., FindingStage]) -> None:
    stage = staged(queues=1, preset="teaching")
    stage.member("A", threads=2, work_ms=[1, 2])
    stage.run(10)
    stage.act("ChangeActor", actor="A", slow_key="order-1", slow_ms=600_000)
    stage.act("SendMessages", topic="orders", count=1, key="order-1")
    stage.producer(200)
    stage.run(60)
    assert "the limit" in opened(stage, "flow_control")
    [paused] = [each for each in stage.tracker.open if each.finding.code == "flow_control"]
    assert paused.because_of is not None
    assert paused.because_of[0] == "offset_pinned"


def test_pulls_that_a_span_pauses_again_and_again_are_paused(staged: Callable[..., FindingStage]) -> None:
    """Found by seed 141: the span counts only while a message behind the unfinished one is at work."""
    stage = staged(queues=1, preset="teaching")
    stage.member("A", work_ms=[50, 90])
    stage.run(10)
    stage.act("ChangeActor", actor="A", slow_key="wall", slow_ms=600_000)
    stage.act("SendMessages", topic="orders", count=1, key="wall")
    stage.act("SendMessages", topic="orders", count=150, key="order-{n}")
    stage.run(10)
    stage.producer(0.3)
    stage.run(60)
    assert "A pauses its pulls of broker-a:0. Its oldest and newest offsets" in opened(stage, "flow_control")


def test_a_key_that_has_most_messages_makes_its_queue_hot(stage: FindingStage) -> None:
    stage.member("A")
    stage.producer(10, keys=["one", "one", "one", "one", "two"], selector="hash")
    stage.run(90)
    assert "% of the messages of orders" in opened(stage, "hot_queue")


def test_messages_spread_by_turns_make_no_queue_hot(stage: FindingStage) -> None:
    stage.member("A")
    stage.producer(10)
    stage.run(120)
    assert stage.opened == []


def test_a_topic_that_grew_has_no_hot_queue(staged: Callable[..., FindingStage]) -> None:
    """Found by seed 100: producers send to the old queue alone until they refresh the route."""
    stage = staged(queues=1)
    stage.member("A")
    stage.producer(4)
    stage.run(62)
    stage.act("ChangeTopic", topic="orders", write_queues=3, read_queues=3)
    stage.run(150)
    assert stage.opened == []


def test_failed_messages_wait_for_a_retry_and_count_as_no_lag(stage: FindingStage) -> None:
    stage.member("A")
    stage.run(10)
    stage.act("ChangeActor", actor="A", fail_percent=100.0)
    stage.act("SendMessages", topic="orders", count=20, key="order-{n}")
    stage.run(30)
    assert opened(stage, "retrying").startswith("20 messages failed and wait for their next attempt.")
    stage.act("ChangeActor", actor="A", fail_percent=0.0)
    stage.run(120)
    assert "retrying" not in stage.codes


def test_one_failure_in_a_hundred_is_no_bad_release(stage: FindingStage) -> None:
    """Found by seed 0: at 12 messages per second five may wait for their retry at once."""
    stage.member("A", fail_percent=1.0)
    stage.producer(60)
    stage.run(120)
    assert stage.opened == []


def test_one_failure_in_ten_is_a_bad_release(stage: FindingStage) -> None:
    stage.member("A", fail_percent=10.0)
    stage.producer(20)
    stage.run(120)
    assert "retrying" in stage.codes


def test_a_message_that_fails_again_and_again_is_named(stage: FindingStage) -> None:
    stage.member("A")
    stage.run(10)
    stage.act("ChangeActor", actor="A", handler="reject order-7")
    stage.act("SendMessages", topic="orders", count=20, key="order-{n}")
    stage.run(140)
    text = opened(stage, "poison_message")
    assert text.startswith("order-7 failed 3 of 16 times; its next attempt is in ")
    assert "retrying" not in [line.code for line in stage.opened], "one message is not a bad release"


def test_delayed_messages_are_not_late(stage: FindingStage) -> None:
    stage.member("A")
    stage.act("SendMessages", topic="orders", count=12, key="order-{n}", delay_level=5)
    stage.run(20)
    assert opened(stage, "delay_waiting").startswith("12 messages of orders are delayed by their producer.")
    stage.run(60)
    assert stage.codes == []


def test_an_open_transaction_is_named_with_its_age(stage: FindingStage) -> None:
    stage.act("StartProducer", actor="bank", topic="orders", rate_per_s=0.2, transactional=True)
    stage.act("ChangeActor", actor="bank", handler="silent")
    stage.run(60)
    assert "open" in opened(stage, "half_message_open")


def test_a_full_disk_is_why_nothing_is_stored(stage: FindingStage) -> None:
    stage.member("A")
    stage.producer(5)
    stage.run(20)
    stage.act("FillDisk", broker="broker-a")
    stage.run(20)
    assert opened(stage, "writes_refused").startswith("broker-a stores no message: its disk is full.")
    stage.act("FreeDisk", broker="broker-a")
    stage.run(20)
    assert "writes_refused" not in stage.codes


def test_a_slave_serves_what_its_dead_master_had(staged: Callable[..., FindingStage]) -> None:
    stage = staged("cluster")
    stage.run(40)
    before = list(stage.codes)
    stage.act("KillBroker", broker="broker-a")
    stage.run(30)
    assert "slave_serves" not in before
    [serves] = [each for each in stage.tracker.open if each.finding.code == "slave_serves"]
    assert serves.because_of is not None
    assert serves.because_of[0] == "broker_down"


def test_a_restarted_broker_has_no_locks(staged: Callable[..., FindingStage]) -> None:
    stage = staged()
    stage.member("A", listener="orderly")
    stage.member("B", listener="orderly")
    stage.producer(5)
    stage.run(66)  # members lock every 20 s
    assert stage.codes == []
    stage.act("KillBroker", broker="broker-a")
    stage.act("StartBroker", broker="broker-a")
    stage.run(60)
    text = opened(stage, "lock_table_lost")
    assert text.startswith("broker-a restarted without its lock table: 3 queues of svc have an owner and no lock.")
    assert stage.codes == []


def test_a_lock_that_its_owner_released_late_is_no_restart(staged: Callable[..., FindingStage]) -> None:
    """Found by seed 28: a member that gets a queue again releases its new lock, 20 s after it lost the queue."""
    stage = staged(queues=3)
    for actor in "AB":
        stage.member(actor, listener="orderly", threads=1, work_ms=[150, 250])
    stage.producer(6)
    stage.run(69)
    stage.act("StartConsumer", actor="C", group="svc")
    stage.run(6)
    stage.act("StopActor", actor="C")
    stage.run(60)
    assert stage.opened == []


def test_messages_that_retention_deleted_unread_are_counted(staged: Callable[..., FindingStage]) -> None:
    stage = staged(queues=1, preset="teaching")
    stage.member("A", threads=1, work_ms=[400, 400])
    stage.producer(10, body_bytes=700)
    stage.run(60)
    stage.act("AgeFiles", broker="broker-a", hours=2)
    stage.act("CleanFiles", broker="broker-a")
    stage.run(20)
    assert "deleted unread" in opened(stage, "behind_min")


def test_an_offset_beyond_the_end_is_an_error(stage: FindingStage) -> None:
    stage.member("A")
    stage.act("SendMessages", topic="orders", count=30, key="order-{n}")
    stage.run(20)
    stage.act("StopActor", actor="A")
    stage.run(4)
    offsets = stage.world.cluster.nodes.masters()[0].running.consumer_offsets
    offsets.commit("svc", "orders", 0, 40, "admin")
    stage.run(20)
    text = opened(stage, "beyond_max")
    assert text.startswith(
        "The committed offset 40 of broker-a:0 is beyond its end, 10. Members would skip the next 30 "
    )
