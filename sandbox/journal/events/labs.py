"""Events of guided labs.  Other answers than predictions are actions (`AnswerStep`)."""

from typing import NamedTuple

from sandbox.journal.events.event import said
from sandbox.journal.events.shapes import Long
from sandbox.kernel.sentences import Plural


@said("ok", "lab", "lab {lab} starts, attempt {attempt}", "act")
@said("ok", "exam", "lab {lab} starts as an exam", "act", when="exam=true")
class LabStarted(NamedTuple):
    """The start of a lab; `seed` and `attempt` reproduce its names and numbers.

    An `exam` has no hints, and right predictions count.
    """

    lab: str
    attempt: int
    seed: str
    exam: bool = False


@said("ok", "lab", "lab {lab} done: {score} of 100", "act")
@said("ok", "lab", "lab {lab} done", "act", when="score=null")
class LabFinished(NamedTuple):
    """The end of a lab.  `score` is of 100, and null for readers from whom the course withholds it."""

    lab: str
    attempt: int
    score: int


@said("move", "predicted", "step {step}: predicted {value}")
class PredictionGiven(NamedTuple):
    """A prediction, stored before its answer is revealed."""

    lab: str
    step: int
    value: str


@said("quiet", "hint", "step {step}: hint {value} used")
class HintTaken(NamedTuple):
    lab: str
    step: int
    value: str


@said(
    "ok",
    "step",
    Plural("evidence", "step {step} done, based on {evidence} event", "step {step} done, based on {evidence} events"),
)
class StepMet(NamedTuple):
    """A step is completed.  `evidence` has the `seq` of the events that show it, `why` a sentence in English."""

    lab: str
    step: int
    why: str
    evidence: tuple[Long, ...]
