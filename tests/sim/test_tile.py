"""The tile of one student's sandbox in a course's grid."""

from pathlib import Path
from typing import Any

import orjson

from sandbox.control.actions import SetRate, StartConsumer
from sandbox.labs.catalogue import LABS
from sandbox.simulation.lab_player import LabPlayer
from sandbox.simulation.world import World

LAB = LABS["members-and-queues"]
MOST_BYTES = 512


def tile(world: World) -> dict[str, Any]:
    return dict(world.read("tile").data["tile"])


def test_a_tile_follows_a_student_through_a_step(tmp_path: Path) -> None:
    with World(tmp_path, LAB.template, seed=3) as world:
        player = LabPlayer(world, LAB)
        n = player.numbers
        assert (tile(world)["lab"], tile(world)["step"], tile(world)["steps"], tile(world)["phase"]) == (
            "4",
            1,
            2,
            "predict",
        )
        player.predict(1)
        player.act(StartConsumer(group=n["group"], copies=n["members"] - n["at_first"]))
        assert tile(world)["phase"] == "do"
        player.see(60)
        seen = tile(world)
        assert seen["phase"] == "say"
        assert {state for state, _ in seen["lives"].values()} == {"running"}
        assert len(seen["strips"]) == n["queues"]
        assert all(len(strip.split("/")) == 3 for strip in seen["strips"])


def test_the_strip_of_a_dead_master_is_unknown_and_not_at_its_end(tmp_path: Path) -> None:
    with World(tmp_path, LAB.template, seed=3) as world:
        LabPlayer(world, LAB)
        world.run(15)
        assert tile(world)["strips"]
        assert not any(strip.startswith("-") for strip in tile(world)["strips"])
        [broker] = world.cluster.nodes.brokers
        broker.kill()  # a lab that allows it has the same tile
        assert all(strip.startswith("-/") for strip in tile(world)["strips"])


def test_the_same_mistake_again_and_again_is_counted_and_another_one_begins_anew(tmp_path: Path) -> None:
    with World(tmp_path, LAB.template, seed=3) as world:
        player = LabPlayer(world, LAB)
        n = player.numbers
        player.predict(1)
        player.act(StartConsumer(group=n["group"], copies=n["members"] - n["at_first"]))
        player.see(60)
        for wrong in range(1, 4):
            player.say(n["idle"] + 7)
            assert tile(world)["failed"] == wrong
        player.say(n["idle"])
        player.why("one_owner")
        assert tile(world)["failed"] == 0
        assert tile(world)["step"] == 2


def test_a_tile_is_small_and_a_sandbox_without_a_lab_has_one_too(tmp_path: Path) -> None:
    with World(tmp_path, "orders") as world:
        world.run(10)
        assert tile(world)["lab"] is None
        assert tile(world)["strips"] == []
    with World(tmp_path / "lab", LAB.template, seed=4) as world:
        LAB.solve(LabPlayer(world, LAB))
        assert tile(world)["phase"] == "done"
        assert len(orjson.dumps(tile(world))) < MOST_BYTES


def test_a_prediction_is_an_action_of_the_student_and_a_broadcast_is_none(tmp_path: Path) -> None:
    with World(tmp_path, LAB.template, seed=3) as world:
        player = LabPlayer(world, LAB)
        assert tile(world)["sealed"] is False
        world.run(150)
        began_ms = tile(world)["acted_ms"]
        player.predict(1)
        predicted_ms = tile(world)["acted_ms"]
        assert predicted_ms - began_ms >= 150_000
        assert tile(world)["sealed"] is True, "the teacher's next action affects it"
        world.run(5)
        world._on_loop(lambda: world.sandbox.act(SetRate(rate=1.0), "instructor ada"))
        assert tile(world)["acted_ms"] == predicted_ms
