"""Every step of every lab is met by the buttons of its own panel alone, and each line is ticked by what was done."""

from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from sandbox.control.actions import ResetOffsets, parse_action
from sandbox.labs.attempt import Part
from sandbox.labs.catalogue import LABS
from sandbox.labs.lab import Lab
from sandbox.labs.lab import shown as written
from sandbox.labs.question_kinds import Answer
from sandbox.labs.solution import Solution
from sandbox.simulation.lab_player import LabPlayer
from sandbox.simulation.world import World
from tests.web.engine_calls import HTMX
from tests.web.panel_buttons import Button, Lines, lines_of, shown

QUICK = ("lag-and-throughput", "crash-and-stop", "strategies", "reset-by-time", "delay-and-half", "retention")
EVERY = [pytest.param(lab, id=slug, marks=() if slug in QUICK else pytest.mark.wide) for slug, lab in LABS.items()]
ONLY_WAITS = {("dead-letter", 2), ("orderly-lock", 2), ("master-dies", 2)}  # there is nothing to be done
THINK_S = 1.5  # until the next button is pressed
PATIENCE_S = {("dead-letter", 2): 20_000}  # retries take hours; any other step takes minutes
USUAL_S = 900
LOOK_S = 2.0
READ_S = 15.0  # of the first task, while the clock runs; it stands before later predictions


class PanelStudent(LabPlayer):
    """Student who presses the buttons of the panel, from the first line to the last, and answers what is right."""

    def __init__(self, world: World, lab: Lab) -> None:
        super().__init__(world, lab)
        self.world = world
        self.lab = lab
        self.pressed: list[Button] = []
        self.html = ""

    def look(self) -> Lines:
        self.html = shown(self.world.ask("lab-state")["lab"])
        return lines_of(self.html)

    def do_step(self) -> None:
        number, step = self.attempt.step, self.attempt.open_step
        assert step is not None
        if step.predict is not None:
            if number == 1:
                self.wait(READ_S)
            self.press_next()
            self.predict(self._prediction(number))
        passed_s = 0.0
        while self.attempt.phase == "do" and self.attempt.step == number:
            wait_s = THINK_S if self.press_next() else LOOK_S * step.rate
            self.wait(wait_s)
            passed_s += wait_s
            assert passed_s < PATIENCE_S.get((self.lab.slug, number), USUAL_S), self.attempt.verdict.sentence()
        parts: tuple[Part, ...] = ("say", "why")
        for part in parts:
            question = getattr(step, part)
            if question is not None and (self.attempt.step, self.attempt.phase) == (number, part):
                self._answer(part, text_of(question.right(self.evidence).value))
        assert self.attempt.step == number + 1, (number, self.attempt.phase, self.attempt.verdict.sentence())

    def press_next(self) -> bool:
        """Press the button of the first line that is possible and not done."""
        possible = [button for button in self.look().buttons if not button.is_done]
        if not possible:
            return False
        button = possible[self._choice(possible)]
        fields = button.fields | self._asked() if button.opens else button.fields
        self.world.act(parse_action(fields))
        self.pressed.append(button)
        return True

    def _prediction(self, number: int) -> float | str:
        solve = self.lab.solve
        assert isinstance(solve, Solution)
        predict = solve.steps[number - 1].predict
        assert predict is not None
        return predict(self) if callable(predict) else predict

    def _choice(self, possible: list[Button]) -> int:
        """Return the index of the right one of several buttons of a line."""
        strategies = [button.fields.get("strategy") for button in possible]
        return strategies.index("CONSISTENT_HASH") if "CONSISTENT_HASH" in strategies else len(possible) - 1

    def _asked(self) -> dict[str, object]:
        """Return what the student enters in the dialog of a reset."""
        broken = self.evidence.actions("ChangeActor", since=0)[0]
        return {"action": ResetOffsets.__name__, "value": broken.at_ms - 500, "confirm": self.numbers["group"]}


def text_of(value: Answer) -> str:
    return value[0] if isinstance(value, tuple) else written(value)


@pytest.mark.parametrize("lab", EVERY)
def test_every_step_is_met_by_the_buttons_of_its_panel(lab: Lab, tmp_path: Path) -> None:
    with World(tmp_path, lab.template, seed=5, preset=lab.preset, changes=lab.changes) as world:
        student = PanelStudent(world, lab)
        for number in range(1, len(lab.steps) + 1):
            before = len(student.pressed)
            student.do_step()
            assert (len(student.pressed) == before) is ((lab.slug, number) in ONLY_WAITS), number
        assert student.attempt.finished
    assert {button.fields.get("action", ResetOffsets.__name__) for button in student.pressed} <= lab.allowed


def test_a_dialog_of_a_line_is_opened_with_all_but_what_the_student_must_find_out(tmp_path: Path) -> None:
    lab = LABS["reset-by-time"]
    with World(tmp_path, lab.template, seed=5, preset=lab.preset, changes=lab.changes) as world:
        student = PanelStudent(world, lab)
        student.do_step()
        student.predict(1)
        [button] = student.look().buttons
    assert button.opens
    assert button.fields == {"group": student.numbers["group"], "topic": student.numbers["topic"], "target": "time"}


@pytest.mark.django_db(transaction=True)
def test_a_button_posts_to_the_same_address_as_the_control_of_the_board(real_engine: Any) -> None:
    student = Client()
    address = student.post("/labs/failed-send/")["Location"]
    prediction = {"action": "AnswerStep", "step": 1, "part": "predict", "value": 1}
    closed = lines_of(student.get(address, headers=HTMX).content.decode())
    assert (closed.lines, closed.buttons) == ([], []), "nothing can be done before the prediction"
    [cut] = lines_of(student.post(address, prediction, headers=HTMX).content.decode()).buttons
    assert student.post(f"/s/{address.split('/')[2]}/actions/", cut.fields, headers=HTMX).status_code == 204
    after = lines_of(student.get(address, headers=HTMX).content.decode())
    assert after.lines == ["done", "now"]


def test_a_line_says_what_it_waits_for(tmp_path: Path) -> None:
    lab = LABS["flush-and-replicate"]
    with World(tmp_path, lab.template, seed=5, preset=lab.preset, changes=lab.changes) as world:
        student = PanelStudent(world, lab)
        student.do_step()
        student.predict("none")
        student.press_next()
        student.press_next()
        assert student.look().lines == ["done", "done", "later", "later"]
        assert "Possible in 12 s of sandbox time." in student.html
        assert "After line 3." in student.html
        student.wait(12)
        assert student.look().lines == ["done", "done", "now", "later"]


def test_an_act_that_is_repeated_opens_the_lines_after_it_again(tmp_path: Path) -> None:
    lab = LABS["poison-in-order"]
    with World(tmp_path, lab.template, seed=5, preset=lab.preset, changes=lab.changes) as world:
        student = PanelStudent(world, lab)
        student.predict("one")
        student.press_next()
        student.press_next()
        [again, _other] = student.look().buttons
        assert student.look().lines == ["done", "done"]
        world.act(parse_action(again.fields))
        assert student.look().lines == ["done", "now"]


def test_a_step_names_the_first_button_and_afterwards_what_stops_it(tmp_path: Path) -> None:
    lab = LABS["crash-and-stop"]
    with World(tmp_path, lab.template, seed=5, preset=lab.preset, changes=lab.changes) as world:
        student = PanelStudent(world, lab)
        student.predict(2)
        student.look()
        n = student.numbers
        first = f"Send {n['burst']} messages to <code>{n['topic']}</code>"
        assert f"Nothing done yet: press “{first}”." in student.html
        student.press_next()
        student.wait(1)
        world.act(parse_action({"action": "CrashActor", "actor": n["other"]}))
        student.wait(1)
        student.look()
        assert "is running: restart one" not in student.html
        student.press_next()
        student.wait(2)
        student.look()
        blocked = f"No member of <code>{n['group']}</code> is running: restart one, or add a consumer."
        assert blocked in student.html
        world.act(parse_action({"action": "RestartActor", "actor": n["other"]}))
        student.wait(5)
        student.look()
        assert "is running: restart one" not in student.html
