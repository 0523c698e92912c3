"""An answer sent again is the same answer: by its key, in the journal and after whatever became of the server."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox.cluster.journal_files import DIRECTORY
from sandbox.control.actions import RestartLab, StartLab
from sandbox.journal.events import ActionTaken, PredictionGiven
from sandbox.journal.segments import rows_since
from sandbox.kernel.errors import ActionRefused
from sandbox.labs.catalogue import LABS
from sandbox.labs.lab import Lab
from sandbox.simulation.lab_player import LabPlayer
from sandbox.simulation.world import World

LAB = LABS["members-and-queues"]


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with World(tmp_path, seed=3) as made:
        made.act(StartLab(lab=LAB.slug))
        made.run(0.5)
        yield made


def predict(world: World, value: str = "2", key: str = "k1", attempt: int = 1) -> int:
    return world.act("AnswerStep", lab=LAB.slug, step=1, part="predict", value=value, key=key, attempt=attempt)


def refusal(world: World, value: str = "2", key: str = "k1", attempt: int = 1) -> ActionRefused:
    with pytest.raises(ActionRefused) as caught:
        predict(world, value, key, attempt)
    return caught.value


def answers(world: World) -> int:
    """Return the answers in the journal's files."""
    world.cluster.journal_files.show()
    rows = rows_since(world.cluster.directory / DIRECTORY, 0)
    return sum(row["type"] == "ActionTaken" and row["action"] == "AnswerStep" for row in rows)


def receipts(world: World) -> list[tuple[str, str, str]]:
    return [(one["part"], one["key"], one["digest"]) for one in world.ask("lab-state")["lab"]["receipts"]]


def test_the_same_key_gives_the_same_receipt_and_is_written_once(world: World) -> None:
    seq = predict(world)
    [received] = receipts(world)
    assert received[:2] == ("predict", "k1")
    world.run(1)
    assert [predict(world) for _ in range(5)] == [seq] * 5
    assert receipts(world) == [received]
    assert (answers(world), len(world.entries(PredictionGiven))) == (1, 1)


@pytest.mark.parametrize("cut", ["sleep", "kill"])
def test_it_is_known_again_after_sleep_and_after_a_kill(world: World, cut: str) -> None:
    seq = predict(world)
    received = receipts(world)
    getattr(world, cut)()
    world.wake()
    assert predict(world) == seq
    assert receipts(world) == received
    assert answers(world) == 1


def test_a_kill_right_after_the_receipt_loses_no_answer(world: World) -> None:
    seq = predict(world)
    world.kill()
    world.wake()
    assert predict(world) == seq


def test_a_key_is_one_answer_s(world: World) -> None:
    predict(world)
    why = refusal(world, value="3")
    assert (why.status, why.field, str(why)) == (409, "key", "Another answer with this key was already received.")
    assert refusal(world, key="k2").message == "The prediction of step {step} is sealed."
    assert answers(world) == 1


def test_an_answer_of_the_attempt_before_is_not_taken_for_one_of_this(world: World) -> None:
    predict(world)
    world.act(RestartLab(lab=LAB.slug))
    world.run(1)
    why = refusal(world)
    assert (why.status, str(why)) == (409, "This answer is for attempt 1, but attempt 2 is in progress.")
    predict(world, attempt=2)
    assert answers(world) == 2


def test_an_answer_without_a_key_has_the_fields_it_always_had(world: World) -> None:
    world.act("AnswerStep", lab=LAB.slug, step=1, part="predict", value="2")
    fields = [
        event.fields
        for entry in world.entries(ActionTaken)
        if isinstance(event := entry.event, ActionTaken) and event.action == "AnswerStep"
    ]
    assert fields == [{"lab": LAB.slug, "step": 1, "part": "predict", "value": "2"}]


def test_what_was_not_received_leaves_its_key_free(world: World) -> None:
    assert refusal(world, value="two").status == 422
    predict(world, "2")
    assert answers(world) == 1


def test_no_number_is_shown_that_no_text_of_the_lab_names(tmp_path: Path) -> None:
    """`idle` is what the first step has predicted."""
    with World(tmp_path, seed=5) as world:
        LabPlayer(world, LAB)
        numbers = world.ask("lab-state")["lab"]["numbers"]
        assert {"topic", "group", "queues", "members", "at_first"} <= set(numbers)
        assert "idle" not in numbers
        predict(world, "2")
        world.run(2)
        verdict = world.ask("lab-state")["lab"]["open"]["verdict"]
        assert set(verdict["values"]) == {"now", "members"}


@pytest.mark.parametrize("lab", LABS.values(), ids=LABS)
def test_all_that_is_shown_can_be_filled_in_with_what_is_shown(lab: Lab, tmp_path: Path) -> None:
    with World(tmp_path, lab.template, seed=5, preset=lab.preset, changes=lab.changes) as world:
        LabPlayer(world, lab)
        shown = world.ask("lab-state")["lab"]
    numbers, now = shown["numbers"], shown["open"]
    for text in (shown["title"], shown["goal"], *(step["title"] for step in shown["steps"]), now["do"], now["watch"]):
        text.format(**numbers)
    for asked in (now["predict"], now["say"], now["why"]):
        if asked is not None:
            for text in (asked["text"], *(text for _, text in asked["options"])):
                text.format(**numbers)
