"""Messages of third-party producers arrive whole, with correct positions in the responses."""

import zlib
from collections import defaultdict

import pytest

from tests.golden.independent_reader import Record
from tests.interop.conftest import Names
from tests.interop.peer import Fact, Peer
from tests.interop.servers import Server

LARGE_BYTES = 4 * 1024 * 1024  # the most that a broker takes, of a body alone


def agree(facts: list[Fact], records: list[Record]) -> bool:
    """Send results equal the messages' positions; C++ reports the offset without the queue."""
    if any("queue" not in fact for fact in facts):
        return sorted(fact["offset"] for fact in facts) == sorted(record.queue_offset for record in records)
    reported = sorted((fact["queue"], fact["offset"]) for fact in facts)
    return reported == sorted((record.queue_id, record.queue_offset) for record in records)


@pytest.mark.needs("auto-create")
def test_route_and_auto_create(peer: Peer, server: Server, names: Names) -> None:
    topic = f"{names.topic}-new"
    order = peer.do("send", topic=topic, count=1)
    assert [fact["status"] for fact in order.of("sent")] == ["SEND_OK"]
    again = peer.do("send", topic=topic, count=4, queues=1)
    assert len(server.records(topic)) == 5
    assert [fact["count"] for fact in again.of("queues")] in ([], [4])  # where a client says how many


@pytest.mark.needs("sync")
def test_send_sync(peer: Peer, server: Server, names: Names) -> None:
    sent = peer.do("send", topic=names.topic, count=8, key="order-", tags="A,B").of("sent")
    records = server.records(names.topic)
    assert {fact["status"] for fact in sent} == {"SEND_OK"}
    assert agree(sent, records)
    assert sorted(record.body.decode() for record in records) == [f"body {i}" for i in range(8)]
    assert {record.properties["KEYS"] for record in records} == {f"order-{i}" for i in range(8)}
    assert {record.properties["TAGS"] for record in records} == {"A", "B"}
    if "offset_msg_id" in sent[0]:
        assert {fact["offset_msg_id"] for fact in sent} == {offset_id(server, record.at) for record in records}
    else:  # C++ hands on the id it drew
        assert {fact["msg_id"] for fact in sent} == {record.properties["UNIQ_KEY"] for record in records}


def offset_id(server: Server, at: int) -> str:
    ip, _, port = server.broker.rpartition(":")
    return "".join(f"{int(part):02X}" for part in ip.split(".")) + f"{int(port):08X}{at:016X}"


@pytest.mark.needs("async")
def test_send_async(peer: Peer, server: Server, names: Names) -> None:
    sent = peer.do("send", topic=names.topic, count=8, how="async").of("sent")
    assert {fact["status"] for fact in sent} == {"SEND_OK"}
    assert agree(sent, server.records(names.topic))
    assert len(sent) == 8


@pytest.mark.needs("oneway")
def test_send_one_way(peer: Peer, server: Server, names: Names) -> None:
    order = peer.do("send", topic=names.topic, count=8, how="oneway")
    assert order.of("sent") == []
    server.until(lambda: len(server.records(names.topic)) == 8)
    assert sorted(record.body.decode() for record in server.records(names.topic)) == [f"body {i}" for i in range(8)]


@pytest.mark.needs("batch")
def test_send_batch(peer: Peer, server: Server, names: Names) -> None:
    [sent] = peer.do("batch", topic=names.topic, count=5).of("sent")
    records = server.records(names.topic)
    assert [record.body.decode() for record in records] == [f"body {i}" for i in range(5)]
    assert {record.queue_id for record in records} == {sent["queue"]}
    assert [record.queue_offset for record in records] == [sent["offset"] + i for i in range(5)]
    assert sent["offset_msg_id"].split(",") == [offset_id(server, record.at) for record in records]


@pytest.mark.needs("selector")
def test_send_by_key_to_a_queue(peer: Peer, server: Server, names: Names) -> None:
    peer.do("send", topic=names.topic, count=9, how="selector", keys=3)
    queues = defaultdict(list)
    for record in server.records(names.topic):
        queues[record.properties["KEYS"]].append((record.queue_id, record.body.decode()))
    assert len(queues) == 3
    for key, places in queues.items():
        first = int(key[-1])
        assert len({queue for queue, _ in places}) == 1
        assert [body for _, body in places] == [f"body {first + step}" for step in (0, 3, 6)]


@pytest.mark.needs("delay", "push")
def test_send_delayed(peer: Peer, names: Names) -> None:
    consuming = peer.order("consume", topic=names.topic, group=names.group)
    consuming.wait("started")
    for level, delay_ms in ((1, 1_000), (2, 5_000)):
        [sent] = peer.do("send", topic=names.topic, level=level, key=f"level-{level}-").of("sent")
        received = consuming.wait("received", level)[-1]
        assert received["keys"] == f"level-{level}-0"
        assert delay_ms - 50 <= received["at_ms"] - sent["at_ms"] < delay_ms + 3_000


@pytest.mark.needs("transaction", "push")
def test_transaction_commit_and_rollback(peer: Peer, names: Names) -> None:
    consuming = peer.order("consume", topic=names.topic, group=names.group)
    consuming.wait("started")
    peer.do("transact", topic=names.topic, group=f"{names.group}-p", first="rollback", body="rolled back ")
    peer.do("transact", topic=names.topic, group=f"{names.group}-p", first="commit", body="committed ")
    consuming.wait("received")
    consuming.listen(2)
    assert [fact["body"] for fact in consuming.of("received")] == ["committed 0"]


@pytest.mark.needs("transaction", "push")
def test_transaction_asked_about_is_committed(peer: Peer, names: Names) -> None:
    assert received_of_unknown(peer, names, "commit") == ["commit 0"]


@pytest.mark.needs("transaction", "push")
def test_transaction_asked_about_is_rolled_back(peer: Peer, names: Names) -> None:
    assert received_of_unknown(peer, names, "rollback") == []


def received_of_unknown(peer: Peer, names: Names, later: str) -> list[str]:
    """The bodies that came of a send whose transaction is first unknown, and `later` when the broker asks."""
    consuming = peer.order("consume", topic=names.topic, group=names.group)
    consuming.wait("started")
    order = peer.do(
        "transact",
        topic=names.topic,
        group=f"{names.group}-p",
        first="unknown",
        later=later,
        body=f"{later} ",
        patience_s=70,
    )
    [sent], checked = order.of("sent"), order.of("checked")[0]
    assert (checked["topic"], checked["body"], checked["transaction"]) == (names.topic, f"{later} 0", sent["msg_id"])
    if later == "commit":
        consuming.wait("received")  # a member that began before its topic existed may still wait for a rebalance
    consuming.listen(3)
    return [fact["body"] for fact in consuming.of("received")]


@pytest.mark.needs("compression", "push")
def test_compressed_body(peer: Peer, server: Server, names: Names) -> None:
    peer.do("send", topic=names.topic, size=100_000)
    [record] = server.records(names.topic)
    assert record.sys_flag & 1
    assert len(record.body) < 5_000
    [received] = peer.order("consume", topic=names.topic, group=names.group).wait("received")
    assert (received["size"], record.plain_body) == (100_000, b"x" * 100_000)


@pytest.mark.needs("large", "push")
def test_body_of_four_mebibytes(peer: Peer, server: Server, names: Names) -> None:
    peer.do(
        "send", topic=names.topic, size=LARGE_BYTES, fill="random", compress_over=2 * LARGE_BYTES, timeout_ms=20_000
    )
    [received] = peer.order("consume", topic=names.topic, group=names.group).wait("received")
    [record] = server.records(names.topic)
    assert record.sys_flag & 1 == 0
    assert received["size"] == len(record.body) == LARGE_BYTES
    assert received["crc"] == zlib.crc32(record.body)


@pytest.mark.needs("unicode", "push")
def test_unicode(peer: Peer, server: Server, names: Names) -> None:
    peer.do("send", topic=names.topic, key="订单-é-🚚-", tags="标签", body="Grüße, 你好 🚚 ", property="Καλημέρα 🌍")
    [record] = server.records(names.topic)
    assert record.body.decode() == "Grüße, 你好 🚚 0"
    [received] = peer.order("consume", topic=names.topic, group=names.group).wait("received")
    reported = {name: received[name] for name in ("body", "keys", "tag", "note")}
    assert reported == {"body": "Grüße, 你好 🚚 0", "keys": "订单-é-🚚-0", "tag": "标签", "note": "Καλημέρα 🌍"}
