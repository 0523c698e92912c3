"""A store's stream as Spark drives it: killed while the broker writes, then retention, then the store is gone."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from sandbox.pipeline.launch import environment_of
from tests.pipeline.store_reads import Broker
from tests.server.server import ROOT, until

pytestmark = [pytest.mark.pipeline, pytest.mark.slow]

WITHIN_S = 240.0


class Reader:
    """The process; the directory it writes to is `out`."""

    def __init__(self, process: "subprocess.Popen[str]", out: Path) -> None:
        self.process, self.out = process, out

    def order(self, **options: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(options) + "\n")
        self.process.stdin.flush()

    def ask(self, **options: str) -> dict[str, Any]:
        assert self.process.stdout is not None
        self.order(**options)
        told: dict[str, Any] = json.loads(self.process.stdout.readline())
        return told

    def waits_for(self, batches: int) -> None:
        """So many were committed."""
        commits = self.out / "checkpoint" / "commits"
        until(lambda: len(list(commits.glob("[0-9]*"))) >= batches or self.process.poll() is not None,
              within_s=WITHIN_S)
        assert self.process.poll() is None


@contextmanager
def reading(program: str, source: str | Path, home: Path) -> Iterator[Reader]:
    """`program`: a module of this folder, which reads `source`, in a process group with its Spark.

    Whatever is left of it at the end is killed."""
    with (home / "words").open("ab") as words:
        process = subprocess.Popen(
            [sys.executable, "-m", f"tests.pipeline.{program}", str(source), str(home / "out")], text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=words, cwd=ROOT, start_new_session=True,
            env=environment_of(os.environ, home / "spark"))
        with process:
            try:
                yield Reader(process, home / "out")
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)


@pytest.mark.in_turn
def test_a_stream_goes_on_where_it_was_killed_and_says_what_it_cannot_read_any_more(tmp_path: Path) -> None:
    broker = Broker(tmp_path / "broker-a")
    broker.put(20)
    with reading("stream_reader", broker.root, tmp_path) as reader:
        reader.order(follow="true", maxOffsetsPerTrigger="7")
        for queue_id in (1, 3, 5):
            reader.waits_for(queue_id)
            broker.put(10, queue_id=queue_id)
        os.killpg(reader.process.pid, signal.SIGKILL)
    broker.put(5)
    with reading("stream_reader", broker.root, tmp_path) as reader:
        everything = sorted([[0, n] for n in range(25)] + [[queue_id, n] for queue_id in (1, 3, 5) for n in range(10)])
        told = reader.ask(maxOffsetsPerTrigger="7")
        assert sorted(told["rows"]) == everything
        assert told["behind"] == sorted(told["behind"], reverse=True)
        assert told["behind"][-1] == 0
        broker.put(50)
        broker.remove_old()
        assert reader.ask()["why"].startswith("Queue 0 of topic orders no longer has the messages 25 to ")
        loose = reader.ask(failOnDataLoss="false")["rows"]
        assert len(loose) == len({tuple(row) for row in loose})
        new = sorted(row[1] for row in loose if row not in everything)
        assert new == list(range(new[0], 75))
        assert new[0] > 25
        broker.store.crash()
        shutil.rmtree(broker.root)
        assert reader.ask()["why"].startswith(f"{broker.root} is no store: it has no directory commitlog.")
