"""Messages of QueueViz producers are stored and delivered as those of any producer."""

import asyncio
import os
import ssl
from concurrent.futures import Future
from typing import Any

import pytest

from sandbox import Message, connect
from sandbox.client.request_reply import reply_to
from sandbox.client.results import ConsumeConcurrentlyStatus, SendStatus
from sandbox.notebook.remote import Remote
from tests.interop.ours.stage import FIRST, Scene, Seen, sender, texts, until

LARGE_BYTES = 4 * 1024 * 1024 - 16_384  # of the 4 MiB a broker takes; properties and a zlib frame of noise fit in too
UNICODE = "Grüße, 消息, 🚀"


def test_send_and_wait(scene: Scene, cluster: Remote, topic: str) -> None:
    producer = sender(cluster, "our-senders")
    sent = [producer.send(Message.make(topic, f"body {i}".encode(), keys=f"key-{i}", tags="A")) for i in range(8)]
    records = scene.server.records(topic)
    assert {result.status for result in sent} == {SendStatus.SEND_OK}
    reported = sorted((r.queue.queue_id, r.queue_offset, r.unique_key, int(r.msg_id[16:], 16)) for r in sent)
    assert reported == sorted((r.queue_id, r.queue_offset, r.properties["UNIQ_KEY"], r.at) for r in records)
    assert texts(records) == [f"body {i}" for i in range(8)]
    assert {(r.properties["KEYS"], r.properties["TAGS"]) for r in records} == {(f"key-{i}", "A") for i in range(8)}


def test_a_missing_topic_is_created_with_its_first_message(scene: Scene, cluster: Remote) -> None:
    sent = sender(cluster, "our-creators").send(Message.make("our-new-topic", b"first"))
    assert [record.body for record in scene.server.records("our-new-topic")] == [b"first"]
    [queues] = cluster.admin.names.route("our-new-topic").queues
    assert (queues.write_queues, queues.broker) == (4, sent.queue.broker)


def test_send_without_waiting(scene: Scene, cluster: Remote, topic: str) -> None:
    producer = sender(cluster, "our-async-senders").inner

    async def all_at_once() -> list[Any]:
        return await asyncio.gather(
            *(producer.send_async(Message.make(topic, f"body {i}".encode())) for i in range(50))
        )

    sent = cluster.run(all_at_once())
    assert {result.status for result in sent} == {SendStatus.SEND_OK}
    records = scene.server.records(topic)
    assert sorted((r.queue.queue_id, r.queue_offset) for r in sent) == sorted(
        (r.queue_id, r.queue_offset) for r in records
    )
    assert texts(records) == sorted(f"body {i}" for i in range(50))


def test_send_one_way(scene: Scene, cluster: Remote, topic: str) -> None:
    producer = sender(cluster, "our-one-way-senders")
    for i in range(8):
        assert producer.send_oneway(Message.make(topic, f"body {i}".encode())) is None
    until(lambda: len(scene.server.records(topic)) == 8)
    assert texts(scene.server.records(topic)) == [f"body {i}" for i in range(8)]


def test_send_a_batch(scene: Scene, cluster: Remote, topic: str) -> None:
    sent = sender(cluster, "our-batchers").send_batch([Message.make(topic, f"body {i}".encode()) for i in range(5)])
    records = scene.server.records(topic)
    assert [record.body.decode() for record in records] == [f"body {i}" for i in range(5)]
    assert {record.queue_id for record in records} == {sent.queue.queue_id}
    assert [record.queue_offset for record in records] == [sent.queue_offset + i for i in range(5)]
    assert [int(msg_id[16:], 16) for msg_id in sent.msg_id.split(",")] == [record.at for record in records]


def test_send_by_key_to_a_queue(scene: Scene, cluster: Remote, topic: str) -> None:
    producer = sender(cluster, "our-choosers")
    for i in range(8):
        producer.send(Message.make(topic, f"{i}".encode()), selector=lambda queues, found: queues[int(found.body) % 2])
    assert {(record.body, record.queue_id) for record in scene.server.records(topic)} == {
        (f"{i}".encode(), i % 2) for i in range(8)
    }


def test_a_large_body_of_noise(scene: Scene, cluster: Remote, topic: str) -> None:
    body = os.urandom(LARGE_BYTES)
    sender(cluster, "our-large-senders").send(Message.make(topic, body))
    [record] = scene.server.records(topic)
    assert record.plain_body == body
    seen = Seen()
    cluster.push_consumer(seen, "our-large-readers", topics=[topic], from_where=FIRST)
    assert seen.wait(1).messages[0].body == body


def test_what_is_large_travels_compressed(scene: Scene, cluster: Remote, topic: str) -> None:
    body = b"again and again " * 1_000
    sender(cluster, "our-packers").send(Message.make(topic, body))
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
    sender(cluster, "our-writers").send(message)
    [record] = scene.server.records(topic)
    assert (record.body.decode(), record.properties["KEYS"], record.properties["TAGS"], record.properties["von"]) == (
        UNICODE,
        "键-🚀",
        "标签",
        UNICODE,
    )
    seen = Seen()
    cluster.push_consumer(seen, "our-readers", topics={topic: "标签"}, from_where=FIRST)
    [got] = seen.wait(1).messages
    assert (got.body.decode(), got.keys, got.tags, got.properties["von"]) == (UNICODE, "键-🚀", "标签", UNICODE)
    [found] = cluster.admin.messages.by_key(scene.server.broker, topic, "键-🚀")
    assert found.physical_offset == record.at


def test_the_wire_may_be_encrypted(scene: Scene, topic: str) -> None:
    if scene.server.name == "ours":
        pytest.skip("our broker is started without a certificate")
    trusting = ssl.create_default_context()
    trusting.check_hostname = False
    trusting.verify_mode = ssl.CERT_NONE  # Apache's broker makes up a certificate of its own
    with connect(scene.server.namesrv, tls=trusting) as cluster:
        body = os.urandom(1_000_000)
        sender(cluster, "our-whisperers").send(Message.make(topic, body))
        seen = Seen()
        cluster.push_consumer(seen, "our-eavesdroppers", topics=[topic], from_where=FIRST)
        assert seen.wait(1).messages[0].body == body


def test_a_delayed_message_comes_later(scene: Scene, cluster: Remote, topic: str) -> None:
    seen = Seen()
    cluster.push_consumer(seen, "our-patient-ones", topics=[topic], from_where=FIRST)
    sender(cluster, "our-delayers").send(Message.make(topic, b"later", delay_level=2))
    [got] = seen.wait(1).messages
    assert got.store_ms is not None
    assert got.born_ms is not None
    assert 4_900 <= got.store_ms - got.born_ms < 15_000
    [waited] = [r for r in scene.server.records("SCHEDULE_TOPIC_XXXX") if r.properties.get("REAL_TOPIC") == topic]
    assert waited.properties["DELAY"] == "2"


def test_transactions_end_by_the_producer_or_by_its_answer_to_a_check(
    scene: Scene, cluster: Remote, topic: str
) -> None:
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


def test_a_question_is_answered(scene: Scene, cluster: Remote, topic: str) -> None:
    asker, answerer = sender(cluster, "our-askers"), sender(cluster, "our-answerers")
    heard: Future[Message] = Future()

    async def answer(messages: list[Message], context: Any) -> Any:
        await answerer.inner.send(reply_to(messages[0], b"forty-two"))
        heard.set_result(messages[0])
        return ConsumeConcurrentlyStatus.CONSUME_SUCCESS

    cluster.push_consumer(answer, "our-oracles", topics=[topic], from_where=FIRST)
    assert asker.request(Message.make(topic, b"what is it?"), 20_000).body == b"forty-two"
    assert heard.result(1).body == b"what is it?"
