"""A consumer asks one broker whether its expression can be evaluated, before it registers with the others."""

import pytest

from sandbox.client.config import PushConsumerConfig
from sandbox.client.lite_pull_config import LitePullConsumerConfig
from sandbox.client.lite_pull_consumer import LitePullConsumer
from sandbox.client.push_consumer import PushConsumer
from sandbox.client.results import ConsumeConcurrentlyStatus
from sandbox.kernel.errors import BrokerRefused
from sandbox.message.filter import SQL92, TAG
from sandbox.remoting.codes import RequestCode
from sandbox.simulation.world import World
from tests.beginnings import world_of
from tests.seed.stage import WireLog, application

world = world_of("orders", seconds=5)


async def accept(_messages: object, _context: object) -> ConsumeConcurrentlyStatus:
    return ConsumeConcurrentlyStatus.CONSUME_SUCCESS


def push(world: World, name: str, kind: str, expression: str) -> PushConsumer:
    consumer = PushConsumer(PushConsumerConfig(group="filtering"), application(world, name), accept)
    consumer.subscribe("orders", expression, expression_type=kind)
    return consumer


@pytest.mark.seed("1.21", "D18")
def test_only_an_expression_that_is_no_tag_is_checked_and_at_one_broker_only(world: World) -> None:
    """Two brokers have the topic; the articles say that every start asks."""
    wire = WireLog(world)
    world.environment.sim.run(push(world, "tags", TAG, "red || blue").start())
    assert wire.requests(RequestCode.CHECK_CLIENT_CONFIG) == []
    asked: set[str] = set()
    for number in range(8):
        before = len(wire.requests(RequestCode.CHECK_CLIENT_CONFIG))
        with pytest.raises(BrokerRefused) as refusal:
            world.environment.sim.run(push(world, f"sql-{number}", SQL92, "a > 5").start())
        assert refusal.value.code == 1
        new = wire.requests(RequestCode.CHECK_CLIENT_CONFIG)[before:]
        assert len(new) == 1
        asked |= {frame.receiver for frame in new}
    assert len(asked) == 2  # a random one each time


def test_a_refused_expression_is_no_membership(world: World) -> None:
    consumer = push(world, "sql", SQL92, "a > 5")
    with pytest.raises(BrokerRefused, match="not support"):
        world.environment.sim.run(consumer.start())
    world.run(5)
    assert consumer.state == "refused"
    assert "filtering" not in {group["group"] for group in world.snapshot()["groups"]}


def test_a_lite_pull_consumer_asks_too(world: World) -> None:
    wire = WireLog(world)
    lite = LitePullConsumer(LitePullConsumerConfig(group="lite"), application(world, "lite", stream=True))
    world.environment.sim.run(lite.subscribe("orders", "a > 5", expression_type=SQL92))
    with pytest.raises(BrokerRefused):
        world.environment.sim.run(lite.start())
    assert len(wire.requests(RequestCode.CHECK_CLIENT_CONFIG)) == 1
