"""A solution of steps, and the wrong scripts that differ from it in one of them."""

from types import SimpleNamespace

import pytest

from sandbox.control.actions import CrashActor, SendMessages
from sandbox.labs.evidence import Numbers
from sandbox.labs.script import Hands, Play
from sandbox.labs.script_acts import act, act_all, crash, send, wait
from sandbox.labs.solution import Solution, SolvedStep


class Notes:
    """Hands that write down what a script does."""

    numbers: Numbers = {"topic": "orders", "burst": 12, "one": "left", "before_s": 7}
    evidence = SimpleNamespace(numbers=numbers)

    def __init__(self) -> None:
        self.lines: list[object] = []

    def act(self, action: object) -> int:
        self.lines.append(action)
        return len(self.lines)

    def wait(self, seconds: float) -> None:
        self.lines.append(f"wait {seconds:g}")

    def see(self, within_s: float = 180) -> None:
        self.lines.append(f"see {within_s:g}")

    def predict(self, value: float | str) -> None:
        self.lines.append(f"predict {value}")

    def say(self, value: float | str) -> None:
        self.lines.append(f"say {value}")

    def why(self, value: float | str) -> None:
        self.lines.append(f"why {value}")


def played(script: Play) -> list[object]:
    notes = Notes()
    script(notes)  # type: ignore[arg-type]
    return notes.lines


SOLUTION = Solution(
    SolvedStep(before=wait("before_s"), predict=1, do=send("burst"), within_s=30, say=lambda h: h.numbers["burst"]),
    SolvedStep(predict=2, do=(crash("one"), wait(2)), say=4, why="commit"),
)
FIRST = ["wait 7", "predict 1", SendMessages(topic="orders", count=12), "see 30", "say 12"]


def wrong(step: int, **changes: object) -> Play:
    return SOLUTION.wrong("name", "misconception", "sentence").at(step, **changes).play


def test_a_solution_predicts_acts_waits_and_answers_step_by_step() -> None:
    second = ["predict 2", CrashActor(actor="left"), "wait 2", "see 180", "say 4", "why commit"]
    assert played(SOLUTION) == FIRST + second


@pytest.mark.parametrize(
    ("changes", "second"),
    [
        ({"why": "all"}, ["predict 2", CrashActor(actor="left"), "wait 2", "see 180", "say 4", "why all"]),
        ({"say": 5}, ["predict 2", CrashActor(actor="left"), "wait 2", "see 180", "say 5"]),
        ({"do": wait(9), "within_s": 5}, ["predict 2", "wait 9", "see 5"]),
        ({"predict": 0, "do": (), "within_s": 0}, ["predict 0"]),
    ],
)
def test_a_wrong_script_ends_with_what_differs(changes: dict[str, object], second: list[object]) -> None:
    assert played(wrong(2, **changes)) == FIRST + second


def test_a_wrong_script_of_the_first_step_plays_no_other() -> None:
    assert played(wrong(1, say=3)) == [*FIRST[:-1], "say 3"]
    assert len(played(SOLUTION)) == 11, "and changes nothing in the solution"


def test_an_earlier_step_may_differ_too() -> None:
    script = SOLUTION.changed(1, say=13).wrong("name", "misconception", "sentence").at(2, say=0).play
    assert [line for line in played(script) if str(line).startswith("say")] == ["say 13", "say 0"]


def test_an_unknown_change_is_refused() -> None:
    with pytest.raises(ValueError, match="says"):
        wrong(2, says=3)


def test_an_act_that_fails_names_its_step() -> None:
    def fail(hands: Hands) -> None:
        raise LookupError("nothing is there")

    with pytest.raises(LookupError) as caught:
        played(wrong(2, do=fail))
    assert caught.value.__notes__ == ["step 2"]


def test_acts_name_members_by_number_or_label() -> None:
    notes = Notes()
    act_all((crash("one", "shop"), act(lambda n: SendMessages(topic=n["topic"], count=1))), notes)  # type: ignore[arg-type]
    assert notes.lines == [CrashActor(actor="left"), CrashActor(actor="shop"), SendMessages(topic="orders", count=1)]
