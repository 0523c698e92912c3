"""Consuming by hand, with the real broker."""

from collections.abc import Iterator

import pytest

from sandbox.client.pull_consumer import PullConsumer, PullConsumerConfig
from sandbox.client.results import PullStatus
from sandbox.journal.events import PullSuspended
from sandbox.kernel.errors import ClientError
from sandbox.message.queue import MessageQueue
from sandbox.transport.loopback import LoopbackNetwork
from tests.sim.client_world import BROKER, World

Q0 = MessageQueue("T", BROKER, 0)


@pytest.fixture
def world() -> Iterator[World]:
    world = World(queues=2)
    yield world
    world.loop.close()


@pytest.fixture
def reader(world: World) -> PullConsumer:
    consumer = PullConsumer(PullConsumerConfig(group="READERS"), world.instance("reader", stream=True))
    world.run(consumer.start())
    return consumer


def test_each_answer_says_where_the_next_pull_begins(world: World, reader: PullConsumer) -> None:
    world.send(5, queue_id=0)
    assert world.run(reader.fetch_queues("T")) == [Q0, MessageQueue("T", BROKER, 1)]
    first = world.run(reader.pull(Q0, 0, max_messages=3))
    assert (first.status, first.next_offset, first.max_offset) == (PullStatus.FOUND, 3, 5)
    rest = world.run(reader.pull(Q0, first.next_offset))
    assert [message.keys for message in rest.messages] == ["k3", "k4"]
    assert world.run(reader.pull(Q0, 5)).status is PullStatus.NO_NEW_MSG
    assert world.run(reader.pull(Q0, 99)).status is PullStatus.OFFSET_ILLEGAL


def test_a_blocking_pull_waits_at_the_broker_for_the_first_message(world: World, reader: PullConsumer) -> None:
    world.send(1, queue_id=1)
    world.run(reader.fetch_queues("T"))
    waiting = world.loop.create_task(reader.pull(Q0, 0, block=True))
    world.pass_s(4)
    assert not waiting.done()
    assert [event.patience_ms for event in world.events(PullSuspended)] == [20_000]
    world.send(1, queue_id=0)
    world.pass_s(0.1)
    assert [message.keys for message in waiting.result().messages] == ["k1"]


def test_tags_are_chosen_per_pull(world: World, reader: PullConsumer) -> None:
    for tags in ("red", "blue", "red"):
        world.send(1, queue_id=0, tags=tags)
    world.run(reader.fetch_queues("T"))
    found = world.run(reader.pull(Q0, 0, expression="blue"))
    assert [message.keys for message in found.messages] == ["k1"]


def test_noted_offsets_reach_the_broker_with_the_timer(world: World, reader: PullConsumer) -> None:
    world.send(3, queue_id=0)
    world.run(reader.fetch_queues("T"))
    reader.update_consume_offset(Q0, 2)
    world.pass_s(11)
    assert world.broker.consumer_offsets.get("READERS", "T", 0) == 2
    assert world.run(reader.consume_offset(Q0, from_store=True)) == 2
    assert (world.run(reader.min_offset(Q0)), world.run(reader.max_offset(Q0))) == (0, 3)
    world.run(reader.shutdown())
    assert "READERS" not in world.broker.consumers.groups


def test_a_pull_consumers_client_id_and_requests_carry_the_stream_mark(world: World, reader: PullConsumer) -> None:
    marks: list[str | None] = []
    assert isinstance(world.network, LoopbackNetwork)
    world.network.tap = lambda _sender, _receiver, command: (
        None if command.is_response else marks.append((command.ext or {}).get("ReqT"))
    )
    world.run(reader.fetch_queues("T"))
    world.run(reader.pull(Q0, 0))
    assert reader.client_id.endswith("@STREAM")
    assert marks == ["0", "0"]


def test_an_unknown_topic_has_no_queues(world: World, reader: PullConsumer) -> None:
    with pytest.raises(ClientError, match="No route info"):
        world.run(reader.fetch_queues("Nowhere"))
