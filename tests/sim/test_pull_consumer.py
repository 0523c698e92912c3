"""Consuming by hand, with the real broker."""

import pytest

from sandbox.client.pull_consumer import PullConsumer, PullConsumerConfig
from sandbox.client.results import PullStatus
from sandbox.journal.events import PullSuspended
from sandbox.kernel.errors import ClientError, SendTimeout
from sandbox.message.queue import MessageQueue
from sandbox.remoting.codes import RequestCode
from sandbox.transport.loopback import LoopbackNetwork
from tests.sim.client_world import BROKER, World, client_world

Q0 = MessageQueue("T", BROKER, 0)
world = client_world(queues=2)


@pytest.fixture
def reader(world: World) -> PullConsumer:
    consumer = PullConsumer(PullConsumerConfig(group="READERS"), world.instance("reader", stream=True))
    world.run(consumer.start())
    return consumer


def test_each_answer_says_where_the_next_pull_begins(world: World, reader: PullConsumer) -> None:
    world.send(5, queue_id=0)
    assert world.run(reader.fetch_subscribe_queues("T")) == [Q0, MessageQueue("T", BROKER, 1)]
    first = world.run(reader.pull(Q0, 0, max_messages=3))
    assert (first.status, first.next_offset, first.max_offset) == (PullStatus.FOUND, 3, 5)
    rest = world.run(reader.pull(Q0, first.next_offset))
    assert [message.keys for message in rest.messages] == ["k3", "k4"]
    assert world.run(reader.pull(Q0, 5)).status is PullStatus.NO_NEW_MSG
    assert world.run(reader.pull(Q0, 99)).status is PullStatus.OFFSET_ILLEGAL


def test_a_blocking_pull_waits_at_the_broker_for_the_first_message(world: World, reader: PullConsumer) -> None:
    world.send(1, queue_id=1)
    world.run(reader.fetch_subscribe_queues("T"))
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
    world.run(reader.fetch_subscribe_queues("T"))
    found = world.run(reader.pull(Q0, 0, expression="blue"))
    assert [message.keys for message in found.messages] == ["k1"]


def test_noted_offsets_of_our_share_reach_the_broker_with_the_timer(world: World, reader: PullConsumer) -> None:
    world.send(3, queue_id=0)
    shares: list[list[int]] = []
    reader.register("T", lambda _topic, _queues, mine: shares.append([mq.queue_id for mq in mine]))
    world.run(reader.fetch_subscribe_queues("T"))
    world.pass_s(3)
    assert shares == [[0, 1]]
    assert reader.fetch_queues_in_balance("T") == [Q0, MessageQueue("T", BROKER, 1)]
    reader.update_consume_offset(Q0, 2)
    world.pass_s(11)
    assert world.broker.consumer_offsets.get("READERS", "T", 0) == 2
    assert world.run(reader.consume_offset(Q0, from_store=True)) == 2
    assert (world.run(reader.min_offset(Q0)), world.run(reader.max_offset(Q0))) == (0, 3)
    world.run(reader.shutdown())
    assert "READERS" not in world.broker.consumers.groups


def test_a_note_about_a_queue_outside_our_share_is_never_sent(world: World, reader: PullConsumer) -> None:
    """The 5 s timer sends what is in balance and forgets the rest; offsets can still be sent directly."""
    world.send(3, queue_id=0)
    world.run(reader.fetch_subscribe_queues("T"))
    reader.update_consume_offset(Q0, 2)
    world.pass_s(11)
    assert world.broker.consumer_offsets.get("READERS", "T", 0) is None
    world.run(reader.update_consume_offset_to_broker(Q0, 2, oneway=False))
    assert world.broker.consumer_offsets.get("READERS", "T", 0) == 2


def test_a_consumer_that_pulls_a_topic_takes_part_in_dividing_it(world: World, reader: PullConsumer) -> None:
    world.run(reader.fetch_subscribe_queues("T"))
    assert reader.fetch_queues_in_balance("T") == []
    world.run(reader.pull(Q0, 0))
    world.pass_s(45)  # the heartbeat has registered us, the broker has notified us
    assert [mq.queue_id for mq in reader.fetch_queues_in_balance("T")] == [0, 1]


def test_two_readers_share_a_topic_and_each_hears_of_it(world: World, reader: PullConsumer) -> None:
    other = PullConsumer(PullConsumerConfig(group="READERS"), world.instance("s-other", stream=True))
    reader.register("T")
    world.pass_s(32)
    other.register("T")
    world.run(other.start())
    world.pass_s(3)
    shares = [[mq.queue_id for mq in member.fetch_queues_in_balance("T")] for member in (reader, other)]
    assert shares == [[0], [1]]
    other.crash()
    world.pass_s(1)
    assert [mq.queue_id for mq in reader.fetch_queues_in_balance("T")] == [0, 1]


def test_a_message_sent_back_comes_again_by_the_retry_topic(world: World, reader: PullConsumer) -> None:
    world.send(1, queue_id=0)
    world.run(reader.fetch_subscribe_queues("T"))
    (message,) = world.run(reader.pull(Q0, 0)).messages
    assert world.run(reader.send_message_back(message))
    world.pass_s(11)
    (retry,) = world.run(reader.fetch_subscribe_queues("%RETRY%READERS"))
    again = world.run(reader.pull(retry, 0))
    assert [(m.keys, m.reconsume_times, m.properties["RETRY_TOPIC"]) for m in again.messages] == [("k0", 1, "T")]


def test_a_reset_of_the_group_is_not_heard(world: World, reader: PullConsumer) -> None:
    reader.register("T")
    world.pass_s(32)
    reader.update_consume_offset(Q0, 5)
    world.run(reader.reset_offsets("T", {Q0: 0}))
    assert reader.status("T") == {Q0: 5}


def test_a_pull_waits_ten_seconds_for_an_answer_one_that_may_wait_thirty(world: World, reader: PullConsumer) -> None:
    world.run(reader.fetch_subscribe_queues("T"))
    answer = world.broker.handle
    world.broker.handle = (  # type: ignore[method-assign]
        lambda commands, channel: None if commands[0].code == RequestCode.PULL_MESSAGE else answer(commands, channel)
    )
    for block, patience_s in ((False, 10), (True, 30)):
        began_s = world.now_s
        with pytest.raises(SendTimeout):
            world.run(reader.pull(Q0, 0, block=block))
        assert world.now_s - began_s == pytest.approx(patience_s)


def test_a_pull_consumers_client_id_and_requests_carry_the_stream_mark(world: World, reader: PullConsumer) -> None:
    marks: list[str | None] = []
    assert isinstance(world.network, LoopbackNetwork)
    world.network.tap = lambda _sender, _receiver, command: (
        None if command.is_response else marks.append((command.ext or {}).get("ReqT"))
    )
    world.run(reader.fetch_subscribe_queues("T"))
    world.run(reader.pull(Q0, 0))
    assert reader.client_id.endswith("@STREAM")
    assert marks == ["0", "0"]


def test_an_unknown_topic_has_no_queues(world: World, reader: PullConsumer) -> None:
    with pytest.raises(ClientError, match="No route info"):
        world.run(reader.fetch_subscribe_queues("Nowhere"))
