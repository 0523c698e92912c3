"""When the shape changes under a running group: more queues, fewer queues, other subscriptions, shared processes."""

import pytest

from sandbox.client.allocate import strategy
from sandbox.client.config import ProducerConfig, PushConsumerConfig
from sandbox.client.producer import Producer
from sandbox.client.push_consumer import PushConsumer
from sandbox.journal.events import QueuesAssigned, SendFailed
from sandbox.kernel.errors import SandboxError
from sandbox.message.message import Message
from sandbox.remoting.bodies import TopicConfig
from tests.sim.client_world import BROKER_ADDRESS, Work, World, client_world, owned

world = client_world(queues=4)


def test_another_strategy_counts_from_the_next_rebalance(world: World) -> None:
    members = [world.consumer(name, Work(world)) for name in "ab"]
    for member in members:
        member.strategy = strategy("AVG_BY_CIRCLE")
    world.pass_s(21)
    assert [owned(member) for member in members] == [[0, 2], [1, 3]]
    assert {event.strategy for event in world.events(QueuesAssigned)} == {"AVG", "AVG_BY_CIRCLE"}


def test_members_that_saw_different_strategies_leave_a_queue_to_no_one_or_to_two(world: World) -> None:
    a, b = world.consumer("a", Work(world)), world.consumer("b", Work(world))
    a.strategy = strategy("AVG_BY_CIRCLE")
    world.pass_s(21)
    assert (owned(a), owned(b)) == ([0, 2], [2, 3])


def test_two_groups_in_one_process_share_its_connections_and_die_together(world: World) -> None:
    works = [Work(world), Work(world)]
    instance = world.instance("both")
    members = [
        PushConsumer(PushConsumerConfig(group=group), instance, work)
        for group, work in zip(("G1", "G2"), works, strict=True)
    ]
    for member in members:
        member.subscribe("T")
        world.run(member.start())
    world.pass_s(1)
    world.send(8)
    world.pass_s(1)
    assert [len(work.keys) for work in works] == [8, 8]
    world.run(members[0].shutdown())
    assert (instance.state, members[1].state) == ("running", "running")
    members[1].crash()
    world.pass_s(1)
    assert members[1].state == "crashed"
    assert world.broker.consumers.groups == {}


def test_a_topic_wanted_later_is_read_after_the_next_poll_and_one_wanted_no_more_is_dropped(world: World) -> None:
    work = Work(world)
    a = world.consumer("a", work)
    world.broker.create_topic(TopicConfig("U", 2, 2))

    async def want() -> None:
        a.subscribe("U")

    world.run(want())
    world.pass_s(51)
    assert owned(a, "U") == [0, 1]
    a.unsubscribe("T")
    world.pass_s(21)
    assert owned(a, "T") == []


def test_a_send_that_used_up_its_time_in_one_attempt_is_one_attempt() -> None:
    """RocketMQ: the time of all attempts together is `sendMsgTimeout`."""
    world = World(2, seed=7)
    sender = Producer(ProducerConfig(group="P"), world.instance("sender"))
    world.run(sender.start())
    world.run(sender.send(Message.make("T", b"x")))  # the route is known, the connection is open
    world.cruel.partition(BROKER_ADDRESS, "*")
    with pytest.raises(SandboxError):
        world.run(sender.send(Message.make("T", b"x")))
    failures = [entry.event for entry in world.journal.since(0) if isinstance(entry.event, SendFailed)]
    assert [(event.attempt, event.retried, event.status) for event in failures] == [(1, False, "SendTimeout")]
    world.loop.close()
