"""Consumers that ask for themselves."""

import pytest

from tests.interop.conftest import Names
from tests.interop.peer import Peer
from tests.interop.servers import Server

COUNT = 12


@pytest.mark.needs("pull")
def test_pull(peer: Peer, names: Names) -> None:
    peer.do("send", topic=names.topic, count=COUNT)
    order = peer.do("pull", topic=names.topic, group=names.group)
    assert sorted(fact["body"] for fact in order.of("received")) == sorted(f"body {i}" for i in range(COUNT))
    ends = order.of("end")
    assert {fact["status"] for fact in ends} == {"NO_NEW_MSG"}
    assert sum(fact["max"] for fact in ends) == COUNT


@pytest.mark.needs("pull", "commit")
def test_pull_goes_on_where_it_stopped(peer: Peer, server: Server, names: Names) -> None:
    peer.do("send", topic=names.topic, count=COUNT)
    ends = peer.do("pull", topic=names.topic, group=names.group).of("end")
    assert all(server.committed(names.group, names.topic, fact["queue"]) == fact["at"] for fact in ends)
    again = peer.do("pull", topic=names.topic, group=names.group)
    assert again.of("received") == []


@pytest.mark.needs("pull", "tags")
def test_pull_with_a_tag(peer: Peer, names: Names) -> None:
    peer.do("send", topic=names.topic, count=COUNT, tags="A,B,C")
    order = peer.do("pull", topic=names.topic, group=names.group, expression="B")
    assert sorted(fact["body"] for fact in order.of("received")) == sorted(f"body {i}" for i in range(1, COUNT, 3))


@pytest.mark.needs("held-pull")
def test_held_pull_is_woken(peer: Peer, names: Names) -> None:
    peer.do("send", topic=names.topic, count=COUNT)
    order = peer.order("pull", topic=names.topic, group=names.group, wait=1)
    order.wait("waiting")
    order.listen(1)
    assert order.of("woken") == []
    peer.do("send", topic=names.topic, count=4, body="waited for ")  # one of them comes to its queue
    order.done()
    assert [fact["status"] for fact in order.of("woken")] == ["FOUND"]
    assert order.of("received")[-1]["body"].startswith("waited for ")


@pytest.mark.needs("lite")
def test_lite_pull_as_a_member(peer: Peer, server: Server, names: Names) -> None:
    lite_pull(peer, server, names, mode="subscribe")


@pytest.mark.needs("lite")
def test_lite_pull_of_assigned_queues(peer: Peer, server: Server, names: Names) -> None:
    lite_pull(peer, server, names, mode="assign")


def lite_pull(peer: Peer, server: Server, names: Names, *, mode: str) -> None:
    """All there is comes, and what is committed is where it came to."""
    peer.do("send", topic=names.topic, count=COUNT)
    order = peer.do("lite", topic=names.topic, group=names.group, mode=mode, count=COUNT, patience_s=70)
    assert sorted(fact["body"] for fact in order.of("received")) == sorted(f"body {i}" for i in range(COUNT))
    for fact in order.of("committed"):
        assert server.committed(names.group, names.topic, fact["queue"]) == fact["offset"]
    assert sum(fact["offset"] for fact in order.of("committed")) == COUNT


@pytest.mark.needs("lite")
def test_lite_pull_seeks(peer: Peer, names: Names) -> None:
    peer.do("send", topic=names.topic, count=COUNT)
    order = peer.do(
        "lite", topic=names.topic, group=names.group, mode="assign", count=COUNT, seek=1, again=COUNT - 4, patience_s=70
    )
    assert sorted(fact["offset"] for fact in order.of("received")[:COUNT]) == sorted([0, 1, 2] * 4)
    assert sorted(fact["offset"] for fact in order.of("received")[COUNT:]) == sorted([1, 2] * 4)
