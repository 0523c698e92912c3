"""A round of restarts in the lab about them: what ends it, and how another one begins."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox.control.actions import CrashActor, RestartActor, RestartLab, StopActor
from sandbox.labs.catalogue import LABS
from sandbox.simulation.lab_player import LabPlayer
from sandbox.simulation.world import World

LAB = LABS["rolling-restart"]
MEMBERS = ("left", "middle", "right")


@pytest.fixture
def player(tmp_path: Path) -> Iterator[LabPlayer]:
    """A player in step 2 of a second attempt, whose members have the labels of the first."""
    with World(tmp_path, LAB.template, seed=5) as world:
        made = LabPlayer(world, LAB)
        world.act(RestartLab(lab=LAB.slug))
        world.run(2)
        made.predict(1)
        for label in MEMBERS:
            made.act(CrashActor(actor=label))
            made.wait(1)
            made.act(RestartActor(actor=label))
            made.wait(1)
        made.see(20)
        numbers = made.numbers
        made.say(made.read(f"board/{numbers['group']}/{numbers['topic']}")["header"]["delivered_again"])
        made.why("open")
        made.predict(2)
        yield made


def restart(player: LabPlayer, *labels: str) -> None:
    for label in labels:
        player.act(StopActor(actor=label))
        player.wait(1)
        player.act(RestartActor(actor=label))
        player.wait(1)


def said(player: LabPlayer) -> str:
    player.wait(2)
    return player.attempt.verdict.sentence()


def test_after_a_mistake_another_round_begins_when_all_are_back(player: LabPlayer) -> None:
    restart(player, "left")
    player.act(StopActor(actor="middle"))
    player.wait(1)
    player.act(StopActor(actor="right"))
    assert said(player).startswith("middle was still away when right was stopped")
    player.act(RestartActor(actor="middle"))
    player.act(RestartActor(actor="right"))
    assert said(player).startswith("middle was still away"), "until a member is stopped again"
    restart(player, "right")
    assert said(player) == "1 of 3 members have restarted and are running again."
    restart(player, "left", "middle")
    player.see(20)
    assert player.attempt.phase == "say"


def test_a_second_restart_of_a_member_begins_another_round(player: LabPlayer) -> None:
    restart(player, "left", "middle")
    assert said(player) == "2 of 3 members have restarted and are running again."
    restart(player, "left")
    assert said(player) == "1 of 3 members have restarted and are running again."
