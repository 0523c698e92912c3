"""Labs as values: a setup, steps, and scripts that play them.

A step has the phases predict → do and see → say → why.  Texts are marked for translation and contain `numbers` in
braces.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from sandbox.control.actions import Action
from sandbox.kernel.chance import Chance
from sandbox.labs.evidence import Evidence, Numbers
from sandbox.labs.question_kinds import Answer, Choice, EventClick, Kind, Number
from sandbox.labs.script import Play
from sandbox.labs.verdict import Verdict

Check = Callable[[Evidence], Verdict]

NAMES = ("topic", "group")
"""Numbers that are names of things in a cluster, as are `topic_2` and so on: a second attempt has others."""


class Truth(NamedTuple):
    value: Answer
    rests_on: tuple[int, ...] = ()


class Misreading(NamedTuple):
    """Usual wrong answer with its sentence; `fits` returns True if the answer is this one."""

    text: str
    fits: Callable[[Evidence, Answer], bool]


@dataclass(frozen=True, kw_only=True)
class Question:
    """Question of a step.

    `right` reads the true answer from the evidence; `again`: the sentence for any other wrong answer.
    """

    text: str
    kind: Kind
    right: Callable[[Evidence], Truth]
    again: str = ""
    misreadings: tuple[Misreading, ...] = ()

    @property
    def options(self) -> tuple[tuple[str, str], ...]:
        """Values and texts of a choice; empty for any other kind of question."""
        return self.kind.options if isinstance(self.kind, Choice) else ()

    def tolerance(self, truth: str) -> float:
        """Return the difference from a true number up to which an answer is right, too; 0 of other kinds."""
        return self.kind.tolerance(float(truth)) if isinstance(self.kind, Number) else 0

    def judge(self, evidence: Evidence, answer: Answer) -> Verdict:
        truth = self.right(evidence)
        values = {**evidence.numbers, "given": shown(answer)}
        if self.kind.fits(answer, truth.value):
            return Verdict("met", self.text, values, truth.rests_on)
        rests_on = () if isinstance(self.kind, EventClick) else truth.rests_on  # there they are the answer itself
        for misreading in self.misreadings:
            if misreading.fits(evidence, answer):
                return Verdict("wrong", misreading.text, values, rests_on)
        return Verdict("wrong", self.again, values, rests_on)


@dataclass(frozen=True, kw_only=True)
class Step:
    """Step of a lab.

    `check` returns the verdict on whether the expected events have occurred; its texts may contain numbers of the
    lab.  `watch`: what to look at; `mark`: its place on the Board (`queue:broker-a:3`, `header:lag`, `member:A`).
    `rate`: of the clock while the step waits.  `page`: the address of the page that the step also uses, below the
    sandbox's (`index/?topic={topic}`).
    """

    title: str
    do: str
    check: Check
    watch: str = ""
    mark: str = ""
    page: str = ""
    predict: Question | None = None
    say: Question | None = None
    why: Question | None = None
    hints: tuple[str, ...] = ()
    rate: float = 1.0

    def look(self, evidence: Evidence) -> Verdict:
        """Return the verdict of `check`, filled with the numbers of the lab that its text contains."""
        return self.check(evidence).filled(evidence.numbers)


class WrongScript(NamedTuple):
    """Script of a student with a misconception.  `sentence`: the text of the verdict with which it ends."""

    name: str
    misconception: str
    sentence: str
    play: Play


@dataclass(frozen=True, kw_only=True)
class Lab:
    """Guided lab.

    `allowed`: names of the actions that a student may take, in addition to those of labs and of the clock.
    `derive`: numbers computed from the drawn ones.
    """

    slug: str
    number: str
    title: str
    goal: str
    minutes: int
    draw: Callable[[Chance], dict[str, object]]
    setup: Callable[[Numbers], tuple[Action, ...]]
    allowed: frozenset[str]
    steps: tuple[Step, ...]
    solve: Play
    wrong: tuple[WrongScript, ...]
    template: str = "empty"
    preset: str = "sandbox"
    changes: dict[str, object] = field(default_factory=dict)
    derive: Callable[[Numbers], dict[str, object]] = lambda numbers: {}

    def numbers(self, seed: str, attempt: int) -> Numbers:
        """Return the numbers of an attempt, which depend on the seed and the attempt only.

        Another attempt has other names, so that its topics and groups are new.
        """
        drawn = self.draw(Chance(seed).fork(f"lab {self.slug} {attempt}"))
        if attempt > 1:
            drawn |= {name: f"{value}-{attempt}" for name, value in drawn.items() if name.partition("_")[0] in NAMES}
        return drawn | self.derive(drawn)


def chosen(value: str) -> Callable[[Evidence, Answer], bool]:
    """Return a function that checks whether the answer is this option."""
    return lambda evidence, answer: answer == value


def shown(answer: Answer) -> str:
    """Return an answer as text, as a student would write it."""
    if isinstance(answer, float):
        return f"{answer:.15g}"
    return answer if isinstance(answer, str) else ", ".join(answer)
