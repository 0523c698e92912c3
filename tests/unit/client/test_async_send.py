"""Sending without waiting, against scripted brokers."""

import asyncio
from typing import Any

import pytest

from sandbox.client.config import ProducerConfig
from sandbox.client.producer import Producer
from sandbox.client.queue_selectors import by_id
from sandbox.client.results import SendResult, SendStatus
from sandbox.journal.events import SendFailed
from sandbox.kernel.errors import BrokerRefused, ClientError, SandboxError, SendTimeout
from sandbox.message.message import Message
from sandbox.message.queue import MessageQueue
from sandbox.remoting.bodies import BrokerData, QueueData, TopicRouteData
from sandbox.remoting.channel import Channel
from sandbox.remoting.codes import RequestCode as Code
from sandbox.remoting.codes import ResponseCode as Answer
from sandbox.remoting.command import RemotingCommand
from sandbox.remoting.headers import SendHeader
from tests.unit.client.fake_cluster import ADDRESS, BROKER, FakeCluster

DEAD = "10.0.0.2:10911"  # no one listens there


def producer(cluster: FakeCluster, **config: Any) -> Producer:
    made = Producer(ProducerConfig(group="P", **config), cluster.instance("p"))
    cluster.run(made.start())
    return made


def send(cluster: FakeCluster, sender: Producer, **how: Any) -> "asyncio.Future[SendResult]":
    async def begin() -> "asyncio.Future[SendResult]":
        return sender.send_async(Message.make("T", b"x"), **how)

    return cluster.run(begin())


def outcome(cluster: FakeCluster, future: "asyncio.Future[SendResult]") -> SendResult | BaseException:
    cluster.loop.run_for(10)
    return future.exception() or future.result()


def headers(cluster: FakeCluster) -> list[SendHeader]:
    return [SendHeader.from_ext(command.ext) for command in cluster.requests(Code.SEND_MESSAGE_V2)]


def with_a_dead_broker(cluster: FakeCluster) -> None:
    """The topic has two queues on a broker that is gone and four on the living one."""

    def route(command: RemotingCommand, channel: Channel) -> None:
        route = TopicRouteData(
            (QueueData(BROKER, 4, 4, 6), QueueData("broker-b", 2, 2, 6)),
            (BrokerData(BROKER, "C", {0: ADDRESS}), BrokerData("broker-b", "C", {0: DEAD})),
        )
        channel.send(command.reply(Answer.SUCCESS, body=route.encode()))

    cluster._get_routeinfo_by_topic = route  # type: ignore[method-assign]


def test_the_result_comes_to_the_future_and_to_the_callback(cluster: FakeCluster) -> None:
    sender = producer(cluster)
    heard: list[SendResult | SandboxError] = []
    future = send(cluster, sender, on_done=heard.append)
    assert (future.done(), sender.async_sends.under_way) == (False, 1)
    result = outcome(cluster, future)
    assert isinstance(result, SendResult)
    assert result.status is SendStatus.SEND_OK
    assert (heard, sender.async_sends.under_way, sender.sent) == ([result], 0, 1)


def test_an_error_answer_is_never_tried_again(cluster: FakeCluster) -> None:
    """A waiting send would be: 14 is among its codes."""
    sender = producer(cluster)
    cluster.refuse = {Code.SEND_MESSAGE_V2: [14]}
    heard: list[Any] = []
    assert isinstance(outcome(cluster, send(cluster, sender, on_done=heard.append)), BrokerRefused)
    assert ([why.code for why in heard], len(headers(cluster)), sender.failed) == ([14], 1, 1)


def test_a_lost_connection_is_tried_at_another_broker_with_the_queue_id_it_had(cluster: FakeCluster) -> None:
    with_a_dead_broker(cluster)
    sender = producer(cluster)
    sender.faults.turn = 4  # the sixth queue is next: broker-b, queue 1
    result = outcome(cluster, send(cluster, sender))
    assert isinstance(result, SendResult)
    assert result.queue == MessageQueue("T", BROKER, 1)
    [header] = headers(cluster)
    assert (header.queue_id, header.broker) == (1, "broker-b")  # the header is as it was
    failed = [(event.broker, event.attempt, event.retried) for event in cluster.events(SendFailed)]
    assert failed == [("broker-b", 1, True)]


def test_a_chosen_queue_is_tried_at_its_own_broker_and_three_times_at_most(cluster: FakeCluster) -> None:
    with_a_dead_broker(cluster)
    sender = producer(cluster)
    assert isinstance(outcome(cluster, send(cluster, sender, selector=by_id(5))), SandboxError)
    failed = [(event.broker, event.attempt, event.retried) for event in cluster.events(SendFailed)]
    assert failed == [("broker-b", 1, True), ("broker-b", 2, True), ("broker-b", 3, False)]
    assert headers(cluster) == []


def test_a_timeout_uses_up_the_time_of_all_attempts(cluster: FakeCluster) -> None:
    """Missing answers are looked for once a second, so three seconds are four; nothing is left to try again."""
    sender = producer(cluster)
    cluster.silent = {Code.SEND_MESSAGE_V2}
    future = send(cluster, sender)
    cluster.loop.run_for(3.9)
    assert not future.done()
    assert isinstance(outcome(cluster, future), SendTimeout)
    assert len(headers(cluster)) == 1


def test_who_sends_faster_than_brokers_answer_is_refused_at_once(cluster: FakeCluster) -> None:
    sender = producer(cluster, async_sends=2)
    cluster.silent = {Code.SEND_MESSAGE_V2}
    waiting = [send(cluster, sender) for _ in range(2)]
    with pytest.raises(ClientError, match="2 asynchronous sends are under way"):
        send(cluster, sender)
    assert all(isinstance(outcome(cluster, future), SendTimeout) for future in waiting)
    cluster.silent = set()
    assert isinstance(outcome(cluster, send(cluster, sender)), SendResult)


def test_what_cannot_be_sent_is_reported_later_like_everything_else(cluster: FakeCluster) -> None:
    sender = producer(cluster)
    future = send(cluster, sender, selector=lambda queues, _message: queues[99])
    assert isinstance(why := outcome(cluster, future), ClientError)
    assert "select message queue threw exception" in str(why)


def test_a_crash_ends_what_is_under_way_without_a_word(cluster: FakeCluster) -> None:
    sender = producer(cluster)
    cluster.silent = {Code.SEND_MESSAGE_V2}
    heard: list[Any] = []
    future = send(cluster, sender, on_done=heard.append)
    cluster.loop.run_for(1)
    sender.crash()
    cluster.loop.run_for(5)
    assert (future.cancelled(), heard, sender.async_sends.under_way) == (True, [], 0)
