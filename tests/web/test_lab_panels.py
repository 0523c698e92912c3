"""The panel of each lab at each of its phases, filled in with what is shown of its numbers, and nothing right in it."""

from pathlib import Path
from typing import Any

import pytest

from queueviz.boards.lab_panel import panel
from sandbox.labs.catalogue import LABS
from sandbox.labs.lab import Lab
from sandbox.labs.question_kinds import Number
from sandbox.simulation.lab_player import LabPlayer
from sandbox.simulation.world import World

QUICK = ("members-and-queues", "retention", "pinned-offset")
EVERY = [pytest.param(lab, id=slug, marks=() if slug in QUICK else pytest.mark.wide) for slug, lab in LABS.items()]


class ShownHands(LabPlayer):
    """Hands of the solving script; before each answer and action the panel is drawn."""

    def __init__(self, world: World, lab: Lab) -> None:
        super().__init__(world, lab)
        self.world = world
        self.panels: list[dict[str, Any]] = []

    def look(self) -> None:
        self.panels.append(panel(self.world.ask("lab-state")["lab"]))

    def act(self, action: Any) -> int:
        self.look()
        return super().act(action)

    def _answer(self, part: Any, value: float | str) -> None:
        self.look()
        super()._answer(part, value)


@pytest.mark.parametrize("lab", EVERY)
def test_a_panel_is_whole_at_each_phase_and_opens_a_truth_with_its_step(lab: Lab, tmp_path: Path) -> None:
    with World(tmp_path, lab.template, seed=5, preset=lab.preset, changes=lab.changes) as world:
        hands = ShownHands(world, lab)
        lab.solve(hands)
        hands.look()
    assert hands.panels[-1]["finished"]
    for step, met in zip(lab.steps, (step["met"] for step in hands.panels[-1]["steps"]), strict=True):
        kind = step.predict and step.predict.kind
        assert bool(met["tolerance"]) == (isinstance(kind, Number) and bool(kind.within or kind.share))
    for shown in hands.panels:
        for step in shown["steps"]:
            is_open = step["met"] is not None
            assert is_open == (step["state"] == "met"), "a truth is in a step that is met, and nowhere else"
        now = shown["open"]
        if now is not None:
            assert now["verdict"]["state"] != "met"
            assert "right" not in now
