"""Headers of 70 to 100 KB: what is too long is refused by itself, and nothing beside it is in its way."""

import pytest

from tests.interop.conftest import Names
from tests.interop.peer import Peer
from tests.interop.servers import Server

COUNT, EVERY = 1_000, 100
LONG = COUNT // EVERY
ESCAPED = 12_000  # characters of a property, six bytes each in a JSON header
TOO_LONG = 33_000  # more than 32,767
MANY_TAGS = " || ".join(f"tag-{n:04}-xxxxxxxxx" for n in range(5_000)) + " || B"
ILLEGAL = (
    "CODE: 13  DESC: the message is illegal, maybe msg body or properties length not matched. "
    "msg body length limit 4194304B, msg properties length limit 32KB."
)


@pytest.mark.needs("long headers", "async", "pull")
def test_a_thousand_sends_beside_long_headers(peer: Peer, server: Server, names: Names) -> None:
    """A producer and a pull consumer with one connection between them."""
    assert len(MANY_TAGS) > 95_000
    peer.do("send", topic=names.topic, count=12, tags="A,B,C")  # one of each to each queue
    order = peer.do(
        "beside",
        topic=names.topic,
        group=names.group,
        name=names.group,
        count=COUNT,
        every=EVERY,
        escaped=ESCAPED,
        too_long=TOO_LONG,
        expression=MANY_TAGS,
        key="beside",
    )
    assert [fact["status"] for fact in order.of("sent")] == ["SEND_OK"] * (COUNT + LONG)
    assert [ILLEGAL in fact["why"] for fact in order.of("refused")] == [True] * LONG
    assert [fact["status"] for fact in order.of("pulled")] == ["FOUND"] * LONG
    assert [fact["tag"] for fact in order.of("received")] == ["B"] * LONG
    stored = [r for r in server.records(names.topic) if r.properties["KEYS"].startswith("beside")]
    notes = [record.properties["note"] for record in stored if "note" in record.properties]
    assert (len(stored), notes) == (COUNT + LONG, ["x" + "\x03" * ESCAPED] * LONG)


@pytest.mark.needs("long headers", "push", "tags")
def test_push_with_a_tag_expression_of_95_kilobytes(peer: Peer, names: Names) -> None:
    peer.do("send", topic=names.topic, count=12, tags="A,B,C")
    consuming = peer.order("consume", topic=names.topic, group=names.group, expression=MANY_TAGS)
    consuming.wait("received", 4)
    peer.do("send", topic=names.topic, count=12, tags="A,B,C")
    consuming.wait("received", 8)
    consuming.listen(1)
    assert [fact["tag"] for fact in consuming.of("received")] == ["B"] * 8
