"""Resets of offsets: what was previewed is what happens, or the apply is refused."""

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
    world.act("StartConsumer", group=GROUP, subscriptions=[["orders", "*"]], copies=2, listener=listener,
              work_ms=[20, dice.choice([30, 200])])
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
        shown = [{"queue": row["queue"], "committed": row["committed"], "target": row["target"]}
                 for row in plan["rows"] if row["selected"]]
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


def test_an_undo_leads_back(tmp_path: Path) -> None:
    with busy_world(tmp_path, 4) as world:
        for label in ("A", "B"):
            world.act("StopActor", actor=label)
        world.run(2)
        before = committed(world)
        seq = world.act("ResetOffsets", group=GROUP, topic="orders", target="earliest", method="offline")
        assert set(committed(world).values()) == {0}
        world.act("UndoReset", reset_id=f"r{seq}")
        assert committed(world) == before


def test_skipping_messages_for_good_needs_the_name_of_the_group(tmp_path: Path) -> None:
    with busy_world(tmp_path, 5) as world:
        for label in ("A", "B"):
            world.act("CrashActor", actor=label)
        world.run(3)
        wish = {"group": GROUP, "topic": "orders", "target": "latest", "method": "offline"}
        with pytest.raises(ActionRefused) as refusal:
            world.act("ResetOffsets", **wish)
        assert (refusal.value.status, refusal.value.field) == (422, "confirm")
        world.act("ResetOffsets", **wish, confirm=GROUP)


def test_each_method_is_refused_when_it_cannot_work(tmp_path: Path) -> None:
    with busy_world(tmp_path, 6) as world:
        wish = {"group": GROUP, "topic": "orders", "target": "earliest"}
        assert "online" in world.ask("plan-reset", **wish, method="offline")["refused"]["message"]
        for label in ("A", "B"):
            world.act("StopActor", actor=label)
        world.run(1)
        refused = world.ask("plan-reset", **wish, method="online")["refused"]
        assert "206" in refused["message"]
        with pytest.raises(ActionRefused) as refusal:
            world.act("ResetOffsets", **wish, method="online")
        assert refusal.value.status == 409
        new_group = world.ask("plan-reset", group="nobody", topic="orders", target="latest", method="offline")
        assert {row["committed"] for row in new_group["rows"]} == {None}


@pytest.mark.parametrize("changed", [
    {"value": -6}, {"target": "latest", "value": None}, {"queues": ["broker-a:1"]}, {"method": "offline"}])
def test_an_apply_that_wishes_what_was_not_previewed_is_refused(tmp_path: Path, changed: dict[str, Any]) -> None:
    """Every target above lies where its preview said, or runs away: only the wish shows that it is another one."""
    with busy_world(tmp_path, 8) as world:
        if "method" in changed:
            for label in ("A", "B"):
                world.act("StopActor", actor=label)
            world.run(1)
        wish: dict[str, Any] = {"group": GROUP, "topic": "orders", "target": "shift", "value": -5, "method": "online"}
        plan = world.ask("plan-reset", **wish)
        shown = {"fingerprint": plan["fingerprint"], "confirm": GROUP,
                 "expected": [{name: row[name] for name in ("queue", "committed", "target")} for row in plan["rows"]]}
        refusal = refused(world, **{**wish, **changed}, **shown)
        assert refusal is not None
        assert (refusal.status, refusal.message) == (409, "The form was changed after this preview.")
        assert refusal.details["rows"], "a refusal brings the new plan"
        assert not world.entries(OffsetsReset)


def test_the_order_in_which_queues_were_chosen_is_no_other_wish(tmp_path: Path) -> None:
    with busy_world(tmp_path, 8) as world:
        wish: dict[str, Any] = {"group": GROUP, "topic": "orders", "target": "earliest"}
        plan = world.ask("plan-reset", **wish, queues=["broker-a:1", "broker-a:2"])
        assert refused(world, **wish, queues=["broker-a:2", "broker-a:1"], fingerprint=plan["fingerprint"]) is None
        assert world.entries(OffsetsReset)


def test_a_commit_that_passes_the_target_stops_the_apply(tmp_path: Path) -> None:
    with busy_world(tmp_path, 7) as world:
        rows = world.ask("plan-reset", group=GROUP, topic="orders", target="latest")["rows"]
        row = rows[0]
        stale = [{"queue": row["queue"], "committed": "1", "target": "2"}]
        with pytest.raises(ActionRefused) as refusal:
            world.act("ResetOffsets", group=GROUP, topic="orders", target="shift", value=1, queues=[row["queue"]],
                      expected=stale, confirm=GROUP)
        assert refusal.value.status == 409
        assert "passed" in refusal.value.message
