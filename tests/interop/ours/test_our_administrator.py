"""Our administrator sees what the files hold and what mqadmin prints, of any release."""

from typing import Any

import pytest

from sandbox import Message, connect
from sandbox.kernel.errors import BrokerRefused, NotKnownThere
from sandbox.notebook.remote import Remote
from tests.interop.clients import TOOLS
from tests.interop.conftest import printed
from tests.interop.ours.stage import FIRST, Scene, Seen, sender, until
from tests.interop.peer import Peer
from tests.interop.servers import APACHE_4, APACHE_5


def test_an_administrator_sees_what_mqadmin_prints(scene: Scene, cluster: Remote, topic: str, tmp_path: Any) -> None:
    broker, group = scene.server.broker, "our-watched-ones"
    seen = Seen()
    member = cluster.push_consumer(seen, group, topics={topic: "A"}, from_where=FIRST)
    producer = sender(cluster, "our-watched-senders")
    sent = [
        producer.send(
            Message.make(topic, f"body {i}".encode(), keys=f"watched-{i}", tags="A"), queue=scene.on_master(i, topic)
        )
        for i in range(4)
    ]
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
        for mq, row in sorted(places.items())
    ]
    ends = admin.topics.stats(broker, topic)
    assert [row[:4] for row in status if row and row[0] == "broker-a"] == [
        [mq.broker, str(mq.queue_id), str(row.min_offset), str(row.max_offset)] for mq, row in sorted(ends.items())
    ]
    connection = admin.groups.members(broker, group)
    assert [row.client_id for row in connection.connections] == [member.client_id]
    assert member.client_id in members
    assert {sub.topic: sub.sub_string for sub in connection.subscriptions} == {topic: "A", f"%RETRY%{group}": "*"}
    assert admin.messages.view(sent[0].msg_id).properties["KEYS"] == "watched-0"
    assert "watched-0" in by_id
    assert set(admin.names.topics()) == set(listed)
    assert admin.names.masters() == {"broker-a": broker}


def test_apaches_tools_look_into_our_member_and_let_it_consume(
    scene: Scene, cluster: Remote, topic: str, tmp_path: Any
) -> None:
    seen = Seen()
    member = cluster.push_consumer(seen, "our-open-ones", topics=[topic], from_where=FIRST)
    sent = sender(cluster, "our-open-senders").send(Message.make(topic, b"once and again"))
    seen.wait(1)
    with Peer("mqadmin", TOOLS.build(), tmp_path, namesrv=scene.server.namesrv) as tools:
        status = printed(tools, "consumerStatus -g our-open-ones")
        reported = printed(tools, f"consumerStatus -g our-open-ones -i {member.client_id}")
        directly = printed(tools, f"queryMsgById -i {sent.msg_id} -g our-open-ones -d {member.client_id}")
    assert member.client_id in status
    rows = [row.split() for row in reported.splitlines()]
    assert {row[2] for row in rows if row[:2] == [topic, "broker-a"]} == {"0", "1", "2", "3"}
    assert "CR_SUCCESS" in directly
    assert seen.bodies == ["once and again"] * 2


def test_a_group_without_members_is_moved(scene: Scene, cluster: Remote, topic: str) -> None:
    broker, group, admin = scene.server.broker, "our-absent-ones", cluster.admin
    producer = sender(cluster, "our-absent-senders")
    for i in range(8):
        producer.send(Message.make(topic, b"unread"), queue=scene.on_master(i % 4, topic))
    with connect(scene.server.namesrv) as passing:
        seen = Seen()
        passing.push_consumer(seen, group, topics=[topic], from_where=FIRST)
        seen.wait(8)
        scene.server.until(lambda: all(scene.server.committed(group, topic, queue_id) == 2 for queue_id in range(4)))
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
    producer = sender(cluster, "our-known-senders")
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
        (r.at, r.size, r.tags_code) for r in records
    ]
    assert admin.offsets.at_time(broker, scene.on_master(0, topic), records[2].stored) in (
        i for i in range(4) if records[i].stored == records[2].stored
    )
    assert admin.offsets.earliest_store_ms(broker, scene.on_master(0, topic)) == records[0].stored


def _has_rates(cluster: Remote, broker: str) -> bool:
    """A broker of Apache's fails at the question until it has taken its first sample."""
    try:
        cluster.admin.brokers.runtime(broker)
    except BrokerRefused:
        return False
    return True


def test_tables_rates_and_releases(scene: Scene, cluster: Remote, topic: str) -> None:
    broker, admin = scene.server.broker, cluster.admin
    until(lambda: _has_rates(cluster, broker))
    runtime = admin.brokers.runtime(broker)
    assert (
        runtime.version
        == {"ours": "V4_9_8", f"apache-{APACHE_4}": "V4_9_7", f"apache-{APACHE_5}": "V5_3_3"}[scene.server.name]
    )
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
