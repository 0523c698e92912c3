"""Topics chosen by a regular expression for whole names, of stores as of clusters."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox.message.topic_names import matches
from sandbox.pipeline.sources.cluster_options import Chosen
from sandbox.pipeline.sources.store import StoreSource
from sandbox.pipeline.sources.topic_pattern import MOST_CHARACTERS, pattern_of
from tests.pipeline.store_reads import Broker, streaming

TOPICS = ("orders", "orders-new", "orders_old", "%RETRY%orders", "%DLQ%orders", "SCHEDULE_TOPIC_XXXX")


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    made = Broker(tmp_path / "broker-a")
    for topic in TOPICS:
        made.put(2, topic=topic)
    yield made
    made.store.crash()


def topics(root: Path, **given: str) -> set[str]:
    reader = StoreSource({"path": str(root), "columns": "topic", **given}).reader(None)
    return {row["topic"] for part in reader.partitions() for batch in reader.read(part) for row in batch.to_pylist()}


@pytest.mark.parametrize(
    ("pattern", "chosen"),
    [
        ("orders", {"orders"}),
        ("order", set()),
        ("orders.*", {"orders", "orders-new", "orders_old"}),
        ("orders|orders-new", {"orders", "orders-new"}),
        (".*", {"orders", "orders-new", "orders_old"}),
        ("%RETRY%.*", {"%RETRY%orders"}),
        ("%.*", {"%RETRY%orders", "%DLQ%orders"}),
        ("SCHEDULE.*", set()),
    ],
)
def test_a_pattern_matches_whole_names(broker: Broker, pattern: str, chosen: set[str]) -> None:
    assert topics(broker.root, subscribePattern=pattern) == chosen
    stream = streaming(path=str(broker.root), subscribePattern=pattern)
    assert {row[1] for row in stream.run()} == chosen
    assert {topic for topic in TOPICS if Chosen(pattern=pattern_of(pattern)).matches(topic)} == chosen


def test_a_new_topic_that_matches_is_read_by_the_stream(broker: Broker) -> None:
    stream = streaming(path=str(broker.root), subscribePattern="new-.*", startingOffsets="latest")
    assert stream.run() == []
    broker.put(3, topic="new-one")
    broker.put(3, topic="other")
    assert [row[1] for row in stream.run()] == ["new-one"] * 3


def test_subscribe_takes_a_list_as_topic_does(broker: Broker) -> None:
    assert topics(broker.root, subscribe="orders, orders-new") == {"orders", "orders-new"}
    assert topics(broker.root, topic="orders,nothing") == {"orders"}, "a filter, also of a topic that is to come"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("orders-(", "is not a regular expression: missing ), unterminated subpattern at character 8 of orders-(."),
        ("*", "is not a regular expression: nothing to repeat at character 1 of *."),
        ("[a", "is not a regular expression: unterminated character set at character 1 of [a."),
        (" ", "is empty. Write a regular expression for whole names, such as orders-.*."),
        ("a" * (MOST_CHARACTERS + 1), f"has {MOST_CHARACTERS + 1} characters; the maximum is {MOST_CHARACTERS}."),
    ],
)
def test_a_wrong_pattern_is_refused_with_the_position(text: str, says: str) -> None:
    with pytest.raises(ValueError) as refused:
        pattern_of(text)
    assert str(refused.value) == f"Option subscribePattern {says}"


def test_the_longest_pattern_is_quick() -> None:
    assert not matches(pattern_of("(orders)?" * (MOST_CHARACTERS // 9)), "x" * 127)
