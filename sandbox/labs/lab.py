"""A lab as a value: a setup, steps, and scripts that play it.

A step is predict → do and see → say → why.  Texts are marked for translation and name `numbers` in braces.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from sandbox.control.actions import Action
from sandbox.kernel.chance import Chance
from sandbox.labs.evidence import Evidence, Numbers
from sandbox.labs.question_kinds import Answer, Choice, EventClick, Kind
from sandbox.labs.script import Play
from sandbox.labs.verdict import Verdict

Check = Callable[[Evidence], Verdict]

NAMES = ("topic", "group")
"""Numbers that are names of things in a cluster, as are `topic_2` and so on: a second attempt has others."""


class Truth(NamedTuple):
    value: Answer
    rests_on: tuple[int, ...] = ()


class Misreading(NamedTuple):
    """A usual wrong answer and its sentence; `fits` says whether this one was given."""

    text: str
    fits: Callable[[Evidence, Answer], bool]


@dataclass(frozen=True, kw_only=True)
class Question:
    """`right` reads the truth from the evidence; `again`: the sentence after any other wrong answer."""

    text: str
    kind: Kind
    right: Callable[[Evidence], Truth]
    again: str = ""
    misreadings: tuple[Misreading, ...] = ()

    @property
    def options(self) -> tuple[tuple[str, str], ...]:
        """Value and text of what may be chosen; empty of any other kind."""
        return self.kind.options if isinstance(self.kind, Choice) else ()

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
    """`check` answers whether what is to be seen has happened; its texts may name numbers of the lab.

    `watch`: what to look at, and `mark`: where that is on the board (`queue:broker-a:3`, `header:lag`, `member:A`).
    `rate`: of the clock while the step waits.
    """

    title: str
    do: str
    check: Check
    watch: str = ""
    mark: str = ""
    predict: Question | None = None
    say: Question | None = None
    why: Question | None = None
    hints: tuple[str, ...] = ()
    rate: float = 1.0

    def look(self, evidence: Evidence) -> Verdict:
        """Return the verdict of `check`, with the numbers of the lab that its text names."""
        return self.check(evidence).filled(evidence.numbers)


class WrongScript(NamedTuple):
    """`sentence`: the text of the verdict with which it ends."""

    name: str
    misconception: str
    sentence: str
    play: Play


@dataclass(frozen=True, kw_only=True)
class Lab:
    """`allowed`: names of the actions a student may take, beside those of the lab and of the clock.

    `derive`: numbers that follow from the names of an attempt.
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
        """The same seed and attempt give the same; another attempt has other names, so that nothing old is in it."""
        drawn = self.draw(Chance(seed).fork(f"lab {self.slug} {attempt}"))
        if attempt > 1:
            drawn |= {name: f"{value}-{attempt}" for name, value in drawn.items() if name.partition("_")[0] in NAMES}
        return drawn | self.derive(drawn)


def chosen(value: str) -> Callable[[Evidence, Answer], bool]:
    """Make a check that is true for this option."""
    return lambda evidence, answer: answer == value


def shown(answer: Answer) -> str:
    """An answer as its author wrote it."""
    if isinstance(answer, float):
        return f"{answer:.15g}"
    return answer if isinstance(answer, str) else ", ".join(answer)
