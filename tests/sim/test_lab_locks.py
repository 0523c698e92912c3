"""The lab about the orderly lock: a student who hesitates until the locks have ended has another try."""

from pathlib import Path

from sandbox.control.actions import CrashActor, RestartActor
from sandbox.labs.catalogue import LABS
from sandbox.simulation.lab_player import LabPlayer
from sandbox.simulation.world import World

LAB = LABS["orderly-lock"]


def test_a_take_over_before_its_prediction_is_named_and_a_second_crash_meets_the_step(tmp_path: Path) -> None:
    with World(tmp_path, LAB.template, seed=5) as world:
        player = LabPlayer(world, LAB)
        one = player.numbers["one"]
        player.wait(30)
        player.predict("wait")
        player.act(CrashActor(actor=one))
        player.see(20)
        left = LAB.steps[0].say
        assert left is not None
        player.say(round(float(str(left.right(player.evidence).value))))
        player.wait(90)
        player.predict(50)
        player.wait(5)
        assert player.attempt.verdict.sentence().startswith("right had acquired the locks before you")
        player.act(RestartActor(actor=one))
        player.wait(30)
        player.act(CrashActor(actor=one))
        player.see(90)
        assert player.attempt.phase == "say"
