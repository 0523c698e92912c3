"""Asking with a message and getting a reply, over a broker both know."""

import asyncio
from typing import Any

import pytest

from sandbox.client import request_reply
from sandbox.client.config import ProducerConfig
from sandbox.client.producer import Producer
from sandbox.client.request_reply import reply_to
from sandbox.client.results import ConsumeConcurrentlyStatus
from sandbox.kernel.errors import ClientError, SendTimeout
from sandbox.message import properties as props
from sandbox.message.message import Message
from tests.sim.client_world import World, client_world

REPLY_TOPIC = "DefaultCluster_REPLY_TOPIC"


class Answering:
    """A listener that replies to each message after `wait_s`, over a producer of its own."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.wait_s = 0.0
        self.body = b"pong"
        self.producer = Producer(ProducerConfig(group="R"), world.instance("replier"))
        world.run(self.producer.start())

    async def __call__(self, messages: list[Message], context: Any) -> ConsumeConcurrentlyStatus:
        for message in messages:
            await self._world.clock.sleep(self.wait_s)
            await self.producer.send(reply_to(message, self.body))
        return ConsumeConcurrentlyStatus.CONSUME_SUCCESS


world = client_world()


@pytest.fixture
def asker(world: World) -> Producer:
    asker = Producer(ProducerConfig(group="A"), world.instance("asker"))
    world.run(asker.start())
    return asker


@pytest.fixture
def answering(world: World) -> Answering:
    answering = Answering(world)
    world.consumer("c1", answering)  # type: ignore[arg-type]  # a listener, as Work is
    world.pass_s(5)
    return answering


def test_the_reply_comes_to_who_asked(world: World, asker: Producer, answering: Answering) -> None:
    reply = world.run(asker.request(Message.make("T", b"ping", keys="k"), 3_000))
    assert (reply.body, reply.topic) == (b"pong", REPLY_TOPIC)
    assert reply.properties[props.REPLY_TO_CLIENT] == asker.instance.client_id
    assert reply.properties[props.TTL] == "3000"
    assert int(reply.properties[props.ARRIVE_TIME]) >= int(reply.properties[props.PUSH_REPLY_TIME])
    assert len(asker.instance.requests) == 0
    assert world.broker.store.max_offset(REPLY_TOPIC, 0) == 1, "the broker keeps it"


def test_a_large_reply_is_unpacked(world: World, asker: Producer, answering: Answering) -> None:
    answering.body = b"pong" * 5_000
    reply = world.run(asker.request(Message.make("T", b"ping"), 3_000))
    assert reply.body == answering.body


def test_many_ask_at_once_and_each_gets_its_own(world: World, asker: Producer, answering: Answering) -> None:
    async def all_of_them() -> list[Message]:
        questions = [Message.make("T", b"ping", keys=str(number)) for number in range(20)]
        replies = await asyncio.gather(*(asker.request(question, 3_000) for question in questions))
        ids = [question.properties[props.CORRELATION_ID] for question in questions]
        assert [reply.properties[props.CORRELATION_ID] for reply in replies] == ids
        assert len(set(ids)) == 20
        return replies

    assert len(world.run(all_of_them())) == 20


def test_no_reply_in_time_is_a_timeout_and_a_late_one_is_not_even_unpacked(
    world: World, asker: Producer, answering: Answering, monkeypatch: pytest.MonkeyPatch
) -> None:
    unpacked: list[object] = []
    monkeypatch.setattr("sandbox.client.incoming.pushed", lambda *given: unpacked.append(given))
    answering.wait_s = 5
    began_s = world.now_s
    with pytest.raises(SendTimeout, match=r"OK, but wait reply message timeout, 2000 ms"):
        world.run(asker.request(Message.make("T", b"ping"), 2_000))
    assert world.now_s - began_s == pytest.approx(2.0, abs=0.01)
    world.pass_s(10)
    assert answering.producer.sent == 1, "the requester took it, and dropped it"
    assert unpacked == []


def test_what_cannot_be_sent_is_not_waited_for(world: World, asker: Producer) -> None:
    world.run(asker.publish_queues("T"))
    world.broker.stop()
    world.network.unlisten("10.0.0.2:10911")
    with pytest.raises(ClientError, match=r"send request message to <T> fail"):
        world.run(asker.request(Message.make("T", b"ping"), 3_000))
    assert len(asker.instance.requests) == 0


def test_a_message_of_no_cluster_has_no_reply() -> None:
    with pytest.raises(ClientError, match=r"property\[CLUSTER\] is null"):
        reply_to(Message.make("T", b"ping"), b"pong")


def test_a_reply_to_someone_gone_is_refused(world: World, answering: Answering) -> None:
    asked = Message("T", b"", {props.CLUSTER: "DefaultCluster", props.CORRELATION_ID: "i", props.REPLY_TO_CLIENT: "x"})
    with pytest.raises(Exception, match=r"channel of <x> not found"):
        world.run(answering.producer.send(reply_to(asked, b"pong")))


def test_only_so_many_requests_wait(world: World, asker: Producer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_reply, "MAX_REQUESTS", 1)
    instance = asker.instance

    async def coroutine() -> None:
        instance.requests.begin()
        with pytest.raises(ClientError, match=r"1 requests are waiting"):
            await asker.request(Message.make("T", b"ping"), 1_000)

    world.run(coroutine())


def test_a_property_of_that_name_alone_makes_no_reply() -> None:
    assert request_reply.is_reply("MSG_TYPE\x01reply\x02A\x01b")
    assert not request_reply.is_reply("MSG_TYPE\x01reply-not")
    assert not request_reply.is_reply("A\x01MSG_TYPE")
