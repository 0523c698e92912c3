"""Resets in sandboxes at work: what was previewed is what happens, or the apply is refused.

What each wish does to a group in each state is in `test_reset_plans.py`.
"""

from pathlib import Path
from random import Random
from typing import Any

import pytest

from sandbox.journal.events import OffsetCommitted, OffsetsReset, QueueTaken, ResetStepDone
from sandbox.kernel.errors import ActionRefused
from sandbox.simulation.world import World
from tests.wide import seeds

GROUP = "order-svc"


def busy_world(tmp_path: Path, seed: int, *, listener: str = "concurrent") -> World:
    """Four queues, two members, some history of its own."""
    dice = Random(seed)
    world = World(tmp_path, seed=seed)
    world.act("CreateTopic", topic="orders", write_queues=4, read_queues=4)
    world.act(
        "StartConsumer",
        group=GROUP,
        subscriptions=[["orders", "*"]],
        copies=2,
        listener=listener,
        work_ms=[20, dice.choice([30, 200])],
    )
    world.act("StartProducer", actor="shop", topic="orders", rate_per_s=dice.choice([5, 20, 40]))
    world.run(dice.choice([16, 25, 31.3]))
    if dice.random() < 0.3:
        world.act("ChangeActor", actor="shop", rate_per_s=0)
        world.run(6)
    return world


def committed(world: World) -> dict[str, int | None]:
    rows = world.read(f"board/{GROUP}/orders").data["queues"]
    return {queue: None if row["committed"] is None else int(row["committed"]) for queue, row in rows.items()}


def wish_of(dice: Random, world: World) -> dict[str, Any]:
    now_ms = world.cluster.clock.now_ms()
    target = dice.choice(["time", "earliest", "latest", "offset", "shift"])
    value = {"time": now_ms - dice.randrange(40_000), "offset": dice.randrange(400), "shift": dice.randrange(-60, 60)}
    wish: dict[str, Any] = {"group": GROUP, "topic": "orders", "target": target}
    if target in value:
        wish["value"] = value[target]
    if dice.random() < 0.3:
        wish["queues"] = ["broker-a:1", "broker-a:2"]
    return wish


def refused(world: World, **wish: Any) -> ActionRefused | None:
    try:
        world.act("ResetOffsets", **wish)
    except ActionRefused as why:
        return why
    return None


@pytest.mark.parametrize("seed", seeds(12, 40))
def test_the_preview_equals_the_result_or_the_apply_is_refused(tmp_path: Path, seed: int) -> None:
    dice = Random(seed)
    with busy_world(tmp_path, seed) as world:
        offline = dice.random() < 0.5
        if offline:
            world.act("StopActor", actor="A")
            world.act("StopActor", actor="B")
            world.run(1)
        wish = {**wish_of(dice, world), "method": "offline" if offline else "online"}
        plan = world.ask("plan-reset", **wish)
        assert plan["refused"] is None
        shown = [
            {"queue": row["queue"], "committed": row["committed"], "target": row["target"]}
            for row in plan["rows"]
            if row["selected"]
        ]
        world.run(dice.choice([0, 0.4, 3, 11]))  # commits in between
        before = committed(world)
        refusal = refused(world, **wish, expected=shown, confirm=GROUP)
        if refusal is not None:
            assert refusal.status == 409
            assert refusal.details["rows"], "a refusal brings the new plan"
            assert not world.entries(OffsetsReset)
            return
        [done] = [entry.event for entry in world.entries(OffsetsReset)]
        result = {key.split("/", 1)[1].replace("/", ":"): after for key, _, after in done.rows}
        if wish["target"] != "latest":
            assert result == {row["queue"]: int(row["target"]) for row in shown}
        if offline:
            assert {queue: committed(world)[queue] for queue in result} == result
            return
        world.act("ChangeActor", actor="shop", rate_per_s=0)
        steps = {"told", "dropped", "waiting", "resumed"}
        world.run(10.5)  # members dropped their queues, waited 10 s and committed
        for member in ("A", "B"):
            client_id = world.cluster.actors.get(member).client_id
            assert steps <= {e.event.step for e in world.entries(ResetStepDone) if e.event.client_id == client_id}
        reported = [entry.event for entry in world.entries(OffsetCommitted, since=world.entries(OffsetsReset)[0].seq)]
        written = {(f"{event.broker}:{event.queue_id}", event.offset) for event in reported if event.topic == "orders"}
        for queue, offset in result.items():
            assert (queue, offset) in written or offset == before[queue], "the broker was told the target"
        starts = {f"{e.event.broker}:{e.event.queue_id}": e.event.start_offset for e in world.entries(QueueTaken)}
        assert {queue: starts[queue] for queue in result} == result, "and they went on from there"
        world.run(61)
        assert {e.event.step for e in world.entries(ResetStepDone)} >= {"verified"}


def test_messages_come_again_after_a_reset_to_the_earliest(tmp_path: Path) -> None:
    with busy_world(tmp_path, 3) as world:
        world.act("ChangeActor", actor="shop", rate_per_s=0)
        world.run(8)
        plan = world.ask("plan-reset", group=GROUP, topic="orders", target="earliest")
        assert plan["delivered_again"] > 0
        assert plan["skipped"] == 0
        world.act("ResetOffsets", group=GROUP, topic="orders", target="earliest")
        world.run(40)
        header = world.read(f"board/{GROUP}/orders").data["header"]
        assert header["delivered_again"] == plan["delivered_again"]
        assert header["lag"] == "0"
