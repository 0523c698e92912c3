"""The smallest run of Spark from end to end: a store is counted as plain Python counts it; for every run of tests."""

from collections import Counter
from pathlib import Path

import pytest

from sandbox.store.reader import StoreReader
from tests.pipeline.audits import table
from tests.pipeline.conftest import Run

pytestmark = pytest.mark.pipeline


def test_the_queues_of_a_real_broker_s_store_are_counted(run: Run, golden: Path, tmp_path: Path) -> None:
    *_, last = run("hot_keys", store=golden)
    assert last["state"] == "done", last
    with StoreReader(golden) as reader:
        counts = Counter((message.topic, f"broker-a:{message.queue_id}") for message in reader.records())
    assert {(row["topic"], row["queue"]): row["messages"] for row in table(tmp_path / "out", "queues")} == counts
    assert counts.total() > 100
