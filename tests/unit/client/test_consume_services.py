"""The darker corners of consuming: own commits, expired messages, second chances."""

from typing import Any

import pytest

from sandbox.client.config import ConsumeFromWhere, PushConsumerConfig
from sandbox.client.push_consumer import PushConsumer
from sandbox.client.results import ConsumeConcurrentlyStatus, ConsumeOrderlyStatus
from sandbox.journal.events import MessageRetried, MessagesConsumed
from sandbox.message import properties
from sandbox.message.message import Message
from sandbox.message.queue import MessageQueue
from sandbox.remoting.codes import RequestCode as Code
from sandbox.remoting.headers import SendBackHeader, SendHeader
from tests.unit.client.fake_cluster import BROKER, FakeCluster

Q0 = MessageQueue("T", BROKER, 0)
ORDERLY = ConsumeOrderlyStatus


def started(cluster: FakeCluster, handler: Any, *, topic: str = "T", **config: Any) -> PushConsumer:
    config.setdefault("from_where", ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET)
    member = PushConsumer(PushConsumerConfig(group="G", **config), cluster.instance("a"), handler)
    member.subscribe(topic)
    cluster.run(member.start())
    return member


def test_without_automatic_commit_only_commit_moves_the_offset_and_rollback_repeats(cluster: FakeCluster) -> None:
    answers = [ORDERLY.SUCCESS, ORDERLY.COMMIT, ORDERLY.SUCCESS, ORDERLY.ROLLBACK, ORDERLY.SUCCESS, ORDERLY.COMMIT]
    seen: list[tuple[int | None, int | None]] = []

    async def listener(messages: list[Message], context: Any) -> ConsumeOrderlyStatus:
        context.auto_commit = False
        seen.append((messages[0].queue_offset, member.offset_store.read_memory(Q0)))
        return answers.pop(0)

    for _ in range(4):
        cluster.store("T", 0)
    member = started(cluster, listener, listener="orderly")
    cluster.loop.run_for(5)
    assert seen == [(0, None), (1, None), (2, 2), (3, 2), (2, 2), (3, 2)]
    assert member.offset_store.read_memory(Q0) == 4


def test_a_message_that_failed_its_last_time_in_order_goes_to_the_retry_topic_and_unblocks(
    cluster: FakeCluster,
) -> None:
    seen: list[bytes] = []

    async def listener(messages: list[Message], context: Any) -> ConsumeOrderlyStatus:
        seen.append(messages[0].body)
        return ORDERLY.SUCCESS if messages[0].body == b"good" else ORDERLY.SUSPEND_CURRENT_QUEUE_A_MOMENT

    cluster.store("T", 0, b"bad", UNIQ_KEY="U1")
    cluster.store("T", 0, b"good")
    member = started(cluster, listener, listener="orderly", max_reconsume_times=2)
    cluster.loop.run_for(10)
    assert seen == [b"bad", b"bad", b"bad", b"good"]
    assert member.offset_store.read_memory(Q0) == 2
    [header] = [SendHeader.from_ext(command.ext) for command in cluster.requests(Code.SEND_MESSAGE_V2)]
    assert (header.topic, header.reconsume_times, header.max_reconsume_times) == ("%RETRY%G", 3, 2)
    assert properties.decode(header.properties)["RETRY_TOPIC"] == "T"


@pytest.mark.parametrize(("asked_ms", "waited_s"), [(-1, 1.0), (5, 0.01), (3_000, 3.0), (99_000, 30.0)])
def test_how_long_a_queue_is_suspended_is_clamped(cluster: FakeCluster, asked_ms: int, waited_s: float) -> None:
    times: list[float] = []

    async def listener(messages: list[Message], context: Any) -> ConsumeOrderlyStatus:
        times.append(cluster.loop.time())
        context.suspend_ms = asked_ms
        return ORDERLY.SUCCESS if len(times) > 1 else ORDERLY.SUSPEND_CURRENT_QUEUE_A_MOMENT

    cluster.store("T", 0)
    started(cluster, listener, listener="orderly")
    cluster.loop.run_for(40)
    assert times[1] - times[0] == pytest.approx(waited_s, abs=0.001)


def test_a_run_over_one_queue_gives_its_thread_back_after_a_minute(cluster: FakeCluster) -> None:
    threads: list[int] = []

    async def listener(messages: list[Message], context: Any) -> ConsumeOrderlyStatus:
        threads.append(context.queue.queue_id)
        await cluster.clock.sleep(7)
        return ORDERLY.SUCCESS

    for _ in range(30):
        cluster.store("T", 0)
        cluster.store("T", 1)
    started(cluster, listener, listener="orderly", threads=1)
    cluster.loop.run_for(100)
    assert threads[:9] == [0] * 9  # nine times 7 s are more than 60 s
    assert threads[9] == 1


@pytest.mark.seed("1.18")
def test_a_message_that_was_worked_on_for_fifteen_minutes_is_sent_back(cluster: FakeCluster) -> None:
    async def listener(messages: list[Message], context: Any) -> ConsumeConcurrentlyStatus:
        await cluster.clock.sleep(3_600)
        return ConsumeConcurrentlyStatus.CONSUME_SUCCESS

    member = started(cluster, listener)
    cluster.loop.run_for(60)
    cluster.store("T", 0)
    cluster.loop.run_for(28 * 60)
    assert cluster.requests(Code.CONSUMER_SEND_MSG_BACK) == [], "the round after 15 minutes found it 14 minutes old"
    cluster.loop.run_for(2 * 60)
    [header] = [SendBackHeader.from_ext(command.ext) for command in cluster.requests(Code.CONSUMER_SEND_MSG_BACK)]
    assert header.delay_level == 3
    assert member.process_queues[Q0].count == 0
    assert member.offset_store.read_memory(Q0) == 1, "the offset moves on"
    cluster.loop.run_for(3_600)
    assert [event.outcome for event in cluster.events(MessagesConsumed)] == ["TIMEOUT"]


@pytest.mark.seed("1.18")
def test_in_order_nothing_is_sent_back_for_taking_long(cluster: FakeCluster) -> None:
    async def listener(messages: list[Message], context: Any) -> ConsumeOrderlyStatus:
        await cluster.clock.sleep(3_600)
        return ORDERLY.SUCCESS

    cluster.store("T", 0)
    member = started(cluster, listener, listener="orderly")
    cluster.loop.run_for(46 * 60)
    assert cluster.requests(Code.CONSUMER_SEND_MSG_BACK) == []
    assert member.process_queues[Q0].count == 1


def test_a_listener_chooses_the_delay_level_of_a_retry(cluster: FakeCluster) -> None:
    async def listener(messages: list[Message], context: Any) -> ConsumeConcurrentlyStatus:
        context.delay_level_when_next_consume = -1
        return ConsumeConcurrentlyStatus.RECONSUME_LATER

    cluster.store("T", 0, UNIQ_KEY="U1")
    started(cluster, listener)
    cluster.loop.run_for(1)
    [header] = [SendBackHeader.from_ext(command.ext) for command in cluster.requests(Code.CONSUMER_SEND_MSG_BACK)]
    assert (header.delay_level, header.origin_msg_id, header.max_reconsume_times) == (-1, "U1", 16)


def test_a_refused_send_back_travels_as_a_normal_message_to_the_retry_topic(cluster: FakeCluster) -> None:
    async def listener(messages: list[Message], context: Any) -> ConsumeConcurrentlyStatus:
        return ConsumeConcurrentlyStatus.RECONSUME_LATER

    cluster.refuse = {Code.CONSUMER_SEND_MSG_BACK: [1]}
    cluster.store("T", 0, UNIQ_KEY="U1", times=2)
    member = started(cluster, listener)
    cluster.loop.run_for(1)
    [header] = [SendHeader.from_ext(command.ext) for command in cluster.requests(Code.SEND_MESSAGE_V2)]
    assert (header.group, header.topic, header.reconsume_times) == ("CLIENT_INNER_PRODUCER", "%RETRY%G", 3)
    assert properties.decode(header.properties)["DELAY"] == "5"
    assert member.offset_store.read_memory(Q0) == 1
    assert cluster.events(MessageRetried) == []


def test_a_retried_message_shows_the_listener_its_first_topic(cluster: FakeCluster) -> None:
    topics: list[str] = []

    async def listener(messages: list[Message], context: Any) -> ConsumeConcurrentlyStatus:
        topics.append(messages[0].topic)
        return ConsumeConcurrentlyStatus.CONSUME_SUCCESS

    cluster.topics["%RETRY%G"] = 1
    cluster.store("%RETRY%G", 0, RETRY_TOPIC="T", times=1)
    started(cluster, listener)
    cluster.loop.run_for(1)
    assert topics == ["T"]
    assert [event.topic for event in cluster.events(MessagesConsumed)] == ["%RETRY%G"]


def test_a_limit_for_the_topic_is_shared_out_over_the_owned_queues(cluster: FakeCluster) -> None:
    async def listener(messages: list[Message], context: Any) -> ConsumeConcurrentlyStatus:
        return ConsumeConcurrentlyStatus.CONSUME_SUCCESS

    member = started(cluster, listener, threshold_for_topic=100)
    cluster.loop.run_for(1)
    assert member.threshold_for_queue == 25


def test_results_of_a_dropped_queue_are_ignored(cluster: FakeCluster) -> None:
    async def listener(messages: list[Message], context: Any) -> ConsumeConcurrentlyStatus:
        await cluster.clock.sleep(5)
        return ConsumeConcurrentlyStatus.CONSUME_SUCCESS

    cluster.store("T", 0)
    member = started(cluster, listener)
    cluster.loop.run_for(1)
    [channel] = cluster.members["G"]
    cluster.members["G"][channel] = "z"  # the group's list no longer has us
    cluster.notify("G")
    cluster.loop.run_for(10)
    assert Q0 not in member.process_queues
    assert [event.outcome for event in cluster.events(MessagesConsumed)] == ["IGNORED"]
    assert ("G", "T", 0) not in cluster.offsets


def test_what_a_listener_had_begun_when_its_process_died_is_reported(cluster: FakeCluster) -> None:
    async def listener(messages: list[Message], context: Any) -> ConsumeConcurrentlyStatus:
        await cluster.clock.sleep(60)
        return ConsumeConcurrentlyStatus.CONSUME_SUCCESS

    for _ in range(3):
        cluster.store("T", 0)
    member = started(cluster, listener, threads=2)
    cluster.loop.run_for(5)
    member.crash()
    cluster.loop.run_for(1)
    reported = cluster.events(MessagesConsumed)
    assert [(event.offsets, event.outcome) for event in reported] == [((0,), "INTERRUPTED"), ((1,), "INTERRUPTED")]
    assert member.consumed == 0
