"""A producer against a scripted cluster."""

from itertools import pairwise
from typing import Any

import pytest

from sandbox.client.config import ProducerConfig
from sandbox.client.producer import Producer
from sandbox.client.queue_selectors import by_hash, by_key
from sandbox.client.results import SendStatus
from sandbox.journal.events import SendFailed
from sandbox.kernel.errors import BrokerRefused, ClientError
from sandbox.message import batch as batches
from sandbox.message import properties
from sandbox.message.message import Message
from sandbox.message.queue import MessageQueue
from sandbox.message.sys_flag import COMPRESSED
from sandbox.remoting.bodies import HeartbeatData
from sandbox.remoting.codes import RequestCode as Code
from sandbox.remoting.headers import SendHeader
from tests.unit.client.fake_cluster import ADDRESS, BROKER, FakeCluster


def producer(cluster: FakeCluster, **config: Any) -> Producer:
    made = Producer(ProducerConfig(group="P", **config), cluster.instance("p"))
    cluster.run(made.start())
    return made


def headers(cluster: FakeCluster, code: Code = Code.SEND_MESSAGE_V2) -> list[SendHeader]:
    return [SendHeader.from_ext(command.ext) for command in cluster.requests(code)]


@pytest.mark.seed("3.19")
def test_sends_go_round_all_queues_of_the_topic(cluster: FakeCluster) -> None:
    sender = producer(cluster)
    results = [cluster.run(sender.send(Message.make("T", b"x"))) for _ in range(8)]
    chosen = [result.queue.queue_id for result in results]
    assert sorted(chosen) == [0, 0, 1, 1, 2, 2, 3, 3]
    assert {(later - earlier) % 4 for earlier, later in pairwise(chosen)} == {1}
    assert {result.status for result in results} == {SendStatus.SEND_OK}
    assert len({result.unique_key for result in results}) == 8


def test_the_queue_of_a_key_stays_the_same(cluster: FakeCluster) -> None:
    sender = producer(cluster)
    for key in ("N1234", "N9", "AA"):
        sent = [cluster.run(sender.send(Message.make("T", b"x", keys=key), selector=by_key)) for _ in range(3)]
        assert len({result.queue for result in sent}) == 1
    queues = [MessageQueue("T", BROKER, i) for i in range(4)]
    assert by_hash("Aa")(queues, Message("T", b"")) == by_hash("BB")(queues, Message("T", b""))


@pytest.mark.seed("3.17")
def test_an_unknown_topic_borrows_the_route_of_the_template_and_then_finds_its_own(cluster: FakeCluster) -> None:
    sender = producer(cluster)
    result = cluster.run(sender.send(Message.make("New", b"x")))
    assert result.queue.queue_id in range(4)  # min(4 asked for, 8 of the template)
    asked = [(command.ext or {})["topic"] for command in cluster.requests(Code.GET_ROUTEINFO_BY_TOPIC)]
    assert asked == ["New", "TBW102"]
    [header] = headers(cluster)
    assert (header.default_topic, header.default_topic_queues) == ("TBW102", 4)
    cluster.loop.run_for(31)
    assert len(cluster.requests(Code.GET_ROUTEINFO_BY_TOPIC)) >= 3


def test_a_refused_send_is_tried_three_times_with_the_same_unique_key(cluster: FakeCluster) -> None:
    sender = producer(cluster)
    cluster.refuse = {Code.SEND_MESSAGE_V2: [14, 1]}
    result = cluster.run(sender.send(Message.make("T", b"x")))
    assert result.status is SendStatus.SEND_OK
    keys = {properties.decode(header.properties)["UNIQ_KEY"] for header in headers(cluster)}
    assert (len(headers(cluster)), keys) == (3, {result.unique_key})
    failed = [(event.status, event.attempt, event.retried) for event in cluster.events(SendFailed)]
    assert failed == [("14", 1, True), ("1", 2, True)]


@pytest.mark.parametrize(("codes", "attempts"), [([14, 14, 14], 3), ([2], 1), ([13], 1)])
def test_a_code_that_does_not_invite_a_retry_ends_the_send_at_once(
    cluster: FakeCluster, codes: list[int], attempts: int
) -> None:
    sender = producer(cluster)
    cluster.refuse = {Code.SEND_MESSAGE_V2: list(codes)}
    with pytest.raises(BrokerRefused) as refused:
        cluster.run(sender.send(Message.make("T", b"x")))
    assert (refused.value.code, len(headers(cluster)), sender.failed) == (codes[-1], attempts, 1)


def test_a_send_to_a_chosen_queue_is_never_repeated(cluster: FakeCluster) -> None:
    sender = producer(cluster)
    cluster.refuse = {Code.SEND_MESSAGE_V2: [14]}
    with pytest.raises(BrokerRefused):
        cluster.run(sender.send(Message.make("T", b"x"), queue=MessageQueue("T", BROKER, 2)))
    assert len(headers(cluster)) == 1


def test_all_attempts_share_one_budget_of_time(cluster: FakeCluster) -> None:
    sender = producer(cluster)
    cluster.run(sender.send(Message.make("T", b"x")))
    cluster.silent = {Code.SEND_MESSAGE_V2}
    before_s = cluster.loop.time()
    with pytest.raises(ClientError, match="still failed"):
        cluster.run(sender.send(Message.make("T", b"x"), timeout_ms=2_000))
    assert cluster.loop.time() - before_s == pytest.approx(2.0, abs=0.01)


def test_a_large_body_travels_compressed_and_a_small_one_as_it_is(cluster: FakeCluster) -> None:
    sender = producer(cluster)
    cluster.run(sender.send(Message.make("T", b"a" * 4_096)))
    cluster.run(sender.send(Message.make("T", b"a" * 4_095)))
    large, small = headers(cluster)
    assert large.sys_flag & COMPRESSED
    assert not small.sys_flag & COMPRESSED
    assert [len(command.body or b"") < 200 for command in cluster.requests(Code.SEND_MESSAGE_V2)] == [True, False]


def test_a_batch_is_one_request_and_keeps_every_key(cluster: FakeCluster) -> None:
    sender = producer(cluster)
    result = cluster.run(sender.send_batch([Message.make("T", b"%d" % i, keys=f"k{i}") for i in range(3)]))
    [command] = cluster.requests(Code.SEND_BATCH_MESSAGE)
    items = batches.decode(command.body or b"", most=3)
    assert [item.body for item in items] == [b"0", b"1", b"2"]
    assert [properties.decode(item.properties.decode())["KEYS"] for item in items] == ["k0", "k1", "k2"]
    assert len(result.unique_key.split(",")) == 3


@pytest.mark.parametrize(
    ("messages", "why"),
    [
        ([Message.make("T", b"x"), Message.make("U", b"x")], "one topic"),
        ([Message.make("T", b"x", delay_level=3)], "delayed"),
        ([Message.make("T", b"x"), Message.make("T", b"x", wait_store_ok=False)], "wait for the store"),
        ([], "at least one"),
    ],
)
def test_messages_that_do_not_fit_together_are_no_batch(
    cluster: FakeCluster, messages: list[Message], why: str
) -> None:
    sender = producer(cluster)
    with pytest.raises(ClientError, match=why):
        cluster.run(sender.send_batch(messages))


@pytest.mark.parametrize(
    ("message", "why"),
    [
        (Message.make("", b"x"), "blank"),
        (Message.make("a b", b"x"), "illegal characters"),
        (Message.make("SCHEDULE_TOPIC_XXXX", b"x"), "forbidden"),
        (Message.make("t" * 128, b"x"), "longer"),
        (Message.make("T", b""), "zero"),
        (Message.make("T", b"x" * 101), "over the max"),
    ],
)
def test_a_message_that_cannot_be_sent_is_refused_before_it_leaves(
    cluster: FakeCluster, message: Message, why: str
) -> None:
    sender = producer(cluster, max_message_bytes=100)
    with pytest.raises(ClientError, match=why):
        cluster.run(sender.send(message))
    assert headers(cluster) == []


def test_a_oneway_send_hears_nothing_back(cluster: FakeCluster) -> None:
    sender = producer(cluster)
    cluster.run(sender.send_oneway(Message.make("T", b"x")))
    cluster.loop.run_for(0.1)
    [command] = cluster.requests(Code.SEND_MESSAGE_V2)
    assert command.is_oneway
    assert sum(len(log) for log in cluster.records.values()) == 1


def test_a_stopped_producer_has_said_goodbye_and_sends_no_more(cluster: FakeCluster) -> None:
    sender = producer(cluster)
    cluster.run(sender.send(Message.make("T", b"x")))
    cluster.run(sender.shutdown())
    groups = [(command.ext or {}).get("producerGroup") for command in cluster.requests(Code.UNREGISTER_CLIENT)]
    assert groups == ["P", "CLIENT_INNER_PRODUCER"]
    with pytest.raises(ClientError, match="stopped"):
        cluster.run(sender.send(Message.make("T", b"x")))


def test_a_broker_that_vanished_fails_the_send_when_its_connection_closes(cluster: FakeCluster) -> None:
    sender = producer(cluster)
    cluster.run(sender.send(Message.make("T", b"x")))
    cluster.silent = {Code.SEND_MESSAGE_V2}
    cluster.clock.call_later(0.5, lambda: cluster.network.unlisten(ADDRESS))
    before_s = cluster.loop.time()
    with pytest.raises(ClientError):
        cluster.run(sender.send(Message.make("T", b"x")))
    assert cluster.loop.time() - before_s == pytest.approx(0.5, abs=0.01)


def test_a_topic_no_one_knows_and_no_one_may_create_is_a_failed_send(cluster: FakeCluster) -> None:
    del cluster.topics["TBW102"]
    sender = producer(cluster)
    with pytest.raises(ClientError, match="No route info of this topic: New"):
        cluster.run(sender.send(Message.make("New", b"x")))
    assert sender.failed == 1


def test_two_producers_of_one_group_in_one_instance_are_refused(cluster: FakeCluster) -> None:
    first = producer(cluster)
    second = Producer(ProducerConfig(group="P"), first.instance)
    with pytest.raises(ClientError, match="has been created before"):
        cluster.run(second.start())
    assert (second.state, first.state) == ("refused", "running")
    assert first.instance.producers["P"] is first


def test_a_producer_knows_brokers_before_it_has_sent_anything(cluster: FakeCluster) -> None:
    producer(cluster)
    cluster.loop.run_for(32)
    asked = {(command.ext or {})["topic"] for command in cluster.requests(Code.GET_ROUTEINFO_BY_TOPIC)}
    assert asked == {"TBW102"}, "as recorded: every Java client asks for it twice a minute"
    beats = [HeartbeatData.decode(command.body) for command in cluster.requests(Code.HEART_BEAT)]
    assert beats
    assert all("P" in beat.producers for beat in beats)
