"""`manage.py lab`: what it lists, shows, checks and grades."""

import dataclasses
import io
import json
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from sandbox.labs.catalogue import LABS
from sandbox.simulation.lab_player import LabPlayer
from sandbox.simulation.world import World

LAB = LABS["members-and-queues"]


def said(*words: str) -> str:
    out = io.StringIO()
    call_command("lab", *words, stdout=out)
    return out.getvalue()


def test_every_lab_is_listed_with_its_minutes() -> None:
    lines = said("list").splitlines()
    assert [line.split()[1] for line in lines] == list(LABS)
    assert all(f"{lab.minutes} min" in line for lab, line in zip(LABS.values(), lines, strict=True))


def test_a_lab_is_shown_with_the_numbers_of_a_seed() -> None:
    shown = said("show", "4", "--seed", "7")
    assert str(LAB.numbers("7", 1)["topic"]) in shown
    assert "{" not in shown


def test_a_check_says_whether_each_script_is_answered_as_it_should_be() -> None:
    [row] = json.loads(said("check", "4", "--workers", "1", "--json"))["labs"]
    assert (row["lab"], row["solved"], row["empty_fails"], row["seeds"], row["minutes"]) == (
        LAB.slug, True, True, 1, LAB.minutes)
    assert [wrong["script"] for wrong in row["wrong"]] == [wrong.name for wrong in LAB.wrong]
    assert all(wrong["fails"] and wrong["misconception"] and "{" not in wrong["sentence"] for wrong in row["wrong"])


def test_a_lab_whose_script_does_not_solve_is_not_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """And a wrong script that is answered by another sentence is found."""
    other = LAB.wrong[0]._replace(sentence="Something else.")
    broken = dataclasses.replace(LAB, solve=LAB.wrong[0].play, wrong=(other, *LAB.wrong[1:]))
    monkeypatch.setitem(LABS, LAB.slug, broken)
    out = io.StringIO()
    with pytest.raises(SystemExit):
        call_command("lab", "check", "4", "--workers", "1", "--json", stdout=out)
    [row] = json.loads(out.getvalue())["labs"]
    assert not row["solved"]
    assert [wrong["fails"] for wrong in row["wrong"]] == [False, True, True, True]


@pytest.mark.parametrize("words", [("show", "no-such-lab"), ("check",), ("check", "4", "--seeds", "0"),
                                   ("play", "4", "--script", "no such script")])
def test_what_cannot_be_done_is_said_in_a_sentence(words: tuple[str, ...]) -> None:
    with pytest.raises(CommandError) as caught:
        said(*words)
    assert str(caught.value).endswith(".")


def test_a_directory_is_graded_as_it_was_live(tmp_path: Path) -> None:
    with World(tmp_path, seed=5) as world:
        player = LabPlayer(world, LAB)
        LAB.solve(player)
        live = player.attempt
        world.sleep()
    [row] = json.loads(said("play", str(tmp_path / "sandboxes" / "world"), "--json"))
    assert (row["score"], row["finished"]) == (live.score, True)
    assert [step["rests_on"] for step in row["steps"]] == [list(met.rests_on) for met in live.met]
    assert [receipt["digest"] for receipt in row["receipts"]] == [receipt.digest for receipt in live.receipts.kept]
