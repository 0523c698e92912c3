"""Messages looked for by key, by id, by place and by time."""

import pytest

from tests.interop.conftest import Names
from tests.interop.peer import Peer
from tests.interop.servers import Server


@pytest.mark.needs("query")
def test_query_by_key(peer: Peer, names: Names) -> None:
    peer.do("send", topic=names.topic, count=4)
    peer.do("send", topic=names.topic, count=2, body="again ")
    found = peer.do("query", group=names.group, topic=names.topic, by="key", text="k1").of("received")
    assert sorted(fact["body"] for fact in found) == ["again 1", "body 1"]
    assert {fact["keys"] for fact in found} == {"k1"}


@pytest.mark.needs("query-unique")
def test_query_by_unique_key(peer: Peer, names: Names) -> None:
    sent = peer.do("send", topic=names.topic, count=4).of("sent")
    wanted = next(fact for fact in sent if fact["number"] == 2)
    [found] = peer.do("query", group=names.group, topic=names.topic, by="unique", text=wanted["msg_id"]).of("received")
    assert (found["body"], found["queue"], found["offset"]) == ("body 2", wanted["queue"], wanted["offset"])


@pytest.mark.needs("query")
def test_query_by_id(peer: Peer, names: Names) -> None:
    sent = peer.do("send", topic=names.topic, count=4).of("sent")
    wanted = next(fact for fact in sent if fact["number"] == 3)
    order = peer.do("query", group=names.group, topic=names.topic, by="id", text=wanted["offset_msg_id"])
    assert [fact["body"] for fact in order.of("received")] == ["body 3"]


@pytest.mark.needs("pull")
def test_query_by_offset(peer: Peer, server: Server, names: Names) -> None:
    peer.do("send", topic=names.topic, count=8)
    wanted = next(record for record in server.records(names.topic) if record.body == b"body 6")
    order = peer.do(
        "pull", group=names.group, topic=names.topic, broker="broker-a", queue=wanted.queue_id, at=wanted.queue_offset
    )
    assert [(fact["body"], fact["queue"], fact["offset"]) for fact in order.of("received")] == [
        ("body 6", wanted.queue_id, wanted.queue_offset)
    ]


@pytest.mark.needs("offset-by-time")
def test_offsets_by_time_and_ends(peer: Peer, server: Server, names: Names) -> None:
    peer.do("send", topic=names.topic, count=8)
    records = server.records(names.topic)
    [queue] = [[record for record in records if record.queue_id == 1]]

    def by_time(time_ms: int) -> int:
        order = peer.do(
            "query", group=names.group, topic=names.topic, by="time", broker="broker-a", queue=1, text=time_ms
        )
        return int(order.of("offset")[0]["offset"])

    same = [record.queue_offset for record in queue if record.stored == queue[0].stored]
    assert by_time(queue[0].stored) in same  # of equal times any may be found
    assert by_time(queue[0].stored - 60_000) == 0
    assert by_time(queue[-1].stored + 60_000) == queue[-1].queue_offset  # the last one, not the end
    ends = peer.do("query", group=names.group, topic=names.topic, by="ends").of("ends")
    assert {fact["queue"]: (fact["min"], fact["max"]) for fact in ends} == {
        number: (0, sum(record.queue_id == number for record in records)) for number in range(4)
    }
    assert ends[1]["earliest_ms"] == queue[0].stored
