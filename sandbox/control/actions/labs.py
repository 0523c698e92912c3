"""Actions on guided labs: start, answer, hint, start over."""

from dataclasses import dataclass
from typing import Annotated, Literal

from sandbox.control.actions.action import Action
from sandbox.control.fields import Between, Name, TextUpTo

StepNumber = Annotated[int, Between(1, 99)]
AnswerKey = Annotated[str, TextUpTo(64)]


@dataclass(frozen=True, kw_only=True)
class StartLab(Action):
    """Build the lab's setup in a new sandbox and open its first step.

    An `exam` has one attempt and no hints, and right predictions count.
    """

    verb = "act"
    said = {"": "lab {lab} started", "exam=true": "lab {lab} started as an exam"}
    added = frozenset({"exam"})
    lab: Name
    exam: bool = False


@dataclass(frozen=True, kw_only=True)
class AnswerStep(Action):
    """Answer the open question of the open step.  `value`: a number, an option, options with commas, or an event.

    An answer that is sent again with the same `key` counts once.  If another `attempt` is in progress, it is
    refused; 0 matches all attempts.
    """

    verb = "act"
    said = "step {step} answered"
    added = frozenset({"key", "attempt"})
    lab: Name
    step: StepNumber
    part: Literal["predict", "say", "why"]
    value: Name
    key: AnswerKey = ""
    attempt: Annotated[int, Between(0, 1_000_000)] = 0


@dataclass(frozen=True, kw_only=True)
class TakeHint(Action):
    """Show the next hint of the open step.  It is recorded and does not change the score."""

    verb = "act"
    said = "hint of step {step} used"
    lab: Name
    step: StepNumber


@dataclass(frozen=True, kw_only=True)
class RestartLab(Action):
    """Begin a new attempt with other numbers, and remove all actors of the old one.  The best attempt counts."""

    verb = "act"
    said = "lab {lab} restarted"
    lab: Name


@dataclass(frozen=True, kw_only=True)
class BeginStepAgain(Action):
    """Open the step's prediction again, because `after`, an action of the teacher on `what`, changed its result."""

    verb = "act"
    only = "instructor"
    said = "step {step} restarts after {after} of {what}"
    lab: Name
    step: StepNumber
    after: Name
    what: Name
