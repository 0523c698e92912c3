"""Offsets reset with mqadmin, with and without members online."""

import pytest

from tests.interop.conftest import Mqadmin, Names
from tests.interop.peer import Peer
from tests.interop.servers import Server

COUNT = 12
PATIENCE_S = 60.0  # a first commit comes after 10 s, and a client that is reset sleeps 10 s


@pytest.mark.needs("reset", "push")
def test_reset_of_a_group_that_is_online(peer: Peer, server: Server, names: Names, mqadmin: Mqadmin) -> None:
    reset_online(peer, server, names, mqadmin, "")


@pytest.mark.needs("reset in C", "push")
def test_reset_of_a_group_in_c_that_is_online(peer: Peer, server: Server, names: Names, mqadmin: Mqadmin) -> None:
    """Resets for C++ members need a flag, as they read another format."""
    reset_online(peer, server, names, mqadmin, " -c")


def reset_online(peer: Peer, server: Server, names: Names, mqadmin: Mqadmin, how: str) -> None:
    peer.do("send", topic=names.topic, count=COUNT)
    consuming = peer.order("consume", topic=names.topic, group=names.group)
    consuming.wait("received", COUNT)
    server.until(lambda: all(server.committed(names.group, names.topic, queue) == 3 for queue in range(4)))
    said = mqadmin(f"resetOffsetByTime -g {names.group} -t {names.topic} -s 0{how}")
    assert "Exception" not in said
    rows = [line.split() for line in said.splitlines() if line.startswith("broker-a")]
    assert sorted(rows) == [["broker-a", str(queue), "0"] for queue in range(4)]  # where each queue is put
    consuming.wait("received", 2 * COUNT, patience_s=PATIENCE_S)
    consuming.listen(1)
    again = consuming.of("received")[COUNT:]
    assert sorted((fact["queue"], fact["offset"]) for fact in again) == [(q, i) for q in range(4) for i in range(3)]


@pytest.mark.needs("push")
def test_reset_of_a_group_that_is_offline(peer: Peer, server: Server, names: Names, mqadmin: Mqadmin) -> None:
    peer.do("send", topic=names.topic, count=COUNT)
    first = peer.order("consume", topic=names.topic, group=names.group)
    first.wait("received", COUNT)
    first.listen(1)  # messages in the listener at the stop are not committed
    first.stop()
    server.until(lambda: all(server.committed(names.group, names.topic, queue) == 3 for queue in range(4)))
    said = mqadmin(f"resetOffsetByTime -g {names.group} -t {names.topic} -s 0")
    assert "Exception" not in said
    assert {server.committed(names.group, names.topic, queue) for queue in range(4)} == {0}
    second = peer.order("consume", topic=names.topic, group=names.group)
    second.wait("received", COUNT)
    second.listen(1)
    assert sorted(fact["body"] for fact in second.of("received")) == sorted(f"body {i}" for i in range(COUNT))
