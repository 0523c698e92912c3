"""Deliveries to third-party push consumers: every message once, in order where promised, retried after a failure."""

import json
from collections import Counter, defaultdict

import pytest

from tests.interop.clients import Client
from tests.interop.conftest import Names
from tests.interop.peer import Fact, Order, Peer
from tests.interop.servers import Server

COUNT = 20


def bodies(order: Order) -> list[str]:
    return sorted(fact["body"] for fact in order.of("received"))


def sent_bodies(count: int = COUNT) -> list[str]:
    return sorted(f"body {i}" for i in range(count))


def in_queues(facts: list[Fact]) -> dict[int, list[int]]:
    queues = defaultdict(list)
    for fact in facts:
        queues[fact["queue"]].append(fact["offset"])
    return queues


@pytest.mark.needs("push")
def test_push_concurrent(peer: Peer, server: Server, names: Names) -> None:
    peer.do("send", topic=names.topic, count=COUNT // 2)
    consuming = peer.order("consume", topic=names.topic, group=names.group)
    consuming.wait("received", COUNT // 2)
    peer.do("send", topic=names.topic, count=COUNT)
    consuming.wait("received", COUNT + COUNT // 2)
    consuming.listen(1)  # messages in the listener at the stop are not committed
    consuming.stop()  # reports its last offset
    assert bodies(consuming) == sorted(sent_bodies() + sent_bodies(COUNT // 2))
    for queue, offsets in in_queues(consuming.of("received")).items():
        assert sorted(offsets) == list(range(len(offsets)))
        assert server.committed(names.group, names.topic, queue) == len(offsets)


@pytest.mark.needs("push")
def test_push_goes_on_where_it_stopped(peer: Peer, names: Names) -> None:
    peer.do("send", topic=names.topic, count=COUNT)
    first = peer.order("consume", topic=names.topic, group=names.group)
    first.wait("received", COUNT)
    first.listen(1)  # messages in the listener at the stop count as not consumed
    first.stop()
    peer.do("send", topic=names.topic, count=3, body="later ")
    second = peer.order("consume", topic=names.topic, group=names.group)
    second.wait("received", 3)
    second.listen(1)
    assert bodies(second) == ["later 0", "later 1", "later 2"]


@pytest.mark.needs("orderly", "selector")
def test_push_orderly(peer: Peer, names: Names) -> None:
    consuming = peer.order("consume", topic=names.topic, group=names.group, orderly=1)
    consuming.wait("started")
    peer.do("send", topic=names.topic, count=COUNT, how="selector", keys=3)
    consuming.wait("received", COUNT)
    for offsets in in_queues(consuming.of("received")).values():
        assert offsets == list(range(len(offsets)))
    assert bodies(consuming) == sent_bodies()


@pytest.mark.needs("broadcasting")
def test_push_broadcasting(peer: Peer, names: Names) -> None:
    both = [
        peer.order("consume", topic=names.topic, group=names.group, model="broadcasting", name=name)
        for name in ("first", "second")
    ]
    for each in both:
        each.wait("started")
        each.listen(3)  # a new one begins at the end, once it knows where that is
    peer.do("send", topic=names.topic, count=COUNT)
    for each in both:
        each.wait("received", COUNT)
        assert bodies(each) == sent_bodies()


@pytest.mark.needs("tags")
def test_tag_filter(peer: Peer, names: Names) -> None:
    peer.do("send", topic=names.topic, count=COUNT, tags="A,B,C,")
    consuming = peer.order("consume", topic=names.topic, group=names.group, expression="A||C")
    consuming.wait("received", COUNT // 2)
    consuming.listen(1)
    assert Counter(fact["tag"] for fact in consuming.of("received")) == {"A": COUNT // 4, "C": COUNT // 4}


@pytest.mark.needs("tags beyond ASCII")
def test_tag_filter_beyond_ascii(peer: Peer, names: Names) -> None:
    peer.do("send", topic=names.topic, count=COUNT, tags="标签,é,A,")
    consuming = peer.order("consume", topic=names.topic, group=names.group, expression="标签||é")
    consuming.wait("received", COUNT // 2)
    consuming.listen(1)
    assert Counter(fact["tag"] for fact in consuming.of("received")) == {"标签": COUNT // 4, "é": COUNT // 4}


@pytest.mark.needs("sql")
def test_property_filter(peer: Peer, names: Names) -> None:
    peer.do("send", topic=names.topic, count=COUNT, tags="A,B")
    consuming = peer.order("consume", topic=names.topic, group=names.group, sql="number > 9 AND TAGS = 'B'")
    consuming.wait("received", COUNT // 4)
    consuming.listen(1)
    assert sorted(int(fact["number"]) for fact in consuming.of("received")) == [11, 13, 15, 17, 19]


@pytest.mark.needs("retry")
def test_retry_after_ten_seconds(peer: Peer, names: Names) -> None:
    consuming = peer.order("consume", topic=names.topic, group=names.group, fail="first")
    consuming.wait("started")
    peer.do("send", topic=names.topic, tags="A")
    first, second = consuming.wait("received", 2, patience_s=70)
    assert (first["reconsume"], second["reconsume"]) == (0, 1)
    assert (second["topic"], second["body"], second["keys"]) == (names.topic, "body 0", "k0")
    # A new group learns where its retry topic is after up to 30 s; the message waits 10 s in any case.
    assert second["at_ms"] - first["at_ms"] >= 9_900
    assert second["stored_ms"] - first["at_ms"] < 11_500
    consuming.stop()


@pytest.mark.needs("retry")
def test_dead_letter(peer: Peer, client: Client, server: Server, names: Names) -> None:
    """The client says how often it tries; where it cannot, what the group is set to counts."""
    if "says-how-often" not in client.can:
        server.ask(200, body=json.dumps({"groupName": names.group, "retryMaxTimes": 1}).encode())
    consuming = peer.order("consume", topic=names.topic, group=names.group, fail="always", max_reconsume=1)
    consuming.wait("started")
    peer.do("send", topic=names.topic)
    consuming.wait("received", 2, patience_s=70)
    server.until(lambda: len(server.records(f"%DLQ%{names.group}")) == 1)
    [dead] = server.records(f"%DLQ%{names.group}")
    assert (dead.body, dead.properties["RETRY_TOPIC"], dead.reconsumed) == (b"body 0", names.topic, 2)
    consuming.listen(1)
    assert [fact["reconsume"] for fact in consuming.of("received")] == [0, 1]


@pytest.mark.needs("request", "push")
def test_request_and_reply(peer: Peer, names: Names) -> None:
    replying = peer.order("reply", topic=names.topic, group=names.group)
    replying.wait("started")
    [replied] = peer.do("request", topic=names.topic, group=f"{names.group}-p", body="how are you ").of("replied")
    assert replied["body"] == "re: how are you 0"
    assert [fact["status"] for fact in replying.wait("sent")] == ["SEND_OK"]
