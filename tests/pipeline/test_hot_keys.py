"""Skew: counted in a store whose messages were counted when they were put."""

from collections import Counter
from pathlib import Path

import pytest

from sandbox.pipeline.sources.records import rows_of
from tests.pipeline.audits import table
from tests.pipeline.conftest import Run
from tests.pipeline.store_reads import written
from tests.unit.store.stores import Stores, message

pytestmark = pytest.mark.pipeline

KEYS = ["big"] * 40 + ["middle"] * 15 + [f"small-{number}" for number in range(25)]


@pytest.fixture
def skewed(tmp_path: Path) -> Path:
    """80 messages of `orders`, by key; every tenth has a second one; and two of another topic, without keys."""
    stores = Stores()
    store = stores.opened()
    for number, key in enumerate(KEYS):
        queue = 0 if key == "big" else 1 + number % 2
        stores.put(store, message(number, queue_id=queue, KEYS=f"{key} tenth" if number % 10 == 0 else key))
    stores.put(store, message(1, topic="plain", KEYS=""), message(2, topic="plain", KEYS=""))
    store.close()
    return written(stores.sim_disk.image(), tmp_path / "store")


def test_queues_keys_and_skew_are_what_was_put(run: Run, skewed: Path, tmp_path: Path) -> None:
    *_, last = run("hot_keys", store=skewed, top="3")
    assert last["state"] == "done", last
    out = tmp_path / "out"
    queues = {(row["topic"], row["queue"]): (row["messages"], row["share"]) for row in table(out, "queues")}
    assert queues["orders", "broker-a:0"] == (40, 0.5)
    assert queues["plain", "broker-a:0"] == (2, 1.0)
    assert sum(row["messages"] for row in table(out, "queues")) == 82
    assert [(row["key"], row["messages"], row["share"], row["approximate"]) for row in table(out, "keys")] == [
        ("big", 40, 0.5, 40),
        ("middle", 15, 15 / 80, 15),
        ("tenth", 8, 0.1, 8),
    ]
    orders, plain = table(out, "skew")
    assert (orders["queues"], orders["keys"], orders["largest_share"]) == (3, 28, 0.5)
    assert abs(int(str(orders["keys_approximate"])) - 28) <= 2
    assert (plain["queues"], plain["keys"], plain["keys_approximate"], plain["largest_share"]) == (1, 0, 0, 1.0)
    assert {row["sandbox"] for name in ("queues", "keys", "skew") for row in table(out, name)} == {"broker-a"}


def test_one_topic_of_a_store_that_a_real_broker_wrote(run: Run, golden: Path, tmp_path: Path) -> None:
    run("hot_keys", store=golden, topic="GoldenBasic")
    keys = Counter(
        word
        for batch in rows_of(golden, ["topic", "keys"])
        for row in batch.to_pylist()
        if row["topic"] == "GoldenBasic"
        for word in set((row["keys"] or "").split())
    )
    found = {row["key"]: row["messages"] for row in table(tmp_path / "out", "keys")}
    assert found == dict(sorted(keys.items(), key=lambda one: (-one[1], one[0]))[:20])
    assert {row["topic"] for row in table(tmp_path / "out", "queues")} == {"GoldenBasic"}


@pytest.mark.parametrize("top", ["1001", "many"])
def test_a_list_has_a_limit(run: Run, golden: Path, top: str) -> None:
    *_, last = run("hot_keys", store=golden, top=top)
    assert last["why"] == f"--option top must be a number from 1 to 1000, not {top}."
