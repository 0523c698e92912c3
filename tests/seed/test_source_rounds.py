"""Around a round of rebalancing: names in a namespace, the pause, queues of topics no longer wanted, the interval."""

from itertools import pairwise
from typing import Any

import pytest

from sandbox.client.config import ConsumeFromWhere, ProducerConfig, PushConsumerConfig
from sandbox.client.listeners import ConsumeConcurrentlyContext
from sandbox.client.producer import Producer
from sandbox.client.push_consumer import PushConsumer
from sandbox.client.results import ConsumeConcurrentlyStatus
from sandbox.journal.events import MembersNotified, QueueDropped, ResetStepDone
from sandbox.kernel.errors import ActionRefused
from sandbox.message.message import Message
from sandbox.message.queue import MessageQueue
from sandbox.remoting.bodies import HeartbeatData
from sandbox.remoting.codes import RequestCode
from sandbox.simulation.world import World
from tests.seed.stage import WireLog, application, member, prefix_of

GROUP = "clerks"
BEAT, WHO = RequestCode.HEART_BEAT, RequestCode.GET_CONSUMER_LIST_BY_GROUP
COMMIT, SEND, UNLOCK = RequestCode.UPDATE_CONSUMER_OFFSET, RequestCode.SEND_MESSAGE_V2, RequestCode.UNLOCK_BATCH_MQ


class Failing:
    """A listener that fails the first delivery of each message and keeps the topics it was given."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, bytes, int]] = []

    async def __call__(self, messages: list[Message], context: ConsumeConcurrentlyContext) -> ConsumeConcurrentlyStatus:
        self.seen += [(each.topic, each.body, each.reconsume_times) for each in messages]
        again = any(each.reconsume_times == 0 for each in messages)
        return ConsumeConcurrentlyStatus.RECONSUME_LATER if again else ConsumeConcurrentlyStatus.CONSUME_SUCCESS


@pytest.mark.seed("4.35")
def test_a_namespace_goes_before_group_and_topics_on_the_wire_and_the_listener_sees_names_without_it(
    world: World,
) -> None:
    heard, run = Failing(), world.environment.sim.run
    process = application(world)
    consumer = PushConsumer(
        PushConsumerConfig(group=GROUP, namespace="INST", from_where=ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET),
        process,
        heard,
    )
    consumer.subscribe("orders")
    producer = Producer(ProducerConfig(group="shop", namespace="INST"), process)
    wire = WireLog(world)
    run(producer.start())
    run(producer.send(Message.make("orders", b"one")))
    run(consumer.start())
    world.run(45)
    beat = HeartbeatData.decode(wire.requests(BEAT)[-1].command.body)
    [data] = beat.consumers
    assert data.group_name == "INST%clerks"
    assert {each.topic for each in data.subscriptions} == {"INST%orders", "%RETRY%INST%clerks"}
    assert "INST%shop" in beat.producers
    assert {(frame.command.ext or {})["b"] for frame in wire.requests(SEND)} == {"INST%orders"}
    assert heard.seen == [("orders", b"one", 0), ("orders", b"one", 1)], "the retry as well"
    ends = {topic["topic"]: [queue["max"] for queue in topic["queues"]] for topic in world.snapshot()["topics"]}
    assert (set(ends["orders"]), sorted(ends["INST%orders"])) == ({"0"}, ["0", "0", "0", "1"])


@pytest.mark.seed("4.36")
@pytest.mark.parametrize("listener", ["concurrent", "orderly"])
def test_queues_of_a_topic_no_longer_subscribed_go_with_the_next_round_without_commit_or_unlock(
    world: World, listener: str
) -> None:
    world.act("CreateTopic", topic="parcels", write_queues=2, read_queues=2)
    clerk = member(world, application(world), PushConsumerConfig(group=GROUP, listener=listener), "orders", "parcels")
    world.run(25)
    assert {mq.topic for mq in clerk.process_queues} == {"orders", "parcels", "%RETRY%clerks"}
    clerk.unsubscribe("parcels")
    wire, since = WireLog(world), world.cluster.journal.next_seq
    world.run(21)
    assert {mq.topic for mq in clerk.process_queues} == {"orders", "%RETRY%clerks"}
    dropped = [entry.event for entry in world.entries(QueueDropped, since=since)]
    assert [(event.topic, event.queue_id, event.reason) for event in dropped] == [
        ("parcels", 0, "unsubscribed"),
        ("parcels", 1, "unsubscribed"),
    ]
    at_ms = world.entries(QueueDropped, since=since)[0].at_ms
    later = [
        frame
        for frame in wire.requests(COMMIT)
        if (frame.command.ext or {})["topic"] == "parcels" and frame.at_ms >= at_ms
    ]
    assert later == []
    assert wire.requests(UNLOCK) == []


@pytest.mark.seed("4.37")
def test_a_member_that_is_paused_for_a_reset_skips_its_rounds_and_makes_up_for_them(world: World) -> None:
    """Its notification is heard and changes nothing for ten seconds: it keeps what it had."""
    first = member(world, application(world, "one", ip="10.0.9.1"), PushConsumerConfig(group=GROUP), "orders")
    world.run(25)
    mine = {mq for mq in first.process_queues if mq.topic == "orders"}
    assert len(mine) == 4
    began_ms = world.cluster.clock.now_ms()
    reset = world.environment.sim.create_task(first.reset_offsets("orders", {MessageQueue("orders", "broker-a", 0): 0}))
    world.run(1)
    second = member(world, application(world, "two", ip="10.0.9.2"), PushConsumerConfig(group=GROUP), "orders")
    notified = [entry.at_ms for entry in world.entries(MembersNotified) if entry.at_ms > began_ms]
    assert notified, "the broker has announced the second member"
    world.run(8)
    assert {mq for mq in first.process_queues if mq.topic == "orders"} == mine
    assert len([mq for mq in second.process_queues if mq.topic == "orders"]) == 2, "who is not paused divides"
    world.run(2)
    assert reset.done()
    assert [entry.event.step for entry in world.entries(ResetStepDone)][-1] == "resumed"
    assert len([mq for mq in first.process_queues if mq.topic == "orders"]) == 2


@pytest.mark.seed("4.38")
def test_the_interval_of_rebalancing_is_a_property_of_the_process(world: World) -> None:
    def join(label: str) -> None:
        world.act("StartConsumer", actor=label, group=GROUP, subscriptions=[["orders", "*"]], work_ms=[1])

    def rounds_ms(label: str, wire: WireLog) -> set[int]:
        at = sorted({frame.at_ms for frame in wire.requests(WHO, sender=prefix_of(world, label))})
        return {later - earlier for earlier, later in pairwise(at)}

    def tune(interval_ms: int) -> None:
        changes: dict[str, Any] = {"client_rebalance_interval_ms": interval_ms}
        world.act("ChangeBroker", broker="broker-a", changes=changes)

    join("usual")
    world.run(5)
    tune(4_000)
    join("often")
    world.run(5)
    wire = WireLog(world)
    world.run(100)
    assert (rounds_ms("usual", wire), rounds_ms("often", wire)) == ({20_000}, {4_000})
    assert world.snapshot()["sandbox"]["client_rebalance_interval_ms"] == 4_000
    with pytest.raises(ActionRefused, match="client_rebalance_interval_ms"):
        tune(10)
