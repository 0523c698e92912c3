"""Clients that sign, at a broker that asks who they are."""

import pytest

from sandbox.broker.acl_config import Account, AclConfig
from sandbox.client.admin.admin import Admin
from sandbox.client.config import ConsumeFromWhere, ProducerConfig, PushConsumerConfig
from sandbox.client.producer import Producer
from sandbox.client.push_consumer import PushConsumer
from sandbox.control.actions import ResetOffsets
from sandbox.control.rights import allows
from sandbox.kernel.errors import BrokerRefused
from sandbox.message.message import Message
from sandbox.remoting.bodies import Settings
from sandbox.remoting.codes import RequestCode
from tests.sim.client_world import BROKER_ADDRESS, NAME_SERVER, Work, World, client_world

SECRET = "12345678"
ACL = AclConfig(
    (
        Account("the-shop", SECRET, topic_perms=("T=PUB|SUB",), group_perms=("G=SUB",)),
        Account("a-visitor", SECRET, default_topic_perm="DENY", default_group_perm="DENY"),
    )
)


world = client_world(acl=ACL)


def test_a_client_with_the_key_sends_and_consumes_all_it_asks_for(world: World) -> None:
    producer = Producer(ProducerConfig(group="P"), world.instance("sender", access_key="the-shop", secret_key=SECRET))
    world.run(producer.start())
    work = Work(world)
    consumer = PushConsumer(
        PushConsumerConfig(group="G", from_where=ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET),
        world.instance("c1", access_key="the-shop", secret_key=SECRET),
        work,
    )
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


@pytest.mark.seed("0.42", "D49")
def test_any_account_may_reset_any_group_and_pages_have_a_right_for_it(world: World) -> None:
    """Request 222 stands in no list of the 4.x ACL, while what changes the broker needs an administrator."""
    work = Work(world)
    consumer = PushConsumer(
        PushConsumerConfig(group="G", from_where=ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET),
        world.instance("c1", access_key="the-shop", secret_key=SECRET),
        work,
    )
    consumer.subscribe("T")
    world.run(consumer.start())
    world.pass_s(30)
    admin = Admin(
        [NAME_SERVER],
        clock=world.clock,
        connector=world.network.connector("10.0.7.7"),
        access_key="a-visitor",
        secret_key=SECRET,
    )
    moved = world.run(admin.offsets.reset_by_time(BROKER_ADDRESS, "G", "T", world.clock.now_ms()))
    assert len(moved) == 8
    with pytest.raises(BrokerRefused, match="Need admin permission for request code=25"):
        world.run(
            admin.names.requests.ask(
                BROKER_ADDRESS, RequestCode.UPDATE_BROKER_CONFIG, body=Settings({"a": "b"}).encode()
            )
        )
    with pytest.raises(BrokerRefused, match="No default permission"):
        world.run(admin.offsets.commit(BROKER_ADDRESS, "G", next(iter(moved)), 0))
    admin.close()
    assert {role: allows(role, ResetOffsets) for role in ("owner", "editor", "operator", "viewer")} == {
        "owner": True,
        "editor": True,
        "operator": True,
        "viewer": False,
    }
