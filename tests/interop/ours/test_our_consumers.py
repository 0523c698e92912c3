"""Our consumers of all kinds divide, filter, order, retry and commit with any broker."""

from typing import Any

from sandbox import Message, connect
from sandbox.client.results import PullStatus
from sandbox.message.queue import MessageQueue
from sandbox.notebook.remote import Remote
from tests.interop.ours.stage import FIRST, Scene, Seen, sender, until


def test_two_members_share_a_topic_and_commit_at_their_end(scene: Scene, topic: str) -> None:
    with connect(scene.server.namesrv) as cluster:
        first, second = Seen(), Seen()
        members = [
            cluster.push_consumer(seen, "our-workers", topics=[topic], from_where=FIRST) for seen in (first, second)
        ]
        until(lambda: [len(queues_of(member, topic)) for member in members] == [2, 2])
        producer = sender(cluster, "our-givers")
        for i in range(40):
            producer.send(Message.make(topic, f"body {i}".encode()))
        until(lambda: len(first.messages) + len(second.messages) >= 40)
        assert sorted(first.bodies + second.bodies) == sorted(f"body {i}" for i in range(40))
        assert {message.queue_id for message in first.messages}.isdisjoint(m.queue_id for m in second.messages)
    committed = {queue: scene.server.committed("our-workers", topic, queue) for queue in range(4)}
    assert committed == dict.fromkeys(range(4), 10)


def test_who_leaves_hands_over_at_once(scene: Scene, cluster: Remote, topic: str) -> None:
    stays = Seen()
    member = cluster.push_consumer(stays, "our-heirs", topics=[topic], from_where=FIRST)
    until(lambda: len(queues_of(member, topic)) == 4)  # on its way there it has two, too
    with connect(scene.server.namesrv) as passing:
        leaves = Seen()
        passing.push_consumer(leaves, "our-heirs", topics=[topic], from_where=FIRST)
        until(lambda: len(queues_of(member, topic)) == 2)
        producer = sender(cluster, "our-testators")
        for i in range(20):
            producer.send(Message.make(topic, f"before {i}".encode()))
        until(lambda: len(stays.messages) + len(leaves.messages) >= 20)
    until(lambda: len(queues_of(member, topic)) == 4)
    for i in range(20):
        producer.send(Message.make(topic, f"after {i}".encode()))
    sent = [f"{when} {i}" for when in ("before", "after") for i in range(20)]
    until(lambda: len(stays.messages) + len(leaves.messages) >= 40 and set(stays.bodies + leaves.bodies) >= set(sent))
    given = stays.bodies + leaves.bodies
    assert set(given) == set(sent)
    if scene.server.name == "ours":  # Apache's takes a commit and the goodbye behind it in two pools, in either order
        assert sorted(given) == sorted(sent)


def test_a_backlog_is_taken_whole(scene: Scene, cluster: Remote, topic: str) -> None:
    producer = sender(cluster, "our-hoarders")
    bodies = [f"body {i:04}" for i in range(3_000)]
    for begin in range(0, len(bodies), 100):
        producer.send_batch([Message.make(topic, body.encode()) for body in bodies[begin : begin + 100]])
    seen = Seen()
    cluster.push_consumer(seen, "our-catchers", topics=[topic], from_where=FIRST)
    assert sorted(seen.wait(len(bodies)).bodies) == bodies


def queues_of(member: Any, topic: str) -> list[MessageQueue]:
    return [mq for mq in member.process_queues if mq.topic == topic]


def test_orderly_members_keep_the_order_under_a_lock(scene: Scene, cluster: Remote, topic: str) -> None:
    seen = Seen()
    member = cluster.push_consumer(seen, "our-tidy-ones", topics=[topic], from_where=FIRST, orderly=True)
    producer = sender(cluster, "our-tidy-senders")
    for i in range(40):
        producer.send(Message.make(topic, f"{i:02}".encode()), queue=scene.on_master(i % 4, topic))
    seen.wait(40)
    for queue_id in range(4):
        assert [m.body for m in seen.messages if m.queue_id == queue_id] == [
            f"{i:02}".encode() for i in range(queue_id, 40, 4)
        ]
    held = cluster.admin.groups.queues_in_memory(scene.server.broker, "our-tidy-ones", member.client_id)
    assert {mq.queue_id for mq, row in held.items() if mq.topic == topic and row.locked} == {0, 1, 2, 3}
    other_client = scene.server.ask(
        41,
        body=(
            b'{"clientId":"stranger","consumerGroup":"our-tidy-ones","mqSet":[{"brokerName":"broker-a","queueId":0,'
            b'"topic":"%s"}]}' % topic.encode()
        ),
    )
    assert (other_client["code"], other_client["body"]) == (0, b'{"lockOKMQSet":[]}')


def test_broadcasting_members_get_all_and_keep_their_place_themselves(scene: Scene, topic: str, tmp_path: Any) -> None:
    sent = [f"body {i}" for i in range(8)]
    with connect(scene.server.namesrv, home=tmp_path) as cluster:
        members = [Seen(), Seen()]
        for number, seen in enumerate(members):
            cluster.push_consumer(
                seen, "our-listeners", topics=[topic], from_where=FIRST, model="BROADCASTING", name=f"member-{number}"
            )
        producer = sender(cluster, "our-callers")
        for body in sent:
            producer.send(Message.make(topic, body.encode()))
        for seen in members:
            assert sorted(seen.wait(8).bodies) == sent
    assert '"our-listeners"' not in scene.server.ask(43)["body"].decode()
    with connect(scene.server.namesrv, home=tmp_path) as cluster:
        again = Seen()
        cluster.push_consumer(
            again, "our-listeners", topics=[topic], from_where=FIRST, model="BROADCASTING", name="member-0"
        )
        sender(cluster, "our-callers").send(Message.make(topic, b"new"))
        assert again.wait(1).bodies == ["new"]


def test_a_tag_expression_chooses(scene: Scene, cluster: Remote, topic: str) -> None:
    seen = Seen()
    cluster.push_consumer(seen, "our-tag-readers", topics={topic: "A || C"}, from_where=FIRST)
    producer = sender(cluster, "our-taggers")
    for tag in "ABCABC":
        producer.send(Message.make(topic, tag.encode(), tags=tag))
    assert sorted(seen.wait(4).bodies) == ["A", "A", "C", "C"]


def test_an_sql_expression_chooses(scene: Scene, cluster: Remote, topic: str) -> None:
    seen = Seen()
    cluster.push_consumer(
        seen, "our-sql-readers", topics={topic: "price > 5 AND TAGS = 'A'"}, sql=True, from_where=FIRST
    )
    producer = sender(cluster, "our-sellers")
    for price in (3, 6, 9):
        for tag in "AB":
            message = Message.make(topic, f"{tag}{price}".encode(), tags=tag)
            message.properties["price"] = str(price)
            producer.send(message)
    assert sorted(seen.wait(2).bodies) == ["A6", "A9"]


def test_a_message_that_always_fails_ends_in_the_dead_letter_queue(scene: Scene, cluster: Remote, topic: str) -> None:
    seen = Seen(refuse=lambda message: message.body == b"poison")
    cluster.push_consumer(seen, "our-poor-ones", topics=[topic], from_where=FIRST, max_reconsume_times=1)
    producer = sender(cluster, "our-poisoners")
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


def test_a_pull_consumer_goes_to_the_requested_offset(scene: Scene, cluster: Remote, topic: str) -> None:
    queue = scene.on_master(1, topic)
    producer = sender(cluster, "our-fillers")
    for i in range(10):
        producer.send(Message.make(topic, f"body {i}".encode(), tags="AB"[i % 2]), queue=queue)
    consumer = cluster.pull_consumer("our-pullers")
    assert sorted(mq.queue_id for mq in consumer.fetch_subscribe_queues(topic)) == [0, 1, 2, 3]
    assert (consumer.min_offset(queue), consumer.max_offset(queue)) == (0, 10)
    found = consumer.pull(queue, 4, max_messages=3)
    assert (found.status, found.next_offset) == (PullStatus.FOUND, 7)
    assert [message.body.decode() for message in found.messages] == ["body 4", "body 5", "body 6"]
    assert [message.body.decode() for message in consumer.pull(queue, 0, expression="B").messages] == [
        f"body {i}" for i in (1, 3, 5, 7, 9)
    ]
    assert consumer.pull(queue, 10).status is PullStatus.NO_NEW_MSG
    beyond = consumer.pull(queue, 99)
    assert (beyond.status, beyond.next_offset) == (PullStatus.OFFSET_ILLEGAL, 10)
    consumer.update_consume_offset_to_broker(queue, 7, oneway=False)
    assert scene.server.committed("our-pullers", topic, 1) == 7


def test_a_lite_pull_consumer_polls_and_seeks(scene: Scene, cluster: Remote, topic: str) -> None:
    producer = sender(cluster, "our-lite-senders")
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


def test_a_group_sent_back_consumes_again(scene: Scene, cluster: Remote, topic: str) -> None:
    seen = Seen()
    cluster.push_consumer(seen, "our-repeaters", topics=[topic], from_where=FIRST, name="repeater")
    producer = sender(cluster, "our-givers")
    for i in range(8):
        producer.send(Message.make(topic, f"body {i}".encode()), queue=scene.on_master(i % 4, topic))
    seen.wait(8)
    until(lambda: all(scene.server.committed("our-repeaters", topic, queue) == 2 for queue in range(4)))
    targets = cluster.admin.offsets.reset_by_time(scene.server.broker, "our-repeaters", topic, 0)
    assert targets == {scene.on_master(queue, topic): 0 for queue in range(4)}
    seen.wait(16)
    assert sorted(seen.bodies[8:]) == [f"body {i}" for i in range(8)]
