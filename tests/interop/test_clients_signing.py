"""Clients sign with their keys (ACL 4.x); the broker refuses other requests and checks permissions."""

import base64
import hashlib
import hmac
from collections.abc import Iterator

import pytest

from tests.interop.clients import Client
from tests.interop.peer import Peer, PeerFailed
from tests.interop.servers import Server, our_server

HOST, GUEST = ("the-host-key", "the host's secret"), ("the-guest-key", "the guest's secret")
ACCOUNTS = f"""
accounts:
  - {{accessKey: {HOST[0]}, secretKey: {HOST[1]}, admin: true}}
  - {{accessKey: {GUEST[0]}, secretKey: {GUEST[1]}, defaultTopicPerm: PUB, defaultGroupPerm: DENY}}
"""


@pytest.fixture(scope="module")
def guarded(request: pytest.FixtureRequest) -> Iterator[Server]:
    if request.config.getoption("--against") == "apache":
        pytest.skip("Apache's broker is started without accounts")
    with our_server(accounts=ACCOUNTS) as made:
        yield made


@pytest.fixture
def topic(guarded: Server, client: Client) -> str:
    return create_topic(guarded, f"signed-{client.name.replace('.', '_')}")


def create_topic(server: Server, name: str) -> str:
    """Create a topic with a signature computed here from the specification alone."""
    ext = {
        "topic": name,
        "defaultTopic": "TBW102",
        "readQueueNums": "1",
        "writeQueueNums": "1",
        "perm": "6",
        "topicFilterType": "SINGLE_TAG",
        "topicSysFlag": "0",
        "order": "false",
    }
    assert server.ask(17, ext)["code"] == 1, "unsigned"
    ext["AccessKey"] = HOST[0]
    text = "".join(ext[key] for key in sorted(ext)).encode()
    ext["Signature"] = base64.b64encode(hmac.new(HOST[1].encode(), text, hashlib.sha1).digest()).decode()
    assert server.ask(17, ext)["code"] == 0
    return name


@pytest.mark.needs("sync", "push")
def test_access_keys(peer: Peer, guarded: Server, topic: str) -> None:
    def send(access_key: str, secret_key: str) -> int:
        order = peer.do(
            "send", namesrv=guarded.namesrv, topic=topic, count=2, access_key=access_key, secret_key=secret_key
        )
        return len(order.of("sent"))

    assert send(*HOST) == 2
    assert send(*GUEST) == 2
    with pytest.raises(PeerFailed):
        send(HOST[0], "not the host's secret")
    with pytest.raises(PeerFailed):
        send("nobodys-key", HOST[1])
    assert len(guarded.records(topic)) == 4
    guest = peer.order(
        "consume", namesrv=guarded.namesrv, topic=topic, group="guests", access_key=GUEST[0], secret_key=GUEST[1]
    )
    host = peer.order(
        "consume", namesrv=guarded.namesrv, topic=topic, group="hosts", access_key=HOST[0], secret_key=HOST[1]
    )
    assert {fact["offset"] for fact in host.wait("received", 4)} == {0, 1, 2, 3}
    assert guest.of("received") == []
