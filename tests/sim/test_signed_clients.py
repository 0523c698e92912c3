"""Clients that sign, at a broker that asks who they are."""

from collections.abc import Iterator

import pytest

from sandbox.broker.acl_config import Account, AclConfig
from sandbox.client.config import ConsumeFromWhere, ProducerConfig, PushConsumerConfig
from sandbox.client.producer import Producer
from sandbox.client.push_consumer import PushConsumer
from sandbox.kernel.errors import BrokerRefused
from sandbox.message.message import Message
from tests.sim.client_world import Work, World

SECRET = "12345678"
ACL = AclConfig((Account("the-shop", SECRET, topic_perms=("T=PUB|SUB",), group_perms=("G=SUB",)),))


@pytest.fixture
def world() -> Iterator[World]:
    world = World(acl=ACL)
    yield world
    world.loop.close()


def test_a_client_with_the_key_sends_and_consumes_all_it_asks_for(world: World) -> None:
    producer = Producer(ProducerConfig(group="P"),
                        world.instance("sender", access_key="the-shop", secret_key=SECRET))
    world.run(producer.start())
    work = Work(world)
    consumer = PushConsumer(PushConsumerConfig(group="G", from_where=ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET),
                            world.instance("c1", access_key="the-shop", secret_key=SECRET), work)
    consumer.subscribe("T")
    world.run(consumer.start())
    world.run(producer.send(Message.make("T", b"hello", keys="k0")))
    world.pass_s(30)
    assert work.keys == ["k0"]
    world.run(consumer.shutdown())
    assert "G" not in world.broker.consumers.groups, "its goodbye was signed, too"


def test_a_client_without_it_is_refused(world: World) -> None:
    with pytest.raises(BrokerRefused, match=r"No accessKey is configured"):
        world.send()


def test_a_secret_is_not_printed_with_the_configuration(world: World) -> None:
    assert SECRET not in repr(world.instance("c", access_key="the-shop", secret_key=SECRET).config)
