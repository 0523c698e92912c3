"""Replies: the broker passes them to who asked, and keeps them."""

import pytest

from sandbox.message import properties as props
from sandbox.remoting.codes import RequestCode
from sandbox.remoting.command import FLAG_ONEWAY, RemotingCommand
from sandbox.remoting.headers import PushReplyHeader, SendHeader, SendResponseHeader
from tests.unit.broker.stage import Client, Stage, stage_with

TOPIC = "DefaultCluster_REPLY_TOPIC"
ASKER = "10.0.0.9@asker"
stage = stage_with()


@pytest.fixture
def asker(stage: Stage) -> Client:
    """A producer the broker knows by name."""
    client = stage.client()
    client.heartbeat(ASKER, "g", "orders")
    client.requests.clear()
    return client


def header(stage: Stage, **found: str) -> SendHeader:
    text = props.encode({props.MSG_TYPE: "reply", props.CORRELATION_ID: "id-1", props.TTL: "3000", **found})
    return SendHeader("R", TOPIC, "TBW102", 4, 0, 0, stage.time.clock.now_ms(), 0, text)


def post(
    stage: Stage, replier: Client, code: int = RequestCode.SEND_REPLY_MESSAGE_V2, flag: int = 0, **found: str
) -> int:
    sent = header(stage, **found)
    ext = sent.to_ext() if code == RequestCode.SEND_REPLY_MESSAGE_V2 else sent.to_v1_ext()
    opaque = replier.post(code, ext, b"pong", flag=flag)
    stage.settle()
    return opaque


def answer(stage: Stage, asker: Client, code: int = 0) -> RemotingCommand:
    [asked] = asker.requests
    asker.channel.send(asked.reply(code))
    stage.settle()
    return asked


@pytest.mark.parametrize("code", [RequestCode.SEND_REPLY_MESSAGE, RequestCode.SEND_REPLY_MESSAGE_V2])
def test_a_reply_reaches_who_asked_and_is_stored_and_then_answered(stage: Stage, asker: Client, code: int) -> None:
    replier = stage.client()
    opaque = post(stage, replier, code, REPLY_TO_CLIENT=ASKER)
    assert opaque not in replier.answers, "the requester has not answered yet"
    pushed = answer(stage, asker)
    got = PushReplyHeader.from_ext(pushed.ext)
    assert (pushed.code, pushed.body, got.topic) == (RequestCode.PUSH_REPLY_MESSAGE_TO_CLIENT, b"pong", TOPIC)
    assert got.born_host == replier.channel.local  # type: ignore[attr-defined]
    assert props.decode(got.properties)[props.PUSH_REPLY_TIME] == str(got.store_ms)
    assert replier.answers[opaque].code == 0
    sent = SendResponseHeader.from_ext(replier.answers[opaque].ext)
    stored = stage.broker.store.read_message(stage.broker.store.unit(TOPIC, 0, 0).physical_offset)  # type: ignore[union-attr]
    assert stored is not None
    assert (stored.body, sent.queue_offset) == (b"pong", 0)
    assert props.PUSH_REPLY_TIME not in stored.properties
    assert props.CLUSTER not in stored.properties


def test_a_reply_to_no_one_is_refused_but_stored(stage: Stage) -> None:
    replier = stage.client()
    refused = replier.answers[post(stage, replier, REPLY_TO_CLIENT="10.0.0.9@gone")]
    assert (refused.code, refused.remark) == (1, "push reply message fail, channel of <10.0.0.9@gone> not found.")
    unnamed = replier.answers[post(stage, replier)]
    assert (unnamed.code, unnamed.remark) == (1, "reply message properties[REPLY_TO_CLIENT] is null")
    assert stage.broker.store.max_offset(TOPIC, 0) == 2


def test_a_requester_that_does_not_take_it_makes_the_reply_fail(stage: Stage, asker: Client) -> None:
    replier = stage.client()
    opaque = post(stage, replier, REPLY_TO_CLIENT=ASKER)
    answer(stage, asker, code=1)
    assert (replier.answers[opaque].code, replier.answers[opaque].remark) == (1, f"push reply message to {ASKER}fail.")
    silent = post(stage, replier, REPLY_TO_CLIENT=ASKER)
    stage.pass_s(9.9)
    assert silent not in replier.answers
    stage.pass_s(0.2)
    assert replier.answers[silent].code == 1


def test_where_replies_are_not_kept_the_answer_names_no_place() -> None:
    stage = Stage(store_reply=False)
    asker, replier = stage.client(), stage.client()
    asker.heartbeat(ASKER, "g", "orders")
    asker.requests.clear()
    opaque = post(stage, replier, REPLY_TO_CLIENT=ASKER)
    answer(stage, asker)
    assert SendResponseHeader.from_ext(replier.answers[opaque].ext) == ("0", 0, 0, None)
    assert stage.broker.store.max_offset(TOPIC, 0) == 0


def test_a_oneway_reply_arrives_and_no_one_is_answered(stage: Stage, asker: Client) -> None:
    replier = stage.client()
    opaque = post(stage, replier, flag=FLAG_ONEWAY, REPLY_TO_CLIENT=ASKER)
    answer(stage, asker)
    assert opaque not in replier.answers
    assert stage.broker.store.max_offset(TOPIC, 0) == 1


def test_what_is_sent_may_be_replied_to(stage: Stage, asker: Client) -> None:
    """The checks are those of a send."""
    refused = stage.client().call(
        RequestCode.SEND_REPLY_MESSAGE_V2, header(stage)._replace(topic="SELF_TEST_TOPIC").to_ext(), b"pong"
    )
    assert refused.code == 16
