"""A player that executes the scripts of labs in virtual time."""

import shutil
import tempfile
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from sandbox.cluster.cluster import Cluster
from sandbox.cluster.lab_progress import LabProgress
from sandbox.control.actions import Action, AnswerStep, StartLab, TakeHint
from sandbox.control.questions import Question
from sandbox.control.readings import Reading
from sandbox.journal.events import Entry
from sandbox.labs.attempt import Attempt, Part
from sandbox.labs.evidence import Evidence, Numbers
from sandbox.labs.lab import Lab
from sandbox.labs.script import Play
from sandbox.simulation.world import World

LOOK_S = 1.0
ANSWER_S = 25.0  # a student reads, thinks and types; the sandbox's clock waits
MEMORY = Path("/dev/shm")


class Played(NamedTuple):
    """The result of a played script.

    `minutes`: the time a student needs, with waits at the step's clock rate.  `entries`: of the journal.
    """

    attempt: Attempt
    minutes: float
    entries: tuple[Entry, ...]


class PlayedWorld(Protocol):
    """The interface of a world in which a lab is played."""

    @property
    def cluster(self) -> Cluster: ...
    def act(self, action: Action, /) -> int: ...
    def run(self, seconds: float) -> None: ...
    def read(self, channel: str) -> Reading: ...
    def ask(self, question: Question, /) -> dict[str, object]: ...


class LabPlayer:
    """The actions of a lab's script (`Hands`) in a world that has the lab's template and preset."""

    def __init__(self, world: PlayedWorld, lab: Lab, *, exam: bool = False) -> None:
        self._world = world
        self._lab = lab
        self.student_s = 0.0
        world.act(StartLab(lab=lab.slug, exam=exam))

    @property
    def attempt(self) -> Attempt:
        return self._world.cluster.companion(LabProgress).current(self._lab.slug)

    @property
    def numbers(self) -> Numbers:
        return self.attempt.evidence.numbers

    @property
    def evidence(self) -> Evidence:
        return self.attempt.evidence

    def act(self, action: Action) -> int:
        self.student_s += ANSWER_S / 2
        return self._world.act(action)

    def wait(self, seconds: float) -> None:
        step = self.attempt.open_step
        self.student_s += seconds / (1.0 if step is None else step.rate)
        self._world.run(seconds)

    def see(self, within_s: float = 180) -> None:
        step, passed_s = self.attempt.step, 0.0
        while self.attempt.phase == "do" and self.attempt.step == step and passed_s < within_s:
            self.wait(LOOK_S)
            passed_s += LOOK_S

    def predict(self, value: float | str) -> None:
        self._answer("predict", value)

    def say(self, value: float | str) -> None:
        self._answer("say", value)

    def why(self, value: float | str) -> None:
        self._answer("why", value)

    def hint(self) -> None:
        self._world.act(TakeHint(lab=self._lab.slug, step=self.attempt.step))

    def read(self, channel: str) -> Any:
        return self._world.read(channel).data

    def ask(self, question: Question) -> dict[str, object]:
        return self._world.ask(question)

    def _answer(self, part: Part, value: float | str) -> None:
        self.student_s += ANSWER_S
        text = value if isinstance(value, str) else f"{value:g}"
        self._world.act(AnswerStep(lab=self._lab.slug, step=self.attempt.step, part=part, value=text))
        self._world.run(0.001)  # the turn that writes what the answer completes


def play(lab: Lab, script: Play, seed: int | str, *, exam: bool = False) -> Played:
    home = Path(tempfile.mkdtemp(prefix="lab-", dir=MEMORY if MEMORY.is_dir() else None))
    try:
        with World(home, lab.template, seed=seed, preset=lab.preset, changes=lab.changes) as world:
            kept: list[Entry] = []
            world.cluster.journal.subscribe(lambda: kept.extend(world.cluster.journal.since(_next(kept))))
            player = LabPlayer(world, lab, exam=exam)
            script(player)
            return Played(player.attempt, player.student_s / 60, tuple(kept))
    finally:
        shutil.rmtree(home, ignore_errors=True)


def _next(kept: list[Entry]) -> int:
    return kept[-1].seq + 1 if kept else 0
