"""Latencies against what the journal says of each message, reckoned without Spark."""

from collections import defaultdict
from pathlib import Path

import pytest

from sandbox.journal.events import MessagesConsumed, OffsetCommitted
from sandbox.journal.schema import from_row
from sandbox.journal.segments import rows_since
from sandbox.simulation.world import World
from sandbox.store.reader import StoreReader
from tests.pipeline.audits import Row, run_over, table
from tests.pipeline.conftest import Run
from tests.pipeline.worlds import Recorded, record

pytestmark = pytest.mark.pipeline

Place = tuple[str, int, int]


def recorded(home: Path) -> Recorded:
    """One member among three takes its time, another crashes."""
    with World(home, "orders", seed=5) as world:
        world.act("ChangeActor", actor="A", work_ms=[2_000, 4_000])
        world.run(30)
        world.act("CrashActor", actor="B")
        world.run(60)
        return record(world, home)


def expected(made: Recorded) -> dict[str, list[int]]:
    """Stage → milliseconds of every message that has come so far."""
    delivered: dict[Place, int] = {}
    commits: dict[tuple[str, int], list[tuple[int, int]]] = defaultdict(list)
    for entry in map(from_row, rows_since(made.journal, 0)):
        event = entry.event
        if isinstance(event, MessagesConsumed):
            for offset in event.offsets:
                place = event.broker, event.queue_id, offset
                delivered[place] = min(event.started_ms, delivered.get(place, event.started_ms))
        elif isinstance(event, OffsetCommitted):
            commits[event.broker, event.queue_id].append((entry.at_ms, event.offset))
    found: dict[str, list[int]] = defaultdict(list)
    for broker, root in made.stores.items():
        store = StoreReader(root)
        for topic, queue_id in store.queues():
            if topic != "orders":
                continue
            for message in store.read(topic, queue_id, 0, store.max_offset(topic, queue_id)):
                found["born_to_stored"].append(message.store_ms - message.born_ms)
                begun_ms = delivered.get((broker, queue_id, message.queue_offset))
                if begun_ms is None:
                    continue
                found["stored_to_delivered"].append(begun_ms - message.store_ms)
                passed_ms = [at_ms for at_ms, offset in commits[broker, queue_id] if offset > message.queue_offset]
                if passed_ms and min(passed_ms) >= begun_ms:
                    found["delivered_to_committed"].append(min(passed_ms) - begun_ms)
                    found["born_to_committed"].append(min(passed_ms) - message.born_ms)
        store.close()
    return found


def test_every_stage_is_that_of_the_messages_themselves(run: Run, tmp_path: Path) -> None:
    made = recorded(tmp_path)
    out = run_over(run, "latency", {"one": made}, tmp_path / "out")
    rows: dict[str, Row] = {row["stage"]: row for row in table(out, "percentiles") if row["topic"] == "orders"}
    known = expected(made)
    assert set(rows) == set(known)
    for stage, values in known.items():
        row, ordered = rows[stage], sorted(values)
        assert (row["count"], row["max_ms"]) == (len(ordered), ordered[-1])
        for share, name in ((0.5, "p50_ms"), (0.9, "p90_ms"), (0.99, "p99_ms")):
            below = sum(value < row[name] for value in ordered) / len(ordered)
            up_to = sum(value <= row[name] for value in ordered) / len(ordered)
            assert below <= share <= up_to, f"{name} of {stage}"
    assert rows["delivered_to_committed"]["p99_ms"] >= 2_000, "somebody was slow"
    assert rows["born_to_stored"]["group"] is None
    assert rows["born_to_committed"]["group"] == "order-svc"
