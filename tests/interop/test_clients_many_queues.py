"""One consumer that holds very many queues of one broker: a parked pull for each of them, and heartbeats beside."""

import json
import re
import time
from collections.abc import Callable

import pytest

from tests.bench.wire_process import cpu_s
from tests.interop.conftest import Names
from tests.interop.peer import Order, Peer
from tests.interop.servers import Server
from tests.interop.table import MEASURED

QUEUES = 1_500  # of a topic
HEARTBEAT_MS = 10_000
REST_S = 25  # two heartbeats; and each parked pull, which waits for 15 to 20 s, is answered and parked again
SETTLED_S = 60.0
REFUSED = re.compile(r"MQBrokerException: CODE: (\d+)")
OVERTAKEN = "25"  # SUBSCRIPTION_NOT_LATEST: pulls overtook the heartbeat, which a client skips while one is under way


@pytest.mark.needs("very many queues")
def test_one_message_to_each_of_1500_queues(
    peer: Peer, server: Server, names: Names, record_property: Callable[[str, object], None]
) -> None:
    logged = len(peer.client_log())
    server.create_topic(names.topic, queues=QUEUES)
    consuming = peer.order("consume", topic=names.topic, group=names.group, heartbeat_ms=HEARTBEAT_MS)
    [started] = consuming.wait("started", patience_s=SETTLED_S)
    member = started["client_id"]
    server.until(lambda: queues_held(server, names.group, member) >= QUEUES)
    one_by_one_s = seconds_to_the_last(peer, consuming, names, "selector")
    cpu_before_s, began_s = cpu_s(server.pid), time.monotonic()
    while (rested_s := time.monotonic() - began_s) < REST_S:
        assert members(server, names.group) == [member]
        consuming.listen(1)
    at_rest = (cpu_s(server.pid) - cpu_before_s) / rested_s
    at_once_s = seconds_to_the_last(peer, consuming, names, "each")
    places = sorted((fact["queue"], fact["offset"]) for fact in consuming.of("received"))
    assert places == [(queue, offset) for queue in range(QUEUES) for offset in (0, 1)]
    refused = set(REFUSED.findall(peer.client_log()[logged:]))
    assert refused <= {OVERTAKEN}, "no pull was refused as one too many, and so no heartbeat"
    sends = f"sent at once {at_once_s:.2f} s, one by one {one_by_one_s:.2f} s"
    record_property(MEASURED, f"{sends}; at rest {at_rest:.1%} of a core")


def seconds_to_the_last(peer: Peer, consuming: Order, names: Names, how: str) -> float:
    """Send one message to each queue; from the first one's birth until the last one was with the listener."""
    already = len(consuming.of("received"))
    peer.do("send", topic=names.topic, how=how, count=QUEUES, keys=QUEUES)
    new = consuming.wait("received", already + QUEUES)[already:]
    return (max(fact["at_ms"] for fact in new) - min(fact["born_ms"] for fact in new)) / 1000


def members(server: Server, group: str) -> list[str]:
    found: list[str] = json.loads(server.ask(38, {"consumerGroup": group})["body"])["consumerIdList"]
    return found


def queues_held(server: Server, group: str, member: str) -> int:
    """As the member itself says; its retry topic's is one of them."""
    answer = server.ask(307, {"consumerGroup": group, "clientId": member, "jstackEnable": "false"})
    return int(answer["body"].count(b'"queueId"'))
