"""A mistake that a lab expects, put right: a prediction that was right before it stays right."""

from pathlib import Path
from typing import Any

import pytest

from sandbox.control.actions import Action, ChangeActor
from sandbox.labs.catalogue import LABS
from sandbox.labs.lab import Lab
from sandbox.simulation.lab_player import LabPlayer, play
from sandbox.simulation.world import World


class StepDone(Exception):
    """Raised by a script's hands."""


class Predicting:
    """Hands of a script; its predictions are those of `given` by step, or are kept there."""

    def __init__(self, hands: LabPlayer, given: dict[int, float | str]) -> None:
        self._hands = hands
        self._given = given

    def __getattr__(self, name: str) -> Any:
        return getattr(self._hands, name)

    def predict(self, value: float | str) -> None:
        self._hands.predict(self._given.setdefault(self._hands.attempt.step, value))


class Continuing:
    """Hands of a script of which only what follows the prediction of the open step is done, to the end of that step."""

    def __init__(self, hands: LabPlayer, lab: Lab) -> None:
        self._hands = hands
        self._lab = lab
        self._open = hands.attempt.step
        self._step = 1
        self._acts = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._hands, name)

    def predict(self, value: float | str) -> None:
        self._acts = self._step == self._open

    def act(self, action: Action) -> int:
        return self._hands.act(action) if self._acts else 0

    def wait(self, seconds: float) -> None:
        if self._acts:
            self._hands.wait(seconds)

    def see(self, within_s: float = 180) -> None:
        if self._acts:
            self._hands.see(within_s)

    def say(self, value: float | str) -> None:
        if self._acts:
            self._hands.say(value)

    def why(self, value: float | str) -> None:
        """Return the verdict of a step."""
        if self._acts:
            self._hands.why(value)
            raise StepDone
        self._step += 1


@pytest.mark.parametrize(
    ("slug", "mistake"),
    [
        ("reset-by-time", "too short"),
        ("reset-by-time", "earliest"),
        ("reset-by-time", "too late"),
        ("shrink-queues", "both"),
        ("queue-entry", "no tag"),
        ("key-index", "key again"),
    ],
)
def test_a_right_prediction_outlives_a_mistake_that_the_lab_expects(slug: str, mistake: str) -> None:
    lab = LABS[slug]
    wrong = next(script for script in lab.wrong if script.name == mistake)
    right: dict[int, float | str] = {}
    play(lab, lambda hands: lab.solve(Predicting(hands, right)), seed=1)  # type: ignore[arg-type]

    def mistaken(hands: Any) -> None:
        wrong.play(Predicting(hands, right))
        step = hands.attempt.step
        assert (hands.attempt.phase, hands.attempt.verdict.state) == ("do", "wrong")
        with pytest.raises(StepDone):
            lab.solve(Continuing(hands, lab))
        met = hands.attempt.met[step - 1]
        assert met.accurate, (met.given, met.truth)

    play(lab, mistaken, seed=1)


def test_lag_that_a_wrong_rate_left_does_not_make_a_right_prediction_wrong(tmp_path: Path) -> None:
    lab = LABS["lag-and-throughput"]
    with World(tmp_path, seed=3) as world:
        player = LabPlayer(world, lab)
        n = player.numbers
        player.predict((n["rate"] - float(n["out"])) * 60)
        player.act(ChangeActor(actor="shop", rate_per_s=5 * n["rate"]))
        player.wait(60)
        assert player.attempt.verdict.state == "wrong"
        player.act(ChangeActor(actor="shop", rate_per_s=n["rate"]))
        player.see()
        player.say(player.evidence.lag(n["group"], n["topic"]))
        player.why("in_above_out")
        assert player.attempt.met[0].accurate
