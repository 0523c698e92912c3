"""Habits of Spark's Kafka source in a Spark of its own: windows over the store time, errors with the sentence first."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox.journal.events import SandboxSlept
from sandbox.pipeline.sources.records import rows_of
from tests.pipeline.journals import BEGIN_MS, write_journal
from tests.pipeline.mistakes import MISTAKES, ONCE, STORE, STREAM, WRITE, Mistake
from tests.pipeline.spark_streams import Streams, streams
from tests.pipeline.store_reads import Broker
from tests.server.server import free_port

pytestmark = pytest.mark.pipeline

MINUTE_MS = 60_000


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Streams]:
    with streams(tmp_path_factory.mktemp("spark")) as made:
        yield made


def by_minute(times: list[int]) -> list[list[int]]:
    """Return the start of each minute in seconds, and the number of times in it."""
    return sorted([start, count] for start, count in Counter(at // MINUTE_MS * 60 for at in times).items())


def test_windows_over_the_store_time_are_the_same_read_once_and_as_a_stream(spark: Streams, tmp_path: Path) -> None:
    broker = Broker(tmp_path / "broker-a")
    for number in range(40):
        broker.put(1, queue_id=number % 3)
        broker.stores.advance(13)
    times = [row["storeTimestamp"] for batch in rows_of(broker.root) for row in batch.to_pylist()]
    expected = by_minute(times)
    assert len(expected) > 5
    report = spark.ask(how="windows", format="rocketmq-store", at="of-store", path=str(broker.root))
    broker.store.crash()
    assert report == {"once": expected, "stream": expected}


def test_windows_over_the_entries_of_a_journal(spark: Streams, tmp_path: Path) -> None:
    journal = write_journal(tmp_path / "journal", [SandboxSlept("idle")] * 1_300)
    expected = by_minute([BEGIN_MS + 100 * number for number in range(1_300)])
    report = spark.ask(how="windows", format="rocketmq-journal", at="of-journal", path=str(journal))
    assert report == {"once": expected, "stream": expected}


def three_mistakes() -> list[Mistake]:
    """Return one that is made with reading once, one with a stream and one with a write."""
    return [next(one for one in MISTAKES if one.how == how) for how in (ONCE, STREAM, WRITE)]


@pytest.mark.parametrize("mistake", three_mistakes(), ids=lambda mistake: mistake.name)
def test_the_first_line_of_spark_s_error_has_the_sentence(spark: Streams, mistake: Mistake, tmp_path: Path) -> None:
    broker = Broker(tmp_path / "broker-a")
    broker.put(10)
    broker.store.crash()
    values = {"{store}": str(broker.root), "{port}": str(free_port())}
    options = mistake.options
    for name, value in values.items():
        options = {option: text.replace(name, value) for option, text in options.items()}
    report = spark.ask(how="fails", format=STORE, number=str(MISTAKES.index(mistake)), **options)
    assert f": [{mistake.condition}] {mistake.says}" in report["line"]
