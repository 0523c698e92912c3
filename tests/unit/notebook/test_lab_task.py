"""Labs by the Python API: begun, answered and graded as on their pages."""

import pytest

from sandbox import Sandbox
from sandbox.kernel.errors import ActionRefused
from sandbox.labs.catalogue import LABS
from sandbox.simulation.lab_player import play

LAB = LABS["members-and-queues"]
SEED = 7


def solve(box: Sandbox) -> None:
    """Do the tasks of lab 4 by hand."""
    numbers = LAB.numbers(str(SEED), 1)
    box.lab("4")
    box.answer(numbers["idle"])
    box.act("StartConsumer", group=numbers["group"], copies=numbers["members"] - numbers["at_first"])
    box.run_until(lambda: box.lab().phase == "say")
    box.answer(numbers["idle"])
    box.answer("one_owner")
    box.answer(40)
    box.act("ChangeTopic", topic=numbers["topic"], write_queues=numbers["more"], read_queues=numbers["more"])
    box.run_until(lambda: box.lab().phase == "say")
    box.answer(2)
    box.answer("route_then_divide")


def test_a_lab_that_is_done_is_graded_as_by_its_script() -> None:
    with Sandbox(seed=SEED) as box:
        solve(box)
        assert box.lab().phase == "done"
        result = box.check("4")
    played = play(LAB, LAB.solve, SEED).attempt
    assert (result.finished, result.score, result.sentence) == (True, played.score, played.verdict.sentence())
    assert len(result.receipts) == len(played.receipts.kept)


def test_a_wrong_answer_is_answered_by_the_lab_s_sentence() -> None:
    with Sandbox(seed=SEED) as box:
        numbers = LAB.numbers(str(SEED), 1)
        box.lab("members-and-queues")
        box.answer(0)
        box.act("StartConsumer", group=numbers["group"], copies=numbers["members"] - numbers["at_first"])
        box.run_until(lambda: box.lab().phase == "say")
        assert "A queue is never shared by two members." in box.answer(0).sentence
        result = box.check("4")
        assert (result.finished, result.step) == (False, 1)
        assert result.sentence == box.lab().sentence


def test_what_is_not_asked_cannot_be_answered_and_says_what_to_do() -> None:
    with Sandbox(seed=SEED) as box:
        with pytest.raises(ActionRefused, match="No lab is in progress here"):
            box.answer(1)
        with pytest.raises(ActionRefused, match="Lab N99 does not exist"):
            box.lab("N99")
        with pytest.raises(ActionRefused, match="Lab 4 is not in progress here"):
            box.check("4")
        with pytest.raises(ActionRefused, match="template replicas"):
            box.lab("14")
        box.lab("4")
        box.answer(1)
        with pytest.raises(ActionRefused, match="Step 1 has no question now"):
            box.answer(1)
        assert box.lab("4").phase == "do", "to name it again does not begin it again"
