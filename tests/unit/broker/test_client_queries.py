"""Administrators ask, the broker passes on, clients answer."""

import pytest

from sandbox.message.queue import MessageQueue
from sandbox.remoting.bodies import ConsumerStatusBody
from sandbox.remoting.codes import RequestCode
from tests.unit.broker.stage import Client, Stage

QUEUE = MessageQueue("orders", "broker-a", 0)
RUNNING_INFO = {"consumerGroup": "g", "clientId": "c1", "jstackEnable": "false"}


@pytest.fixture
def member(stage: Stage) -> Client:
    client = stage.client()
    client.heartbeat("c1", "g", "orders")
    client.requests.clear()
    return client


def answer(stage: Stage, member: Client, body: bytes, code: int = 0) -> None:
    [asked] = member.requests
    member.requests.clear()
    member.channel.send(asked.reply(code, None, body, remark="told"))
    stage.settle()


def test_running_info_comes_from_the_client(stage: Stage, member: Client) -> None:
    admin = stage.client()
    opaque = admin.post(RequestCode.GET_CONSUMER_RUNNING_INFO, RUNNING_INFO)
    stage.settle()
    assert [c.ext for c in member.requests] == [RUNNING_INFO]
    answer(stage, member, b'{"mqTable":{}}')
    got = admin.answers[opaque]
    assert (got.code, got.remark, got.body) == (0, "told", b'{"mqTable":{}}')


def test_a_client_that_says_nothing_for_ten_seconds_is_207(stage: Stage, member: Client) -> None:
    admin = stage.client()
    opaque = admin.post(RequestCode.GET_CONSUMER_RUNNING_INFO, RUNNING_INFO)
    stage.pass_s(9.9)
    assert opaque not in admin.answers
    stage.pass_s(0.2)
    assert admin.answers[opaque].code == 207
    answer(stage, member, b"too late")
    assert admin.answers[opaque].code == 207


def test_no_one_can_be_asked_who_is_not_there(stage: Stage, member: Client) -> None:
    got = stage.client().call(RequestCode.GET_CONSUMER_RUNNING_INFO, {**RUNNING_INFO, "clientId": "nobody"})
    assert (got.code, got.remark) == (1, "The Consumer <g> <nobody> not online")


def test_a_client_too_old_is_not_asked(stage: Stage) -> None:
    stage.client().heartbeat("c1", "g", "orders", client_version=61)
    assert stage.client().call(RequestCode.GET_CONSUMER_RUNNING_INFO, RUNNING_INFO).code == 1


def test_a_message_is_consumed_once_more_by_the_client_that_is_named(stage: Stage, member: Client) -> None:
    admin = stage.client()
    sent = admin.send("orders", b"again")
    assert sent.ext is not None
    ext = {"consumerGroup": "g", "clientId": "c1", "msgId": sent.ext["msgId"]}
    opaque = admin.post(RequestCode.CONSUME_MESSAGE_DIRECTLY, ext)
    stage.settle()
    [asked] = member.requests
    assert asked.ext == {**ext, "brokerName": "broker-a"}
    assert asked.body == stage.broker.store.read(0)
    answer(stage, member, b'{"consumeResult":"CR_SUCCESS"}')
    assert admin.answers[opaque].body == b'{"consumeResult":"CR_SUCCESS"}'


@pytest.mark.parametrize("msg_id", ["no id", "7F00000200002A9F00000000000F423F"])
def test_a_message_that_is_not_there_cannot_be_consumed_again(stage: Stage, member: Client, msg_id: str) -> None:
    ext = {"consumerGroup": "g", "clientId": "c1", "msgId": msg_id}
    assert stage.client().call(RequestCode.CONSUME_MESSAGE_DIRECTLY, ext).code == 1


def test_status_gathers_what_every_member_says_and_leaves_out_who_is_silent(stage: Stage, member: Client) -> None:
    silent, admin = stage.client(), stage.client()
    silent.heartbeat("c2", "g", "orders")
    member.requests.clear()
    opaque = admin.post(
        RequestCode.INVOKE_BROKER_TO_GET_CONSUMER_STATUS, {"topic": "orders", "group": "g", "clientAddr": ""}
    )
    stage.settle()
    answer(stage, member, ConsumerStatusBody({QUEUE: 5}, {}).encode())
    assert opaque not in admin.answers
    stage.pass_s(5.1)
    got = admin.answers[opaque]
    assert (got.code, ConsumerStatusBody.decode(got.body).clients) == (0, {"c1": {QUEUE: 5}})


def test_an_empty_group_has_no_status(stage: Stage) -> None:
    got = stage.client().call(RequestCode.INVOKE_BROKER_TO_GET_CONSUMER_STATUS, {"topic": "orders", "group": "nobody"})
    assert (got.code, got.remark) == (1, "No Any Consumer online in the consumer group: [nobody]")


def test_an_answer_no_one_asked_for_is_dropped(stage: Stage, member: Client) -> None:
    stray = stage.client()
    stray.call(RequestCode.GET_CONSUMER_LIST_BY_GROUP, {"consumerGroup": "g"})
    stray.channel.send(stray.answers[1].reply(0))
    stage.settle()
    assert len(stray.answers) == 1
