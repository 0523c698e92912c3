"""The script that solves a lab, step by step, and the wrong ones that differ from it in one step.

SOLUTION = Solution(
    SolvedStep(predict=0, do=(send("burst"), stop("one")), say=_on_the_board, why="work"),
    SolvedStep(predict=10, do=(send("burst"), crash("other")), say=4, why="commit"),
)
...
solve=SOLUTION,
wrong=(SOLUTION.wrong("says the burst", "everything comes again", BURST).at(2, say=32),)
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from sandbox.labs.evidence import Evidence
from sandbox.labs.lab import Truth, WrongScript
from sandbox.labs.script import Hands
from sandbox.labs.script_acts import Acts, act_all

Reply = float | str | Callable[[Hands], float | str]
"""An answer, or a function that reads it: from the board, a page or the journal."""


class SolvedStep(NamedTuple):
    """Play of one step: the prediction, the acts, and the answers; None if the step does not ask for one.

    `before`: acts before the prediction.  `within_s`: how long the script waits for the effects of `do`.
    """

    do: Acts = ()
    predict: Reply | None = None
    say: Reply | None = None
    why: Reply | None = None
    before: Acts = ()
    within_s: float = 180

    def play(self, hands: Hands) -> None:
        act_all(self.before, hands)
        if self.predict is not None:
            hands.predict(_read(self.predict, hands))
        act_all(self.do, hands)
        if self.within_s:
            hands.see(self.within_s)
        if self.say is not None:
            hands.say(_read(self.say, hands))
        if self.why is not None:
            hands.why(_read(self.why, hands))


class Solution:
    """Script of solved steps, played one after another."""

    def __init__(self, *steps: SolvedStep) -> None:
        self.steps = steps

    def __call__(self, hands: Hands) -> None:
        for number, step in enumerate(self.steps, start=1):
            try:
                step.play(hands)
            except Exception as error:
                error.add_note(f"step {number}")
                raise

    def changed(self, step: int, **changes: Any) -> "Solution":
        """Return the solution with other fields of one step, which counts from 1."""
        changed = self.steps[step - 1]._replace(**changes)
        return Solution(*self.steps[: step - 1], changed, *self.steps[step:])

    def wrong(self, name: str, misconception: str, sentence: str) -> "Mistake":
        """Return the start of a wrong script; `at` completes it.

        `SOLUTION.wrong("late", "a crash always repeats", LATE).at(2, do=wait(60))`.
        """
        return Mistake(self, name, misconception, sentence)


class Mistake(NamedTuple):
    """Misconception with the sentence that answers it; `at` returns the script of a student who has it."""

    solution: Solution
    name: str
    misconception: str
    sentence: str

    def at(self, step: int, **changes: Any) -> WrongScript:
        """Return a script that equals the solution up to this step, differs there, and ends.

        With `do=crash("one")` it ends before the step's questions, with `say=7` it ends with that answer.
        """
        *right, last = self.solution.changed(step, **changes).steps[:step]
        if "why" not in changes:
            last = last._replace(why=None, say=last.say if "say" in changes else None)
        return WrongScript(self.name, self.misconception, self.sentence, Solution(*right, last))


def answer_of(right: Callable[[Evidence], Truth]) -> Reply:
    """Return a reply that gives the right answer of a question: `say=answer_of(_count)`."""

    def read(hands: Hands) -> float | str:
        value = right(hands.evidence).value
        assert not isinstance(value, tuple), "an event is clicked, not written"
        return value

    return read


def _read(reply: Reply, hands: Hands) -> float | str:
    return reply(hands) if callable(reply) else reply
