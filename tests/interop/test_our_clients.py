"""Our producers, consumers and administrator against brokers nobody here wrote, as a user has them: by `connect`.

What came of it is read from the commit log's files, by a reader of its own, from frames written by hand, and from what
Apache's mqadmin prints.
"""

import asyncio
import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import ExitStack
from typing import Any, NamedTuple

import pytest

from sandbox import Message, connect
from sandbox.client.request_reply import reply_to
from sandbox.client.results import ConsumeConcurrentlyStatus, PullStatus, SendStatus
from sandbox.hosting.remote import Remote
from sandbox.kernel.errors import BrokerRefused, NotKnownThere
from sandbox.message.queue import MessageQueue
from tests.golden.independent_reader import Record
from tests.interop.clients import TOOLS, Unavailable
from tests.interop.conftest import printed
from tests.interop.peer import Peer
from tests.interop.servers import APACHE_4, APACHE_5, PROPERTIES, Server, apache_server, our_server

# 5.x notes every 3 s which transactions have ended, and before that asks about them; 4.9 does not know the name.
QUICK = {**PROPERTIES, "transactionOpBatchInterval": "100"}
FIRST = "CONSUME_FROM_FIRST_OFFSET"
LARGE_BYTES = 4 * 1024 * 1024 - 16_384
UNICODE = "Grüße, 消息, 🚀"
PATIENCE_S = 60.0


class Scene(NamedTuple):
    """A broker, and a cluster of one's own to make clients of it with."""

    server: Server
    cluster: Remote

    @property
    def is_4(self) -> bool:
        return self.server.name.endswith(APACHE_4)

    @property
    def is_5(self) -> bool:
        return self.server.name.endswith(APACHE_5)

    def on_master(self, queue_id: int, topic: str) -> MessageQueue:
        return MessageQueue(topic, "broker-a", queue_id)


class Seen:
    """A listener that notes what it is given; `refuse` says which messages are to come again."""

    def __init__(self, refuse: Callable[[Message], bool] = lambda message: False) -> None:
        self._refuse = refuse
        self._lock = threading.Lock()
        self.messages: list[Message] = []

    def __call__(self, message: Message) -> bool:
        with self._lock:
            self.messages.append(message)
        return not self._refuse(message)

    @property
    def bodies(self) -> list[str]:
        with self._lock:
            return [message.body.decode() for message in self.messages]

    def wait(self, count: int) -> "Seen":
        until(lambda: len(self.messages) >= count)
        return self


def until(condition: Callable[[], bool]) -> None:
    """Brokers tell nobody when they are done; so look again."""
    end_s = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end_s
        time.sleep(0.1)


@pytest.fixture(scope="session", params=[
    "ours",
    pytest.param(f"apache-{APACHE_4}", marks=pytest.mark.apache),
    pytest.param(f"apache-{APACHE_5}", marks=pytest.mark.apache),
])
def scene(request: pytest.FixtureRequest) -> Iterator[Scene]:
    with ExitStack() as ends:
        try:
            name: str = request.param
            server = ends.enter_context(our_server() if name == "ours" else apache_server(name.partition("-")[2],
                                                                                          properties=QUICK))
        except Unavailable as why:
            pytest.skip(f"{request.param}: {why}")
        yield Scene(server, ends.enter_context(connect(server.namesrv)))


@pytest.fixture
def cluster(scene: Scene) -> Iterator[Remote]:
    """Clients of one test, gone after it."""
    with connect(scene.server.namesrv) as made:
        yield made


@pytest.fixture
def topic(scene: Scene, request: pytest.FixtureRequest) -> str:
    """Of four queues, nobody else's."""
    return scene.server.create_topic("our-" + request.node.originalname.removeprefix("test_").replace("_", "-"))


def texts(records: list[Record]) -> list[str]:
    return sorted(record.plain_body.decode() for record in records)


def test_send_and_wait(scene: Scene, cluster: Remote, topic: str) -> None:
    producer = cluster.producer("our-senders")
    sent = [producer.send(Message.make(topic, f"body {i}".encode(), keys=f"key-{i}", tags="A")) for i in range(8)]
    records = scene.server.records(topic)
    assert {result.status for result in sent} == {SendStatus.SEND_OK}
    told = sorted((r.queue.queue_id, r.queue_offset, r.unique_key, int(r.msg_id[16:], 16)) for r in sent)
    assert told == sorted((r.queue_id, r.queue_offset, r.properties["UNIQ_KEY"], r.at) for r in records)
    assert texts(records) == [f"body {i}" for i in range(8)]
    assert {(r.properties["KEYS"], r.properties["TAGS"]) for r in records} == {(f"key-{i}", "A") for i in range(8)}


def test_a_topic_nobody_has_made_comes_with_its_first_message(scene: Scene, cluster: Remote) -> None:
    sent = cluster.producer("our-creators").send(Message.make("our-new-topic", b"first"))
    assert [record.body for record in scene.server.records("our-new-topic")] == [b"first"]
    [queues] = cluster.admin.names.route("our-new-topic").queues
    assert (queues.write_queues, queues.broker) == (4, sent.queue.broker)


def test_send_without_waiting(scene: Scene, cluster: Remote, topic: str) -> None:
    producer = cluster.producer("our-async-senders").inner

    async def all_at_once() -> list[Any]:
        return await asyncio.gather(*(producer.send_async(Message.make(topic, f"body {i}".encode()))
                                      for i in range(50)))

    sent = cluster.run(all_at_once())
    assert {result.status for result in sent} == {SendStatus.SEND_OK}
    records = scene.server.records(topic)
    assert sorted((r.queue.queue_id, r.queue_offset) for r in sent) == sorted(
        (r.queue_id, r.queue_offset) for r in records)
    assert texts(records) == sorted(f"body {i}" for i in range(50))


def test_send_one_way(scene: Scene, cluster: Remote, topic: str) -> None:
    producer = cluster.producer("our-one-way-senders")
    for i in range(8):
        assert producer.send_oneway(Message.make(topic, f"body {i}".encode())) is None
    until(lambda: len(scene.server.records(topic)) == 8)
    assert texts(scene.server.records(topic)) == [f"body {i}" for i in range(8)]


def test_send_a_batch(scene: Scene, cluster: Remote, topic: str) -> None:
    sent = cluster.producer("our-batchers").send_batch([Message.make(topic, f"body {i}".encode()) for i in range(5)])
    records = scene.server.records(topic)
    assert [record.body.decode() for record in records] == [f"body {i}" for i in range(5)]
    assert {record.queue_id for record in records} == {sent.queue.queue_id}
    assert [record.queue_offset for record in records] == [sent.queue_offset + i for i in range(5)]
    assert [int(msg_id[16:], 16) for msg_id in sent.msg_id.split(",")] == [record.at for record in records]


def test_send_by_key_to_a_queue(scene: Scene, cluster: Remote, topic: str) -> None:
    producer = cluster.producer("our-choosers")
    for i in range(8):
        producer.send(Message.make(topic, f"{i}".encode()), selector=lambda queues, found: queues[int(found.body) % 2])
    assert {(record.body, record.queue_id) for record in scene.server.records(topic)} == {
        (f"{i}".encode(), i % 2) for i in range(8)}


def test_a_large_body_of_noise(scene: Scene, cluster: Remote, topic: str) -> None:
    body = os.urandom(LARGE_BYTES)
    cluster.producer("our-large-senders").send(Message.make(topic, body), timeout_ms=15_000)
    [record] = scene.server.records(topic)
    assert record.plain_body == body
    seen = Seen()
    cluster.push_consumer(seen, "our-large-readers", topics=[topic], from_where=FIRST)
    assert seen.wait(1).messages[0].body == body


def test_what_is_large_travels_compressed(scene: Scene, cluster: Remote, topic: str) -> None:
    body = b"again and again " * 1_000
    cluster.producer("our-packers").send(Message.make(topic, body))
    [record] = scene.server.records(topic)
    assert record.sys_flag & 1
    assert len(record.body) < 1_000
    assert record.plain_body == body
    seen = Seen()
    cluster.push_consumer(seen, "our-unpackers", topics=[topic], from_where=FIRST)
    assert seen.wait(1).messages[0].body == body


def test_unicode_in_body_keys_tags_and_properties(scene: Scene, cluster: Remote, topic: str) -> None:
    message = Message.make(topic, UNICODE.encode(), keys="键-🚀", tags="标签")
    message.properties["von"] = UNICODE
    cluster.producer("our-writers").send(message)
    [record] = scene.server.records(topic)
    assert (record.body.decode(), record.properties["KEYS"], record.properties["TAGS"], record.properties["von"]) == (
        UNICODE, "键-🚀", "标签", UNICODE)
    seen = Seen()
    cluster.push_consumer(seen, "our-readers", topics={topic: "标签"}, from_where=FIRST)
    [got] = seen.wait(1).messages
    assert (got.body.decode(), got.keys, got.tags, got.properties["von"]) == (UNICODE, "键-🚀", "标签", UNICODE)
    [found] = cluster.admin.messages.by_key(scene.server.broker, topic, "键-🚀")
    assert found.physical_offset == record.at


def test_a_delayed_message_comes_later(scene: Scene, cluster: Remote, topic: str) -> None:
    seen = Seen()
    cluster.push_consumer(seen, "our-patient-ones", topics=[topic], from_where=FIRST)
    cluster.producer("our-delayers").send(Message.make(topic, b"later", delay_level=2))
    [got] = seen.wait(1).messages
    assert got.store_ms is not None
    assert got.born_ms is not None
    assert 4_900 <= got.store_ms - got.born_ms < 15_000
    [waited] = [r for r in scene.server.records("SCHEDULE_TOPIC_XXXX") if r.properties.get("REAL_TOPIC") == topic]
    assert waited.properties["DELAY"] == "2"


def test_transactions_end_as_they_are_told_or_as_they_answer(scene: Scene, cluster: Remote, topic: str) -> None:
    asked: list[str] = []

    def check(message: Message) -> bool:
        asked.append(message.body.decode())
        return message.body == b"asked, yes"

    seen = Seen()
    cluster.push_consumer(seen, "our-auditors", topics=[topic], from_where=FIRST)
    producer = cluster.transaction_producer(check, "our-bankers")
    outcomes = {"yes": True, "no": False, "asked, yes": None, "asked, no": None}
    for body in outcomes:
        producer.send(Message.make(topic, body.encode()), lambda message: outcomes[message.body.decode()])
    until(lambda: {"asked, yes", "asked, no"} <= set(asked))
    seen.wait(2)
    assert sorted(seen.bodies) == ["asked, yes", "yes"]
    assert texts(scene.server.records(topic)) == ["asked, yes", "yes"]
    assert not {"yes", "no"} & set(asked)


def test_two_members_share_a_topic_and_commit_at_their_end(scene: Scene, topic: str) -> None:
    with connect(scene.server.namesrv) as cluster:
        first, second = Seen(), Seen()
        members = [cluster.push_consumer(seen, "our-workers", topics=[topic], from_where=FIRST)
                   for seen in (first, second)]
        until(lambda: [len(queues_of(member, topic)) for member in members] == [2, 2])
        producer = cluster.producer("our-givers")
        for i in range(40):
            producer.send(Message.make(topic, f"body {i}".encode()))
        until(lambda: len(first.messages) + len(second.messages) >= 40)
        assert sorted(first.bodies + second.bodies) == sorted(f"body {i}" for i in range(40))
        assert {message.queue_id for message in first.messages}.isdisjoint(m.queue_id for m in second.messages)
    committed = {queue: scene.server.committed("our-workers", topic, queue) for queue in range(4)}
    assert committed == dict.fromkeys(range(4), 10)


def queues_of(member: Any, topic: str) -> list[MessageQueue]:
    return [mq for mq in member.process_queues if mq.topic == topic]


def test_orderly_members_keep_the_order_under_a_lock(scene: Scene, cluster: Remote, topic: str) -> None:
    seen = Seen()
    member = cluster.push_consumer(seen, "our-tidy-ones", topics=[topic], from_where=FIRST, orderly=True)
    producer = cluster.producer("our-tidy-senders")
    for i in range(40):
        producer.send(Message.make(topic, f"{i:02}".encode()), queue=scene.on_master(i % 4, topic))
    seen.wait(40)
    for queue_id in range(4):
        assert [m.body for m in seen.messages if m.queue_id == queue_id] == [
            f"{i:02}".encode() for i in range(queue_id, 40, 4)]
    held = cluster.admin.groups.queues_in_memory(scene.server.broker, "our-tidy-ones", member.client_id)
    assert {mq.queue_id for mq, row in held.items() if mq.topic == topic and row.locked} == {0, 1, 2, 3}
    stranger = scene.server.ask(41, body=(
        b'{"clientId":"stranger","consumerGroup":"our-tidy-ones","mqSet":[{"brokerName":"broker-a","queueId":0,'
        b'"topic":"%s"}]}' % topic.encode()))
    assert (stranger["code"], stranger["body"]) == (0, b'{"lockOKMQSet":[]}')


def test_broadcasting_members_get_all_and_keep_their_place_themselves(scene: Scene, topic: str, tmp_path: Any) -> None:
    sent = [f"body {i}" for i in range(8)]
    with connect(scene.server.namesrv, home=tmp_path) as cluster:
        members = [Seen(), Seen()]
        for number, seen in enumerate(members):
            cluster.push_consumer(seen, "our-listeners", topics=[topic], from_where=FIRST, model="BROADCASTING",
                                  name=f"member-{number}")
        producer = cluster.producer("our-callers")
        for body in sent:
            producer.send(Message.make(topic, body.encode()))
        for seen in members:
            assert sorted(seen.wait(8).bodies) == sent
    assert '"our-listeners"' not in scene.server.ask(43)["body"].decode()
    with connect(scene.server.namesrv, home=tmp_path) as cluster:
        again = Seen()
        cluster.push_consumer(again, "our-listeners", topics=[topic], from_where=FIRST, model="BROADCASTING",
                              name="member-0")
        cluster.producer("our-callers").send(Message.make(topic, b"new"))
        assert again.wait(1).bodies == ["new"]


def test_a_tag_expression_chooses(scene: Scene, cluster: Remote, topic: str) -> None:
    seen = Seen()
    cluster.push_consumer(seen, "our-tag-readers", topics={topic: "A || C"}, from_where=FIRST)
    producer = cluster.producer("our-taggers")
    for tag in "ABCABC":
        producer.send(Message.make(topic, tag.encode(), tags=tag))
    assert sorted(seen.wait(4).bodies) == ["A", "A", "C", "C"]


def test_an_sql_expression_chooses(scene: Scene, cluster: Remote, topic: str) -> None:
    seen = Seen()
    cluster.push_consumer(seen, "our-sql-readers", topics={topic: "price > 5 AND TAGS = 'A'"}, sql=True,
                          from_where=FIRST)
    producer = cluster.producer("our-sellers")
    for price in (3, 6, 9):
        for tag in "AB":
            message = Message.make(topic, f"{tag}{price}".encode(), tags=tag)
            message.properties["price"] = str(price)
            producer.send(message)
    assert sorted(seen.wait(2).bodies) == ["A6", "A9"]


def test_what_nobody_can_consume_ends_among_the_dead_letters(scene: Scene, cluster: Remote, topic: str) -> None:
    seen = Seen(refuse=lambda message: message.body == b"poison")
    cluster.push_consumer(seen, "our-poor-ones", topics=[topic], from_where=FIRST, max_reconsume_times=1)
    producer = cluster.producer("our-poisoners")
    for body in (b"good", b"poison"):
        producer.send(Message.make(topic, body))
    until(lambda: bool(scene.server.records("%DLQ%our-poor-ones")))
    assert sorted(seen.bodies) == ["good", "poison", "poison"]
    [first, second] = [message for message in seen.messages if message.body == b"poison"]
    assert (first.reconsume_times, second.reconsume_times) == (0, 1)
    assert (first.topic, second.topic) == (topic, topic)
    [dead] = scene.server.records("%DLQ%our-poor-ones")
    assert (dead.body, dead.properties["RETRY_TOPIC"]) == (b"poison", topic)
    assert dead.properties["ORIGIN_MESSAGE_ID"] == first.msg_id


def test_a_pull_consumer_goes_where_it_is_told(scene: Scene, cluster: Remote, topic: str) -> None:
    queue = scene.on_master(1, topic)
    producer = cluster.producer("our-fillers")
    for i in range(10):
        producer.send(Message.make(topic, f"body {i}".encode(), tags="AB"[i % 2]), queue=queue)
    consumer = cluster.pull_consumer("our-pullers")
    assert sorted(mq.queue_id for mq in consumer.fetch_subscribe_queues(topic)) == [0, 1, 2, 3]
    assert (consumer.min_offset(queue), consumer.max_offset(queue)) == (0, 10)
    found = consumer.pull(queue, 4, max_messages=3)
    assert (found.status, found.next_offset) == (PullStatus.FOUND, 7)
    assert [message.body.decode() for message in found.messages] == ["body 4", "body 5", "body 6"]
    assert [message.body.decode() for message in consumer.pull(queue, 0, expression="B").messages] == [
        f"body {i}" for i in (1, 3, 5, 7, 9)]
    assert consumer.pull(queue, 10).status is PullStatus.NO_NEW_MSG
    beyond = consumer.pull(queue, 99)
    assert (beyond.status, beyond.next_offset) == (PullStatus.OFFSET_ILLEGAL, 10)
    consumer.update_consume_offset_to_broker(queue, 7, oneway=False)
    assert scene.server.committed("our-pullers", topic, 1) == 7


def test_a_lite_pull_consumer_polls_and_seeks(scene: Scene, cluster: Remote, topic: str) -> None:
    producer = cluster.producer("our-lite-senders")
    for i in range(8):
        producer.send(Message.make(topic, f"body {i}".encode()), queue=scene.on_master(i % 4, topic))
    consumer = cluster.lite_pull_consumer("our-lite-readers", topics=[topic], from_where=FIRST)
    assert sorted(polled(consumer, 8)) == [f"body {i}" for i in range(8)]
    consumer.seek(scene.on_master(2, topic), 1)
    assert polled(consumer, 1) == ["body 6"]
    consumer.commit_all()
    until(lambda: all(scene.server.committed("our-lite-readers", topic, queue) == 2 for queue in range(4)))


def polled(consumer: Any, count: int) -> list[str]:
    bodies: list[str] = []

    def enough() -> bool:
        bodies.extend(message.body.decode() for message in consumer.poll(1_000))
        return len(bodies) >= count

    until(enough)
    return bodies


def test_a_question_is_answered(scene: Scene, cluster: Remote, topic: str) -> None:
    asker, answerer = cluster.producer("our-askers"), cluster.producer("our-answerers")
    heard: Future[Message] = Future()

    async def answer(messages: list[Message], context: Any) -> Any:
        await answerer.inner.send(reply_to(messages[0], b"forty-two"))
        heard.set_result(messages[0])
        return ConsumeConcurrentlyStatus.CONSUME_SUCCESS

    cluster.push_consumer(answer, "our-oracles", topics=[topic], from_where=FIRST)
    assert asker.request(Message.make(topic, b"what is it?"), 20_000).body == b"forty-two"
    assert heard.result(1).body == b"what is it?"


def test_a_group_sent_back_consumes_again(scene: Scene, cluster: Remote, topic: str) -> None:
    seen = Seen()
    cluster.push_consumer(seen, "our-repeaters", topics=[topic], from_where=FIRST, name="repeater")
    producer = cluster.producer("our-givers")
    for i in range(8):
        producer.send(Message.make(topic, f"body {i}".encode()), queue=scene.on_master(i % 4, topic))
    seen.wait(8)
    until(lambda: all(scene.server.committed("our-repeaters", topic, queue) == 2 for queue in range(4)))
    targets = cluster.admin.offsets.reset_by_time(scene.server.broker, "our-repeaters", topic, 0)
    assert targets == {scene.on_master(queue, topic): 0 for queue in range(4)}
    seen.wait(16)
    assert sorted(seen.bodies[8:]) == [f"body {i}" for i in range(8)]


def test_an_administrator_sees_what_mqadmin_prints(scene: Scene, cluster: Remote, topic: str, tmp_path: Any) -> None:
    broker, group = scene.server.broker, "our-watched-ones"
    seen = Seen()
    member = cluster.push_consumer(seen, group, topics={topic: "A"}, from_where=FIRST)
    sent = [cluster.producer("our-watched-senders-" + str(i)).send(
        Message.make(topic, f"body {i}".encode(), keys=f"watched-{i}", tags="A"), queue=scene.on_master(i % 4, topic))
        for i in range(4)]
    seen.wait(4)
    until(lambda: all(scene.server.committed(group, topic, queue) == 1 for queue in range(4)))
    admin = cluster.admin
    with Peer("mqadmin", TOOLS.build(), tmp_path, namesrv=scene.server.namesrv) as tools:
        progress = [row.split() for row in printed(tools, f"consumerProgress -g {group}").splitlines()]
        status = [row.split() for row in printed(tools, f"topicStatus -t {topic}").splitlines()]
        members = printed(tools, f"consumerConnection -g {group}")
        by_id = printed(tools, f"queryMsgById -i {sent[0].msg_id}")
        listed = printed(tools, "topicList").split()
    places = admin.groups.stats(broker, group, topic)
    assert [row[:5] for row in progress if row and row[0] == topic] == [
        [topic, mq.broker, str(mq.queue_id), str(row.broker_offset), str(row.consumer_offset)]
        for mq, row in sorted(places.items())]
    ends = admin.topics.stats(broker, topic)
    assert [row[:4] for row in status if row and row[0] == "broker-a"] == [
        [mq.broker, str(mq.queue_id), str(row.min_offset), str(row.max_offset)] for mq, row in sorted(ends.items())]
    connection = admin.groups.members(broker, group)
    assert [row.client_id for row in connection.connections] == [member.client_id]
    assert member.client_id in members
    assert {sub.topic: sub.sub_string for sub in connection.subscriptions} == {topic: "A", f"%RETRY%{group}": "*"}
    assert admin.messages.view(sent[0].msg_id).properties["KEYS"] == "watched-0"
    assert "watched-0" in by_id
    assert set(admin.names.topics()) == set(listed)
    assert admin.names.masters() == {"broker-a": broker}


def test_apaches_tools_look_into_our_member_and_let_it_consume(scene: Scene, cluster: Remote, topic: str,
                                                               tmp_path: Any) -> None:
    seen = Seen()
    member = cluster.push_consumer(seen, "our-open-ones", topics=[topic], from_where=FIRST)
    sent = cluster.producer("our-open-senders").send(Message.make(topic, b"once and again"))
    seen.wait(1)
    with Peer("mqadmin", TOOLS.build(), tmp_path, namesrv=scene.server.namesrv) as tools:
        status = printed(tools, "consumerStatus -g our-open-ones")
        told = printed(tools, f"consumerStatus -g our-open-ones -i {member.client_id}")
        directly = printed(tools, f"queryMsgById -i {sent.msg_id} -g our-open-ones -d {member.client_id}")
    assert member.client_id in status
    rows = [row.split() for row in told.splitlines()]
    assert {row[2] for row in rows if row[:2] == [topic, "broker-a"]} == {"0", "1", "2", "3"}
    assert "CR_SUCCESS" in directly
    assert seen.bodies == ["once and again"] * 2


def test_a_group_nobody_is_in_is_moved(scene: Scene, cluster: Remote, topic: str) -> None:
    broker, group, admin = scene.server.broker, "our-absent-ones", cluster.admin
    producer = cluster.producer("our-absent-senders")
    for i in range(8):
        producer.send(Message.make(topic, b"unread"), queue=scene.on_master(i % 4, topic))
    with connect(scene.server.namesrv) as passing:
        seen = Seen()
        passing.push_consumer(seen, group, topics=[topic], from_where=FIRST)
        seen.wait(8)
    queues = [scene.on_master(queue_id, topic) for queue_id in range(4)]
    assert [scene.server.committed(group, topic, queue_id) for queue_id in range(4)] == [2, 2, 2, 2]
    if scene.is_5:
        assert admin.offsets.reset_queue(broker, group, queues[3], 1) == {queues[3]: 1}
        assert admin.offsets.reset_by_time(broker, group, topic, 0) == dict.fromkeys(queues, 0)
    else:
        with pytest.raises(BrokerRefused) as refused:
            admin.offsets.reset_by_time(broker, group, topic, 0)
        assert refused.value.code == 206
        for queue in queues:
            admin.offsets.commit(broker, group, queue, 0)
    assert [scene.server.committed(group, topic, queue_id) for queue_id in range(4)] == [0, 0, 0, 0]
    again = Seen()
    cluster.push_consumer(again, group, topics=[topic], from_where=FIRST)
    assert again.wait(8).bodies == ["unread"] * 8


def test_an_administrator_finds_every_message_the_log_holds(scene: Scene, cluster: Remote, topic: str) -> None:
    broker, admin = scene.server.broker, cluster.admin
    producer = cluster.producer("our-known-senders")
    for i in range(4):
        producer.send(Message.make(topic, f"body {i}".encode(), keys=f"known-{i} all"), queue=scene.on_master(0, topic))
    records = scene.server.records(topic)
    until(lambda: len(admin.messages.by_key(broker, topic, "all")) == 4)
    for i, record in enumerate(records):
        [by_key] = admin.messages.by_key(broker, topic, f"known-{i}")
        [by_id] = admin.messages.by_unique_key(broker, topic, record.properties["UNIQ_KEY"])
        [by_offset] = admin.messages.pull(broker, scene.on_master(0, topic), i).records
        assert by_key == by_id == by_offset == admin.messages.at_place(broker, record.at)
        assert (by_key.body, by_key.store_ms, by_key.queue_offset) == (record.body, record.stored, i)
    entries = admin.messages.queue_entries(broker, scene.on_master(0, topic), 0).entries
    assert [(e.physical_offset, e.store_bytes, e.tags_code) for e in entries] == [
        (r.at, r.size, r.tags_code) for r in records]
    assert admin.offsets.at_time(broker, scene.on_master(0, topic), records[2].stored) in (
        i for i in range(4) if records[i].stored == records[2].stored)
    assert admin.offsets.earliest_store_ms(broker, scene.on_master(0, topic)) == records[0].stored


def test_tables_rates_and_releases(scene: Scene, cluster: Remote, topic: str) -> None:
    broker, admin = scene.server.broker, cluster.admin
    runtime = admin.brokers.runtime(broker)
    assert runtime.version == {"ours": "V4_9_8", f"apache-{APACHE_4}": "V4_9_7", f"apache-{APACHE_5}": "V5_3_3"}[
        scene.server.name]
    assert runtime.log_max_offset is not None
    assert admin.brokers.config(broker)["brokerName"] == "broker-a"
    table = admin.brokers.topic_configs(broker).topics
    assert (table[topic].write_queues, table[topic].permission) == (4, 6)
    assert "TOOLS_CONSUMER" in admin.brokers.subscription_groups(broker).groups
    if scene.is_4:
        with pytest.raises(NotKnownThere):
            admin.topics.config(broker, topic)
    else:
        assert admin.topics.config(broker, topic) == table[topic]
    with pytest.raises(BrokerRefused) as unknown:
        admin.topics.stats(broker, "our-nowhere")
    assert unknown.value.code == 17
