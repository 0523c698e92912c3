"""Values that a board omits from its frames, and values that it always sends."""

from itertools import pairwise
from pathlib import Path
from typing import Any

from sandbox.queries.snapshot.calm import CalmFigures
from sandbox.simulation.world import World

GROUP = "order-svc"
EXACT = ("min", "max", "committed", "in_memory", "next_pull", "owner", "cells", "cells_from", "lock", "flow_control")


def test_a_figure_is_taken_once_a_second_and_a_new_one_at_once() -> None:
    figures = CalmFigures()
    seen: list[int] = []
    for tenth in range(25):
        figures.begin(tenth / 10)
        seen.append(figures.figure("rate", lambda now=tenth: now))  # type: ignore[misc]
    assert seen == [0] * 10 + [10] * 10 + [20] * 5
    assert figures.figure("another", lambda: 7) == 7


def boards(home: Path, seconds: float, **producer: Any) -> list[dict[str, Any]]:
    """A board at twenty readings a second, the exact rows of the same turn beside it."""
    with World(home) as world:
        world.act("CreateTopic", topic="orders", write_queues=4, read_queues=4)
        world.act("StartConsumer", group=GROUP, subscriptions=[["orders", "*"]], copies=2, work_ms=[80, 400])
        world.act("StartProducer", topic="orders", **producer)
        world.run(15)
        found: list[dict[str, Any]] = []
        for _ in range(round(seconds * 20)):
            world.run(0.05)
            board = world.read(f"board/{GROUP}/orders").data
            whole = next(group for group in world.snapshot()["groups"] if group["group"] == GROUP)
            found.append({**board, "whole": {f"{row['broker']}:{row['queue_id']}": row for row in whole["queues"]}})
        return found


def test_offsets_and_owners_are_those_of_this_turn(tmp_path: Path) -> None:
    for board in boards(tmp_path, 2, rate_per_s=30):
        for key, row in board["queues"].items():
            exact = board["whole"][key]
            assert {name: row[name] for name in EXACT if name in exact} == {
                name: exact[name] for name in EXACT if name in exact
            }


def test_rates_move_at_most_once_a_second_and_are_whole(tmp_path: Path) -> None:
    shown = [board["queues"]["broker-a:0"]["rate_per_s"] for board in boards(tmp_path, 4, rate_per_s=30)]
    assert all(rate == int(rate) for rate in shown)
    changes = [n for n, (before, after) in enumerate(pairwise(shown)) if before != after]
    assert all(after - before >= 19 for before, after in pairwise(changes))


def test_what_a_listener_just_began_is_not_called_old_and_a_stuck_message_is(tmp_path: Path) -> None:
    assert all(
        row["oldest"] is None for board in boards(tmp_path, 2, rate_per_s=10) for row in board["queues"].values()
    )
    with World(tmp_path / "stuck") as world:
        world.act("CreateTopic", topic="orders", write_queues=1, read_queues=1)
        world.act("StartConsumer", group=GROUP, subscriptions=[["orders", "*"]], work_ms=[60_000])
        world.run(15)
        world.act("SendMessages", topic="orders", count=1)
        world.run(3)
        assert world.read(f"board/{GROUP}/orders").data["queues"]["broker-a:0"]["oldest"]["key"] == "burst-1"


def test_a_pull_is_shown_as_held_once_it_has_waited(tmp_path: Path) -> None:
    busy = boards(tmp_path, 2, rate_per_s=40)
    assert all(row["held_until_ms"] is None for board in busy for row in board["queues"].values())
    idle = boards(tmp_path / "idle", 4, rate_per_s=0)
    assert any(row["held_until_ms"] is not None for board in idle for row in board["queues"].values())
