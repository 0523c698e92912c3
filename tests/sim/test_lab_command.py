"""`manage.py lab`: what it lists, shows, checks and grades."""

import dataclasses
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from sandbox.cluster.templates import bare, template_of
from sandbox.labs.catalogue import LABS
from sandbox.labs.lab_from_run import saved_run
from sandbox.labs.lab_program import lab_program
from sandbox.labs.placeholders import MARK
from sandbox.simulation.lab_loader import FILES
from sandbox.simulation.lab_player import LabPlayer
from sandbox.simulation.world import World
from tests.sim.recorded_stage import SLUG, Recorded

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
        LAB.slug,
        True,
        True,
        1,
        LAB.minutes,
    )
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


@pytest.mark.parametrize(
    "words",
    [("show", "no-such-lab"), ("check",), ("check", "4", "--seeds", "0"), ("play", "4", "--script", "no such script")],
)
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


# Files.


@pytest.fixture
def labs_of_files() -> Iterator[None]:
    """A lab of a file is one of LABS for the rest of its process, which is a command's; here others follow."""
    yield
    for slug in FILES:
        LABS.pop(slug, None)
    FILES.clear()


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The text of a board's run as a lab."""
    stage = Recorded(tmp_path_factory.mktemp("board"), "orders", seed=4, luck=1, look_s=0)
    stage.run(20)
    assert stage.act("CrashActor", actor="A")
    stage.run(3)
    assert stage.act("SetRate", rate=5)
    assert stage.act("SendMessages", topic="orders", count=20, key="parcel-{n}")
    stage.run(1)
    assert stage.act("RestartActor", actor="A")
    at = int(json.loads(stage.journal()[-1])["seq"])
    order = stage.machine.sim.run(stage.host.branches.recipe(SLUG, at))
    stage.close()
    return lab_program(saved_run(order, name="mine", template=bare("orders"), built=template_of("orders").setup))


def filled_in(text: str) -> str:
    """As a teacher would: her words, three misconceptions, and checks that say what is to be seen."""
    text = re.sub(rf"{MARK}: [^\"\n]*", "Words of a teacher.", text)
    text = text.replace("right=truth", "right=lambda _: Truth(0.0)")
    text = text.replace("lab import Lab, Question, Step", "lab import *  # noqa").replace(
        "to_fill_in import carried_out, truth", "to_fill_in import carried_out; from sandbox.labs.lab import Truth"
    )
    head, _, _ = text.partition("    wrong=(")
    head = head.replace('again=_("Words of a teacher.")', 'again=_("Look again at {topic}; it is not {given}.")', 1)
    return (
        head
        + """    wrong=(
        SOLUTION.wrong("none", "a crash mends itself", "{action} has not been carried out yet.").at(
            1, do=wait(60), within_s=0
        ),
        SOLUTION.wrong("seven", "seven", "Look again at {topic}; it is not {given}.").at(1, say=7),
        SOLUTION.wrong("too early", "too early", "Words of a teacher.").at(2, say=7),
    ),
)
"""
    )


def checked(file: Path, *words: str) -> tuple[int, str]:
    """Exit code and what it says."""
    out = io.StringIO()
    try:
        call_command("lab", "check", str(file), "--workers", "1", *words, stdout=out)
    except SystemExit as end:
        return int(str(end.code)), out.getvalue()
    return 0, out.getvalue()


def written(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "mine_lab.py"
    file.write_text(text, "utf-8")
    return file


def test_a_saved_lab_plays_at_once_and_says_what_is_to_be_filled_in(
    saved: str, tmp_path: Path, labs_of_files: None
) -> None:
    code, said_then = checked(written(tmp_path, saved))
    assert code == 1
    assert "solved, 1 seeds" in said_then
    assert "stopped" not in said_then
    assert "Step 3 is to be filled in: title, do, check" in said_then
    assert "Wrong scripts: 1 of at least 3." in said_then


def test_a_filled_in_file_is_whole_in_workers_of_their_own(saved: str, tmp_path: Path, labs_of_files: None) -> None:
    out = io.StringIO()
    file = written(tmp_path, filled_in(saved))
    call_command("lab", "check", str(file), "--workers", "2", "--json", stdout=out)
    [row] = json.loads(out.getvalue())["labs"]
    assert (row["lab"], row["solved"], row["to_fill_in"], row["stopped"]) == ("mine", True, [], {})
    assert [wrong["sentence"] for wrong in row["wrong"]] == [
        "CrashActor has not been carried out yet.",
        "Look again at orders; it is not 7.",
        "Words of a teacher.",
    ]


def test_a_file_is_played_and_its_second_attempt_has_other_names(
    saved: str, tmp_path: Path, labs_of_files: None
) -> None:
    file = str(written(tmp_path, saved))
    assert "Lab T1, attempt 1: 100 of 100" in said("play", file)
    assert "crash" in said("show", file).lower()
    lab = LABS["mine"]
    with World(tmp_path / "again", lab.template, seed=5) as world:
        player = LabPlayer(world, lab)
        lab.solve(player)
        world.act("RestartLab", lab="mine")
        lab.solve(player)
        assert player.attempt.finished
        assert player.numbers["topic"] == "orders-2"


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("def _do_1(hands: Hands) -> None:", "def _do_1(hands", ": this is not Python ('(' was never closed)."),
        ("LAB = Lab(", "OTHER = Lab(", "has no lab. Name it so: LAB = Lab(...)."),
        ("            check=_step_1,\n", "", "Step lacks check. docs/labs.md says what it is for."),
        ("check=_step_1,", "check=None,", "step 1 has no check. Give it a function"),
        (
            "from sandbox.labs.script import Hands",
            "from sandbox.labs.script import Feet",
            "line 21: ImportError, cannot import name 'Feet'",
        ),
        ('number="T1"', 'number="3"', "there is a lab 3, crash-and-stop, already. Choose another"),
        ('template="', 'template="no-', "Template no-orders-bare does not exist."),
    ],
)
def test_a_file_that_is_no_lab_gets_a_sentence(
    saved: str, tmp_path: Path, labs_of_files: None, old: str, new: str, sentence: str
) -> None:
    assert old in saved
    with pytest.raises(CommandError) as caught:
        said("check", str(written(tmp_path, saved.replace(old, new, 1))))
    assert sentence in str(caught.value)
    assert str(caught.value).endswith(".")


def test_a_file_that_is_not_there_gets_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"cannot be read: No such file or directory\. Give the path"):
        said("check", str(tmp_path / "none.py"))


def test_a_script_that_is_refused_is_said_with_its_line(saved: str, tmp_path: Path, labs_of_files: None) -> None:
    text = saved.replace('hands.act(CrashActor(actor="A"))', 'hands.act(CrashActor(actor="Z"))')
    line = text.splitlines().index('    hands.act(CrashActor(actor="Z"))') + 1
    code, said_then = checked(written(tmp_path, text.replace('title=_("FILL IN: the title of the lab")', 'title=""')))
    assert code == 1
    assert f"script solve stopped: line {line}: Actor Z does not exist." in said_then
    assert "The lab has an empty text: title." in said_then


def test_an_answer_that_is_refused_is_said_with_its_step(saved: str, tmp_path: Path, labs_of_files: None) -> None:
    text = saved.replace("do=_do_2, say=0)", 'do=_do_2, say="none")')
    code, said_then = checked(written(tmp_path, text))
    assert code == 1
    assert "script solve stopped: step 2: 'none' is not a number." in said_then
