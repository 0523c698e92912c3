"""The state at an event, folded from keyframe and events, is what the snapshot showed then."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sandbox.journal.events import Keyframe
from sandbox.queries.fold import GROUP_FIELDS, TOPIC_FIELDS, fold
from sandbox.simulation.world import World


def seen(world: World, readings: int, trouble: Callable[[World, int], None]) -> list[Any]:
    found = []
    for number in range(readings):
        trouble(world, number)
        world.run(0.37)
        found.append(world.snapshot())
    return found


def folded(world: World, truth: Any) -> Any:
    entries, at = world.entries(), int(truth["seq"])
    frames = [entry for entry in entries if isinstance(entry.event, Keyframe)]
    keyframe = next(entry for entry in reversed(frames) if entry.seq <= at)
    end = next((entry.seq for entry in frames if entry.seq > at), at + 1_000_000)
    return fold(keyframe.event.snapshot, [entry for entry in entries if keyframe.seq <= entry.seq < end], at)


def untrue(folded: Any, truth: Any) -> list[str]:
    """Fields said to be carried that are not as the snapshot was."""
    found = []
    rows = {
        ("topics", topic["topic"], row["broker"], row["queue_id"]): row
        for topic in truth["topics"]
        for row in topic["queues"]
    }
    rows |= {
        (f"groups/{group['group']}", row["topic"], row["broker"], row["queue_id"]): row
        for group in truth["groups"]
        for row in group["queues"]
    }
    for place, fields in folded.carried.items():
        kind, _, name = place.partition("/")
        for outer in folded.snapshot[kind]:
            for row in outer["queues"] if not name or outer["group"] == name else ():
                key = (place, outer.get("topic") or row["topic"], row["broker"], row["queue_id"])
                found += [
                    f"#{truth['seq']} {key} {field}: {row[field]}, was {rows[key][field]}"
                    for field in sorted(fields)
                    if row[field] != rows[key][field]
                ]
    return found


def crash_and_go_on(world: World, number: int) -> None:
    if number in (20, 50):
        world.act("CrashActor" if number == 20 else "StopActor", actor="A" if number == 20 else "B")


@pytest.mark.parametrize("template", ["orders", "payments", "cluster", "retries"])
def test_what_is_carried_is_true_at_every_reading(tmp_path: Path, template: str) -> None:
    with World(tmp_path, template) as world:
        world.run(8)
        world.cluster.journal_files.keyframe()
        readings = seen(world, 80, crash_and_go_on)
        folds = [folded(world, truth) for truth in readings]
        assert [said for at, truth in zip(folds, readings, strict=True) for said in untrue(at, truth)] == []
        whole = [at for at in folds if set(at.carried.values()) == {TOPIC_FIELDS, GROUP_FIELDS}]
        assert len(whole) > 40, "most of it is folded, not taken from the keyframe"
        assert all(at.snapshot["at_ms"] <= truth["at_ms"] for at, truth in zip(folds, readings, strict=True))


def test_after_a_broker_is_killed_all_queues_are_the_keyframes(tmp_path: Path) -> None:
    with World(tmp_path, "cluster") as world:
        world.run(8)
        world.cluster.journal_files.keyframe()
        events = [entry.event for entry in reversed(world.entries())]
        keyframe = next(event.snapshot for event in events if isinstance(event, Keyframe))
        world.act("KillBroker", broker="broker-a")
        world.run(2)
        at = folded(world, world.snapshot())
        assert set(at.carried.values()) == {frozenset()}
        assert at.snapshot["topics"] == keyframe["topics"]
