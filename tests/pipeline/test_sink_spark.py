"""The sink as Spark drives it, to a broker in a process of its own: what is there after each death of the writer."""

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyspark.sql.types import StringType, StructField, StructType

from sandbox.pipeline.launch import environment_of
from sandbox.pipeline.sinks.rocketmq import RUNS_REMEMBERED, maybe_again, target_of
from sandbox.pipeline.sources.records import rows_of
from tests.pipeline.broker_process import broker_with
from tests.server.server import ROOT, until

pytestmark = pytest.mark.pipeline

FILES, ROWS = 6, 1_500
WITHIN_S = 180.0


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[str]:
    with broker_with({"T": 4}, tmp_path) as address:
        yield address


def body(file: int, number: int) -> str:
    return f"file {file} row {number}"


@pytest.fixture
def rows(tmp_path: Path) -> Counter[str]:
    """In `tmp_path / "in"`; two rows of the first file say the same."""
    (tmp_path / "in").mkdir()
    everything: Counter[str] = Counter()
    for file in range(FILES):
        bodies = [body(file, number) for number in range(ROWS)] + [body(file, 0)] * (file == 0)
        everything.update(bodies)
        path = tmp_path / "in" / f"{file}.json"
        path.write_text("".join(json.dumps({"body": one, "keys": f"k{file}", "properties": {"file": str(file)}}) + "\n"
                                for one in bodies))
        os.utime(path, (1_700_000_000 + file, 1_700_000_000 + file))  # the order a stream takes them in
    return everything


@contextmanager
def writing(how: str, broker: str, directory: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process group with Spark in it; whatever is left of it at the end is killed."""
    with (directory / "words").open("ab") as words:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.pipeline.sink_writer", how, broker, str(directory)], stdout=words,
            stderr=words, cwd=ROOT, start_new_session=True, env=environment_of(os.environ, directory / "spark"))
        try:
            yield process
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def stored(directory: Path) -> Counter[str]:
    """Bodies of T as they lie in the log by now."""
    return Counter(row["body"].decode() for batch in rows_of(directory / "store", ["topic", "body"])
                   for row in batch.to_pylist() if row["topic"] == "T")


def written(how: str, broker: str, directory: Path) -> None:
    with writing(how, broker, directory) as process:
        assert process.wait(WITHIN_S) == 0, (directory / "words").read_text()[-2_000:]


@pytest.mark.in_turn
def test_a_stream_that_is_killed_in_an_epoch_stores_every_row_once(broker: str, rows: Counter[str],
                                                                    tmp_path: Path) -> None:
    with writing("stream", broker, tmp_path) as process:
        until(lambda: stored(tmp_path).total() > ROWS + 1 or process.poll() is not None, within_s=WITHIN_S)
    assert 0 < stored(tmp_path).total() < rows.total(), "it was killed on the way"
    written("stream", broker, tmp_path)
    assert stored(tmp_path) == rows


@pytest.mark.in_turn
def test_a_batch_that_is_run_again_under_its_name_sends_nothing_twice(broker: str, rows: Counter[str],
                                                                       tmp_path: Path) -> None:
    written("batch", broker, tmp_path)
    assert stored(tmp_path) == rows


@pytest.mark.parametrize(("options", "overwrite", "says"), [
    ({"names": "127.0.0.1:9876", "topic": "T"}, True, "A topic cannot be overwritten"),
    ({"topic": "T"}, False, "The option names is missing: the name servers, as 127.0.0.1:9876."),
    ({"names": "127.0.0.1", "topic": "T"}, False, "127.0.0.1 is no address of a name server: write it as 127.0"),
    ({"names": "a:99999", "topic": "T"}, False, "a:99999 is no address of a name server"),
    ({"names": "a:1", "topic": "T", "ask": "never"}, False, "The option ask is never; it should be first or always."),
    ({"names": "a:1"}, False, "No topic is named: give the option topic, or a column topic."),
])  # fmt: skip
def test_options_that_make_no_sense_are_refused_in_words(options: dict[str, str], overwrite: bool, says: str) -> None:
    with pytest.raises(ValueError) as said:
        target_of(options, StructType([StructField("body", StringType())]), overwrite=overwrite)
    assert str(said.value).startswith(says)


def test_only_the_first_epoch_a_process_sees_of_a_run_may_have_been_sent_before() -> None:
    assert [maybe_again("run 1", epoch) for epoch in (7, 7, 8, 9)] == [True, True, False, False]
    assert maybe_again("run 2", 9)
    assert not maybe_again("run 1", 10)
    for number in range(RUNS_REMEMBERED):
        maybe_again(f"other run {number}", 0)
    assert maybe_again("run 1", 11), "forgotten: it asks once more"
