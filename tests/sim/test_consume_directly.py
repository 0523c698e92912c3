"""An administrator has one member consume one message again."""

import json
from typing import Any

import pytest

from sandbox.client.push_consumer import PushConsumer
from sandbox.client.results import ConsumeConcurrentlyStatus, ConsumeOrderlyStatus
from sandbox.message.message import Message
from sandbox.remoting.codes import RequestCode
from sandbox.remoting.command import RemotingCommand
from tests.sim.client_world import BROKER_ADDRESS, Work, World, client_world

world = client_world()


def ask(world: World, member: PushConsumer, message_id: str) -> RemotingCommand:
    ext = {"consumerGroup": "G", "clientId": member.client_id, "msgId": message_id}
    command = RemotingCommand(RequestCode.CONSUME_MESSAGE_DIRECTLY, ext)
    answer: RemotingCommand = world.run(world.instance("admin").connections.invoke(BROKER_ADDRESS, command, 12_000))
    return answer


def result(answer: RemotingCommand) -> dict[str, Any]:
    assert answer.code == 0, answer.remark
    found: dict[str, Any] = json.loads(answer.body or b"")
    return found


def test_the_member_consumes_it_once_more_and_commits_nothing(world: World) -> None:
    work = Work(world)
    member = world.consumer("c1", work)
    [sent] = world.send()
    world.pass_s(30)
    assert work.keys == ["k0"]
    work.usual_s = 2
    answer = result(ask(world, member, sent.msg_id))
    assert work.keys == ["k0", "k0"]
    assert answer == {"autoCommit": True, "consumeResult": "CR_SUCCESS", "order": False, "spentTimeMills": 2_000}
    assert world.broker.consumer_offsets.get("G", "T", sent.queue.queue_id) == 1


@pytest.mark.parametrize(
    ("status", "orderly", "reported"),
    [
        (ConsumeConcurrentlyStatus.RECONSUME_LATER, False, "CR_LATER"),
        (None, False, "CR_RETURN_NULL"),
        (ConsumeOrderlyStatus.SUSPEND_CURRENT_QUEUE_A_MOMENT, True, "CR_LATER"),
        (ConsumeOrderlyStatus.COMMIT, True, "CR_COMMIT"),
        (ConsumeOrderlyStatus.ROLLBACK, True, "CR_ROLLBACK"),
    ],
)
def test_what_the_listener_says_is_reported(world: World, status: Any, orderly: bool, reported: str) -> None:
    work = Work(world, orderly=orderly)
    member = world.consumer("c1", work, listener="orderly" if orderly else "concurrent")
    [sent] = world.send()
    world.pass_s(30)
    work.success = status
    answer = result(ask(world, member, sent.msg_id))
    assert (answer["consumeResult"], answer["order"]) == (reported, orderly)


def test_a_listener_that_fails_is_reported_with_its_reason(world: World) -> None:
    member = world.consumer("c1", Work(world))
    [sent] = world.send()
    world.pass_s(30)

    async def failing(messages: list[Message], context: Any) -> Any:
        raise KeyError("no such order")

    member._listener = failing
    answer = result(ask(world, member, sent.msg_id))
    assert (answer["consumeResult"], answer["remark"]) == ("CR_THROW_EXCEPTION", "KeyError: 'no such order'")
