"""A push consumer against a scripted cluster: what it asks, when, and what the listener sees."""

from itertools import pairwise
from typing import Any

import pytest

from sandbox.client.config import ConsumeFromWhere, PushConsumerConfig
from sandbox.client.push_consumer import PushConsumer
from sandbox.client.results import ConsumeConcurrentlyStatus, ConsumeOrderlyStatus
from sandbox.journal.events import (
    FlowControlChanged,
    LifecycleStep,
    LockLapsed,
    MemberStateChanged,
    MessagePinned,
    MessagesConsumed,
    MessagesFiltered,
    QueueDropped,
    QueuesAssigned,
    QueueTaken,
)
from sandbox.kernel.errors import ClientError
from sandbox.message.message import Message
from sandbox.message.queue import MessageQueue
from sandbox.remoting.bodies import ResetOffsetBody
from sandbox.remoting.codes import RequestCode as Code
from sandbox.remoting.command import FLAG_ONEWAY, RemotingCommand
from sandbox.remoting.headers import ResetOffsetHeader
from tests.unit.client.fake_cluster import BROKER, FakeCluster

SUCCESS = ConsumeConcurrentlyStatus.CONSUME_SUCCESS
LATER = ConsumeConcurrentlyStatus.RECONSUME_LATER


class Listener:
    """Notes what it sees; `work_s` by body, `answers` used up in turn."""

    def __init__(self, cluster: FakeCluster, *, orderly: bool = False) -> None:
        self._cluster = cluster
        self.seen: list[tuple[float, int, int, bytes]] = []
        self.work_s: dict[bytes, float] = {}
        self.answers: list[Any] = []
        self.usual: Any = ConsumeOrderlyStatus.SUCCESS if orderly else SUCCESS

    async def __call__(self, messages: list[Message], context: Any) -> Any:
        for message in messages:
            assert message.queue_offset is not None
            self.seen.append((self._cluster.loop.time(), context.queue.queue_id, message.queue_offset, message.body))
            await self._cluster.clock.sleep(self.work_s.get(message.body, 0))
        answer = self.answers.pop(0) if self.answers else self.usual
        if isinstance(answer, Exception):
            raise answer
        return answer

    def bodies(self) -> list[bytes]:
        return [body for _, _, _, body in self.seen]


def consumer(
    cluster: FakeCluster, name: str, handler: Any, topic: str = "T", expression: str = "*", **config: Any
) -> PushConsumer:
    config.setdefault("from_where", ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET)
    made = PushConsumer(PushConsumerConfig(group="G", **config), cluster.instance(name), handler)
    made.subscribe(topic, expression)
    return made


def test_a_member_alone_reads_every_message_of_every_queue(cluster: FakeCluster) -> None:
    listener = Listener(cluster)
    for i in range(40):
        cluster.store("T", i % 4, b"%d" % i)
    cluster.run(consumer(cluster, "a", listener).start())
    cluster.loop.run_for(0.5)
    cluster.store("T", 2, b"late")
    cluster.loop.run_for(0.1)
    assert sorted(listener.bodies()) == sorted([b"%d" % i for i in range(40)] + [b"late"])


def test_the_steps_of_a_start_and_a_stop_are_reported_in_order(cluster: FakeCluster) -> None:
    member = consumer(cluster, "a", Listener(cluster))
    cluster.run(member.start())
    cluster.loop.run_for(1)
    cluster.run(member.shutdown())
    steps = [(step.phase, step.step, step.name) for step in cluster.events(LifecycleStep)]
    assert [name for phase, _, name in steps if phase == "start"][-4:] == [
        "fetch routes",
        "check subscriptions at a broker",
        "heartbeat",
        "wake rebalance",
    ]
    assert [name for phase, _, name in steps if phase == "stop"] == [
        "stop consume service",
        "persist offsets",
        "unregister",
        "stop pulling",
        "stop inner producer",
        "stop timers",
        "close connections",
        "stop rebalance",
        "drop queues",
    ]
    assert [event.state for event in cluster.events(MemberStateChanged)] == [
        "starting",
        "running",
        "stopping",
        "stopped",
    ]


def test_offsets_go_out_after_ten_seconds_and_then_every_five(cluster: FakeCluster) -> None:
    cluster.store("T", 0)
    member = consumer(cluster, "a", Listener(cluster))
    cluster.run(member.start())
    cluster.loop.run_for(26)
    assert sorted({round(at) for at in cluster.times(Code.UPDATE_CONSUMER_OFFSET)}) == [10, 15, 20, 25]
    assert cluster.offsets["G", "T", 0] == 1


def test_a_second_member_takes_half_of_the_queues_when_both_are_notified(cluster: FakeCluster) -> None:
    first, second = consumer(cluster, "a", Listener(cluster)), consumer(cluster, "b", Listener(cluster))
    cluster.run(first.start())
    cluster.loop.run_for(1)
    assert len([mq for mq in first.process_queues if mq.topic == "T"]) == 4
    cluster.run(second.start())
    cluster.notify("G")
    cluster.loop.run_for(0.5)
    assert [mq.queue_id for mq in sorted(first.process_queues) if mq.topic == "T"] == [0, 1]
    assert [mq.queue_id for mq in sorted(second.process_queues) if mq.topic == "T"] == [2, 3]
    reported = [event for event in cluster.events(QueuesAssigned) if event.trigger == "notified" and event.topic == "T"]
    assert reported[0].dropped == ("T/broker-a/2", "T/broker-a/3")


def test_one_slow_message_pins_the_offset_while_pulling_goes_on(cluster: FakeCluster) -> None:
    listener = Listener(cluster)
    listener.work_s[b"slow"] = 60
    cluster.store("T", 0, b"slow", KEYS="k1")
    member = consumer(cluster, "a", listener)
    cluster.run(member.start())
    cluster.loop.run_for(1)
    for i in range(100):
        cluster.store("T", 0, b"%d" % i)
    cluster.loop.run_for(20)
    pq = member.process_queues[MessageQueue("T", BROKER, 0)]
    assert member.offset_store.read_memory(pq.mq) == 0
    assert pq.next_offset == 101
    assert pq.cells() == (0, "1p100d")
    assert member.in_doubt() == 101  # a hundred finished and the slow one itself
    assert [(e.offset, e.key) for e in cluster.events(MessagePinned)] == [(0, "k1")]
    cluster.loop.run_for(60)
    assert member.offset_store.read_memory(pq.mq) == 101
    assert cluster.events(MessagePinned)[0].age_ms in range(15_001, 16_100)


def test_a_stuck_message_slows_pulling_down_once_the_span_is_crossed(cluster: FakeCluster) -> None:
    listener = Listener(cluster)
    listener.work_s = {b"stuck": 1000, b"x": 0.01}
    cluster.store("T", 0, b"stuck")
    for _ in range(4000):
        cluster.store("T", 0)
    member = consumer(cluster, "a", listener, max_span=100)
    cluster.run(member.start())
    cluster.loop.run_for(2)
    pq = member.process_queues[MessageQueue("T", BROKER, 0)]
    assert pq.flow_control == "span"
    assert len(listener.seen) <= 5 * 32 + 32 * 2 / 0.05  # up to the span at once, then a batch every 50 ms
    cluster.loop.run_for(20)
    assert len(listener.seen) == 4001
    assert [event.limit for event in cluster.events(FlowControlChanged)] == ["span", None]


def test_too_many_unfinished_messages_hold_pulling_back_and_the_journal_says_so(cluster: FakeCluster) -> None:
    listener = Listener(cluster)
    listener.work_s[b"x"] = 10
    for _ in range(200):
        cluster.store("T", 0)
    member = consumer(cluster, "a", listener, threshold_for_queue=50, threads=20)
    cluster.run(member.start())
    cluster.loop.run_for(5)
    pq = member.process_queues[MessageQueue("T", BROKER, 0)]
    assert (pq.count, pq.flow_control, member.busy) == (64, "count", 20)
    cluster.loop.run_for(200)
    limits = [event.limit for event in cluster.events(FlowControlChanged)]
    assert limits[0] == "count"
    assert limits[-1] is None
    assert len(listener.seen) == 200


def test_a_failed_message_is_sent_back_and_the_offset_moves_on(cluster: FakeCluster) -> None:
    listener = Listener(cluster)
    listener.answers = [LATER, RuntimeError("no"), SUCCESS]
    for _ in range(3):
        cluster.store("T", 0)
    member = consumer(cluster, "a", listener, threads=1)
    cluster.run(member.start())
    cluster.loop.run_for(1)
    assert len(cluster.requests(Code.CONSUMER_SEND_MSG_BACK)) == 2
    assert member.offset_store.read_memory(MessageQueue("T", BROKER, 0)) == 3
    assert [event.outcome for event in cluster.events(MessagesConsumed)] == ["LATER", "FAILED", "SUCCESS"]


@pytest.mark.seed("1.28")
def test_a_message_no_one_takes_back_is_consumed_again_here_after_five_seconds(cluster: FakeCluster) -> None:
    listener = Listener(cluster)
    listener.answers = [LATER]
    cluster.refuse = {Code.CONSUMER_SEND_MSG_BACK: [1], Code.SEND_MESSAGE_V2: [1, 1, 1]}
    cluster.store("T", 0)
    member = consumer(cluster, "a", listener)
    cluster.run(member.start())
    cluster.loop.run_for(10)
    (first, *_), (second, *_) = listener.seen
    assert (second - first, len(cluster.requests(Code.SEND_MESSAGE_V2))) == (pytest.approx(5, abs=0.01), 3)
    assert member.offset_store.read_memory(MessageQueue("T", BROKER, 0)) == 1


def test_a_batch_is_cut_to_the_configured_size_and_acknowledged_up_to_its_index(cluster: FakeCluster) -> None:
    sizes: list[int] = []

    async def listener(messages: list[Message], context: Any) -> ConsumeConcurrentlyStatus:
        sizes.append(len(messages))
        context.ack_index = 1
        return SUCCESS

    for _ in range(10):
        cluster.store("T", 0)
    cluster.run(consumer(cluster, "a", listener, consume_batch=4, threads=1).start())
    cluster.loop.run_for(1)
    assert sizes == [4, 4, 2]
    assert len(cluster.requests(Code.CONSUMER_SEND_MSG_BACK)) == 4


def test_colliding_tags_are_distinguished_by_text(cluster: FakeCluster) -> None:
    listener = Listener(cluster)
    cluster.store("T", 0, b"1", TAGS="Aa")
    cluster.store("T", 0, b"2", TAGS="BB")  # the same hash
    member = consumer(cluster, "a", listener, expression="Aa")
    cluster.run(member.start())
    cluster.loop.run_for(1)
    assert listener.bodies() == [b"1"]
    assert [(event.offsets, event.tags) for event in cluster.events(MessagesFiltered)] == [((1,), ("BB",))]


def test_an_offset_outside_the_queue_drops_it_and_a_later_round_begins_where_the_broker_said(
    cluster: FakeCluster,
) -> None:
    listener = Listener(cluster)
    for i in range(10):
        cluster.store("T", 0, b"%d" % i)
    cluster.min_offset = 6
    cluster.offsets["G", "T", 0] = 2
    cluster.run(consumer(cluster, "a", listener).start())
    cluster.loop.run_for(9)
    assert listener.bodies() == []
    cluster.loop.run_for(13)
    assert listener.bodies() == [b"6", b"7", b"8", b"9"]
    assert [e.reason for e in cluster.events(QueueDropped) if e.queue_id == 0 and e.topic == "T"] == ["illegal_offset"]


@pytest.mark.parametrize(
    ("where", "offset", "trace"),
    [
        (ConsumeFromWhere.CONSUME_FROM_LAST_OFFSET, 5, ("not_found", "max")),
        (ConsumeFromWhere.CONSUME_FROM_MAX_OFFSET, 5, ("not_found", "max")),
        (ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET, 0, ("not_found", "zero")),
        (ConsumeFromWhere.CONSUME_FROM_TIMESTAMP, 3, ("not_found", "by_time")),
    ],
)
def test_without_a_record_a_group_begins_where_it_is_configured_to(
    cluster: FakeCluster, where: ConsumeFromWhere, offset: int, trace: tuple[str, ...]
) -> None:
    for _ in range(5):
        cluster.store("T", 0)
    cluster.offsets["G", "T", 1] = 0
    cluster.run(consumer(cluster, "a", Listener(cluster), from_where=where).start())
    cluster.loop.run_for(1)
    taken = {
        event.queue_id: (event.start_offset, event.trace) for event in cluster.events(QueueTaken) if event.topic == "T"
    }
    assert taken[0] == (offset, trace)
    assert taken[1] == (0, ("zero_in_memory",))


def test_a_reset_drops_waits_ten_seconds_and_goes_on_from_the_new_offsets(cluster: FakeCluster) -> None:
    listener = Listener(cluster)
    for i in range(5):
        cluster.store("T", 0, b"%d" % i)
    member = consumer(cluster, "a", listener)
    cluster.run(member.start())
    cluster.loop.run_for(2)
    body = ResetOffsetBody({MessageQueue("T", BROKER, 0): 3}).encode()
    [channel] = cluster.members["G"]
    ext = ResetOffsetHeader("T", "G", 0, True).to_ext()
    channel.send(RemotingCommand(Code.RESET_CONSUMER_CLIENT_OFFSET, ext, body, flag=FLAG_ONEWAY))
    cluster.loop.run_for(9.9)
    assert len(listener.seen) == 5
    cluster.loop.run_for(0.2)
    assert listener.bodies()[5:] == [b"3", b"4"]
    assert listener.seen[5][0] == pytest.approx(12, abs=0.05)


def test_two_consumers_of_one_group_in_one_instance_are_refused(cluster: FakeCluster) -> None:
    first = consumer(cluster, "a", Listener(cluster))
    second = PushConsumer(PushConsumerConfig(group="G"), first.instance, Listener(cluster))
    second.subscribe("T")
    cluster.run(first.start())
    with pytest.raises(ClientError, match="has been created before"):
        cluster.run(second.start())
    assert second.state == "refused"


def test_a_hung_member_says_nothing_and_goes_on_where_it_stopped(cluster: FakeCluster) -> None:
    listener = Listener(cluster)
    member = consumer(cluster, "a", listener)
    cluster.run(member.start())
    cluster.loop.run_for(5)
    member.hang()
    before = len(cluster.seen)
    cluster.store("T", 0, b"1")
    cluster.loop.run_for(60)
    assert len(cluster.seen) == before
    assert listener.bodies() == []
    member.resume()
    cluster.loop.run_for(1)
    assert listener.bodies() == [b"1"]
    assert [event.state for event in cluster.events(MemberStateChanged)] == ["starting", "running", "hung", "running"]


def test_a_crashed_member_sends_nothing_more_and_leaves_no_task_behind(cluster: FakeCluster) -> None:
    listener = Listener(cluster)
    listener.work_s[b"x"] = 3
    cluster.store("T", 0)
    member = consumer(cluster, "a", listener)
    cluster.run(member.start())
    cluster.loop.run_for(1)
    before = len(cluster.seen)
    member.crash()
    cluster.loop.run_for(60)
    assert len(cluster.seen) == before
    assert member.state == "crashed"
    assert not any(cluster.members["G"])
    [crashed] = [event for event in cluster.events(MemberStateChanged) if event.state == "crashed"]
    assert crashed.unfinished == (("T/broker-a/0", ((0, 0),)),)


@pytest.mark.seed("4.21", "4.27")
def test_an_orderly_member_consumes_each_queue_in_order_one_at_a_time(cluster: FakeCluster) -> None:
    listener = Listener(cluster, orderly=True)
    listener.work_s = {b"%d" % i: 0.5 for i in range(12)}
    for i in range(12):
        cluster.store("T", i % 2, b"%d" % i)
    member = consumer(cluster, "a", listener, listener="orderly")
    cluster.run(member.start())
    cluster.loop.run_for(10)
    for queue_id in (0, 1):
        seen = [(at, offset) for at, q, offset, _ in listener.seen if q == queue_id]
        assert [offset for _, offset in seen] == list(range(6))
        assert all(later - earlier >= 0.5 for (earlier, _), (later, _) in pairwise(seen))
    assert listener.seen[-1][0] - listener.seen[0][0] < 3, "and no queue waits for the other: the topic has no order"
    assert member.offset_store.read_memory(MessageQueue("T", BROKER, 0)) == 6


@pytest.mark.seed("1.31")
def test_a_failure_in_order_blocks_the_queue_for_a_moment_and_comes_first_again(cluster: FakeCluster) -> None:
    listener = Listener(cluster, orderly=True)
    listener.answers = [ConsumeOrderlyStatus.SUSPEND_CURRENT_QUEUE_A_MOMENT, listener.usual, RuntimeError("no")]
    for i in range(3):
        cluster.store("T", 0, b"%d" % i)
    cluster.run(consumer(cluster, "a", listener, listener="orderly").start())
    cluster.loop.run_for(0.5)
    cluster.store("T", 1, b"beside")
    cluster.loop.run_for(5)
    assert listener.bodies() == [b"0", b"beside", b"0", b"0", b"1", b"2"], "another queue goes on"
    times = [at for at, _, _, body in listener.seen if body == b"0"]
    assert times[1] - times[0] == pytest.approx(1, abs=0.01)
    outcomes = ["LATER", "SUCCESS", "FAILED"] + ["SUCCESS"] * 3
    assert [event.outcome for event in cluster.events(MessagesConsumed)] == outcomes


def test_a_queue_locked_by_another_is_not_taken(cluster: FakeCluster) -> None:
    cluster.locks[MessageQueue("T", BROKER, 1)] = "somebody"
    member = consumer(cluster, "a", Listener(cluster, orderly=True), listener="orderly")
    cluster.run(member.start())
    cluster.loop.run_for(1)
    assert [mq.queue_id for mq in sorted(member.process_queues) if mq.topic == "T"] == [0, 2, 3]
    del cluster.locks[MessageQueue("T", BROKER, 1)]
    cluster.loop.run_for(20)
    assert MessageQueue("T", BROKER, 1) in member.process_queues


def test_without_renewals_a_lock_is_no_longer_trusted_after_thirty_seconds(cluster: FakeCluster) -> None:
    listener = Listener(cluster, orderly=True)
    member = consumer(cluster, "a", listener, listener="orderly")
    cluster.run(member.start())
    cluster.loop.run_for(2)
    cluster.silent = {Code.LOCK_BATCH_MQ}
    cluster.loop.run_for(30)
    lapsed = cluster.events(LockLapsed)
    assert [event.queue_id for event in lapsed] == [0, 1, 2, 3]
    assert all(event.age_ms == 30_001 for event in lapsed)


def test_a_clean_stop_gives_the_locks_back_at_once(cluster: FakeCluster) -> None:
    member = consumer(cluster, "a", Listener(cluster, orderly=True), listener="orderly")
    cluster.run(member.start())
    cluster.loop.run_for(1)
    assert len(cluster.locks) == 4
    cluster.run(member.shutdown())
    assert cluster.locks == {}


def test_an_idle_member_costs_a_handful_of_requests_a_minute(cluster: FakeCluster) -> None:
    cluster.run(consumer(cluster, "a", Listener(cluster)).start())
    cluster.loop.run_for(60)
    before = len(cluster.seen)
    cluster.loop.run_for(60)
    by_code: dict[str, int] = {}
    for _, command in cluster.seen[before:]:
        by_code[Code(command.code).name] = by_code.get(Code(command.code).name, 0) + 1
    assert by_code == {
        "GET_ROUTEINFO_BY_TOPIC": 6,
        "HEART_BEAT": 2,
        "GET_CONSUMER_LIST_BY_GROUP": 6,
        "PULL_MESSAGE": 20,
        "UPDATE_CONSUMER_OFFSET": 60,
    }
