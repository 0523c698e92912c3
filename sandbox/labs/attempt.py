"""Attempt at a lab, computed from the journal's entries in their order, live and afterwards with the same result.

The attempt outputs `StepMet` and `LabFinished`.  When these entries are read from a file, they change nothing.
"""

from typing import Any, Literal, NamedTuple

from sandbox.journal.events import (
    FLOW,
    ActionTaken,
    Entry,
    Event,
    HintTaken,
    LabFinished,
    PredictionGiven,
    StepMet,
)
from sandbox.kernel.errors import ActionRefused
from sandbox.labs.affected_predictions import OTHER, TEXTS
from sandbox.labs.evidence import Evidence
from sandbox.labs.lab import Lab, Question, Step, Truth
from sandbox.labs.question_kinds import Answer
from sandbox.labs.receipt import Receipt, Receipts
from sandbox.labs.translation_marks import _
from sandbox.labs.verdict import Verdict, ordered

Part = Literal["predict", "say", "why"]
Phase = Literal["predict", "do", "say", "why", "done"]

CHECK_EVERY_MS = 1_000
MOST_FACTS_CHECKED = 32  # facts checked per CHECK_EVERY_MS: those in the same ms as an action are checked, too
MOST_EVENTS = 200_000  # events of one attempt, which are kept in memory; the same limit live and afterwards
FOR_STEPS, FOR_PREDICTIONS = 70, 30  # of 100: steps met; predictions given, right or not, or in an exam those right

TOO_LONG = _("This attempt has reached its limit of {most} events; later events are ignored.")
NOTHING_YET = _("Step {step} waits for what its task names.")
WAITS_FOR = {
    "predict": _("Step {step} waits for your prediction."),
    "say": _("Step {step} waits for your observation."),
    "why": _("Step {step} waits for your explanation."),
}


class Met(NamedTuple):
    """Result of a step; `text` has placeholders for `values`.

    `truth` and `accurate`: of its prediction, which is now revealed; None if it had none.  `at_ms`: of the sandbox's
    clock.
    """

    step: int
    seq: int
    text: str
    values: dict[str, object]
    rests_on: tuple[int, ...]
    given: Answer | None
    truth: Answer | None
    accurate: bool | None
    at_ms: int


class Attempt:
    """Attempt at a lab.

    `step` counts from 1, `opened` is the event with which it opened; `verdict` is about its open phase; `mistakes`:
    step, seq and verdict of wrong answers.
    """

    def __init__(self, lab: Lab, seed: str, attempt: int, began: int, *, exam: bool = False) -> None:
        self.lab = lab
        self.exam = exam
        self.attempt = attempt
        self.began = began
        self.evidence = Evidence(lab.numbers(seed, attempt), began)
        self.step = 1
        self.opened = began
        self.hints: dict[int, int] = {}
        self.met: list[Met] = []
        self.mistakes: list[tuple[int, int, Verdict]] = []
        self.receipts = Receipts()
        self._found: list[Event] = []
        self._given: Answer | None = None
        self._key = ""  # of the prediction that comes next
        self._rests_on: set[int] = set()
        self.answers: dict[Part, Answer] = {}  # of the open step: the right ones
        self._text: Verdict | None = None
        self._truth: Truth | None = None  # of its prediction
        self._checked_ms: int | None = None  # by the clock, not for a fact
        self._facts_checked = 0  # since then
        self._shown: tuple[tuple[int, int], Verdict] | None = None  # (entries, second), verdict without a new event
        self.phase: Phase = "do"
        self.verdict = Verdict.not_yet("")
        self._begin_step(began)

    @property
    def open_step(self) -> Step | None:
        return self.lab.steps[self.step - 1] if self.step <= len(self.lab.steps) else None

    @property
    def finished(self) -> bool:
        return self.phase == "done"

    @property
    def is_too_long(self) -> bool:
        """True if the attempt has too many events; later ones are ignored."""
        return self.evidence.count >= MOST_EVENTS

    @property
    def prediction(self) -> Answer | None:
        """Prediction of the open step, sealed once given; None if none was given."""
        return self._given

    @property
    def can_be_touched(self) -> bool:
        """True if a prediction is sealed and the step is not done yet, so that a teacher's action can affect it."""
        return self.phase == "do" and self._given is not None

    @property
    def score(self) -> int:
        steps, asked = len(self.lab.steps), [step for step in self.lab.steps if step.predict is not None]
        counted = sum(bool(met.accurate) if self.exam else met.given is not None for met in self.met)
        predicted = counted / len(asked) if asked else len(self.met) / steps
        return round(FOR_STEPS * len(self.met) / steps + FOR_PREDICTIONS * predicted)

    def verdict_at(self, now_ms: int) -> Verdict:
        """Return the verdict to show at `now_ms`, also if no event has occurred since.

        Time alone never completes a step: only an entry does.
        """
        if self.phase != "do" or self.open_step is None or now_ms - self.evidence.now_ms < CHECK_EVERY_MS:
            return self.verdict
        of = (self.evidence.count, now_ms // CHECK_EVERY_MS)
        if self._shown is None or self._shown[0] != of:
            with self.evidence.at(now_ms):
                self._shown = (of, self.open_step.look(self.evidence))
        return self.verdict if self._shown[1].is_met else self._shown[1]

    def take(self) -> list[Event]:
        """Return the outcomes to be written to the journal, each once."""
        outcomes, self._found = self._found, []
        return outcomes

    # Checks before an answer is written.

    def check_answer(self, step: int, part: Part, value: str) -> Answer:
        """Check and parse an answer.

        Raises ActionRefused: 409 if another step or phase is open, 422 if the answer cannot be parsed.
        """
        open_step = self.open_step
        if self.is_too_long:
            raise ActionRefused(
                409,
                "This attempt has reached its limit of {most} events; later events are ignored.",
                "Start over.",
                most=MOST_EVENTS,
            )
        if open_step is None or step < self.step:
            raise ActionRefused(409, "Step {step} is already done.", "Start over to answer it again.", step=step)
        if step > self.step:
            raise ActionRefused(409, "Step {step} is not open yet.", "Step {now} is open.", step=step, now=self.step)
        if part != self.phase:
            if part == "predict":
                raise ActionRefused(
                    409,
                    "The prediction of step {step} is sealed.",
                    "The prediction is revealed when the step is done.",
                    step=step,
                )
            raise ActionRefused(
                409, "This question of step {step} is not open.", "First do what the step asks for.", step=step
            )
        return _asked(open_step, part).kind.parse(value)

    def check_hint(self, step: int) -> int:
        """Return the number of the next hint.  Raises ActionRefused (409) if there is none."""
        if self.exam:
            raise ActionRefused(
                409,
                "Exams have no hints.",
                "Start lab {lab} in a new sandbox to practise.",
                lab=self.lab.number,
            )
        if self.open_step is None or step != self.step:
            raise ActionRefused(409, "Hints are available only for the open step, {now}.", "", now=self.step)
        taken = self.hints.get(step, 0)
        if taken >= len(self.open_step.hints):
            raise ActionRefused(409, "Step {step} has no more hints.", "", step=step)
        return taken + 1

    def check_restart(self) -> None:
        """Raise ActionRefused (409) for an exam, which allows one attempt."""
        if self.exam:
            raise ActionRefused(
                409,
                "Exams allow one attempt.",
                "Start lab {lab} in a new sandbox to practise.",
                lab=self.lab.number,
            )

    def check_begin_again(self, step: int) -> None:
        """Raise ActionRefused (409) unless the step is open with a sealed prediction."""
        if step != self.step or not self.can_be_touched:
            raise ActionRefused(409, "Step {step} has no sealed prediction.", "", step=step)

    # Processing of entries.

    def see(self, entry: Entry) -> None:
        event = entry.event
        self.receipts.add(entry)
        if isinstance(event, StepMet | LabFinished) or self.finished or self.is_too_long:
            return
        self.evidence.add(entry)
        if self.is_too_long:
            self.verdict = Verdict.not_yet(TOO_LONG, most=MOST_EVENTS)
        elif isinstance(event, PredictionGiven):
            self._predicted(entry, event)
        elif isinstance(event, HintTaken):
            self.hints[event.step] = self.hints.get(event.step, 0) + 1
        elif isinstance(event, ActionTaken) and event.action == "AnswerStep":
            self._answered(entry, event.fields)
        elif isinstance(event, ActionTaken) and event.action == "BeginStepAgain":
            self._touched(entry, event.fields)
        elif self.phase == "do" and self._is_time(entry):
            self._look(entry)

    def _is_time(self, entry: Entry) -> bool:
        """Return True if the step must be checked at this entry: at intervals, and at facts.

        Facts are checked at once because nothing may follow them for long, and the verdict would be outdated.
        """
        if self._checked_ms is None or entry.at_ms - self._checked_ms >= CHECK_EVERY_MS:
            self._checked_ms, self._facts_checked = entry.at_ms, 0
            return True
        self._facts_checked += type(entry.event) not in FLOW
        return type(entry.event) not in FLOW and self._facts_checked <= MOST_FACTS_CHECKED

    def _look(self, entry: Entry) -> None:
        assert self.open_step is not None
        self.verdict = verdict = self.open_step.look(self.evidence)
        if verdict.is_met:
            step, self._text = self.open_step, verdict
            self._truth = None if step.predict is None else step.predict.right(self.evidence)  # now: more may happen
            self._rests_on |= set(verdict.rests_on)
            self._go_on(entry, "do")

    def _predicted(self, entry: Entry, event: PredictionGiven) -> None:
        step = self.open_step
        if step is None or step.predict is None or self.phase != "predict" or event.step != self.step:
            return
        self._given = step.predict.kind.parse(event.value)
        self.receipts.keep(Receipt(self.step, "predict", entry.seq, entry.at_ms, self.receipts.digest(), self._key))
        self.evidence.began = entry.seq
        self._go_on(entry, "predict")

    def _answered(self, entry: Entry, fields: dict[str, Any]) -> None:
        step, part, key = self.open_step, fields["part"], str(fields.get("key", ""))
        self._key = key if part == "predict" else ""
        if step is None or part != self.phase or part == "predict" or fields["step"] != self.step:
            return
        self.receipts.keep(Receipt(self.step, part, entry.seq, entry.at_ms, self.receipts.digest(), key))
        question = _asked(step, part)
        answer = question.kind.parse(fields["value"])
        verdict = question.judge(self.evidence, answer)
        if not verdict.is_met:
            self.verdict = verdict
            self.mistakes.append((self.step, entry.seq, verdict))
            return
        self._rests_on |= set(verdict.rests_on)
        self.answers[part] = answer
        self._go_on(entry, part)

    def _touched(self, entry: Entry, fields: dict[str, Any]) -> None:
        if fields["step"] == self.step and self.can_be_touched:
            self._begin_step(entry.seq)
            self.verdict = Verdict.not_yet(
                TEXTS.get(fields["after"], OTHER), subject=fields["what"], rests_on=[entry.seq]
            )

    def _go_on(self, entry: Entry, after: Phase) -> None:
        """Open the next phase that this step has, or finish the step."""
        step = self.open_step
        assert step is not None
        order: tuple[tuple[Phase, bool], ...] = (
            ("predict", step.predict is not None),
            ("do", True),
            ("say", step.say is not None),
            ("why", step.why is not None),
        )
        later = [phase for phase, is_present in order[[name for name, _ in order].index(after) + 1 :] if is_present]
        if later:
            self._open(later[0])
        else:
            self._finish_step(entry, step)

    def _open(self, phase: Phase) -> None:
        self.phase = phase
        self._checked_ms = None
        self.verdict = Verdict.not_yet(WAITS_FOR.get(phase, NOTHING_YET), step=self.step)

    def _finish_step(self, entry: Entry, step: Step) -> None:
        assert self._text is not None
        truth = self._truth
        accurate = (
            None
            if truth is None or step.predict is None or self._given is None
            else (step.predict.kind.fits(self._given, truth.value))
        )
        rests_on = ordered(self._rests_on | set(() if truth is None else truth.rests_on))
        self.met.append(
            Met(
                self.step,
                entry.seq,
                self._text.text,
                self._text.values,
                rests_on,
                self._given,
                None if truth is None else truth.value,
                accurate,
                entry.at_ms,
            )
        )
        self._found.append(StepMet(self.lab.slug, self.step, self._text.sentence(), rests_on))
        self.step += 1
        self._begin_step(entry.seq)

    def _begin_step(self, began: int) -> None:
        self._given, self._rests_on, self._text, self._truth = None, set(), None, None
        self.answers = {}
        self.evidence.began = self.opened = began
        step = self.open_step
        if step is None:
            self.phase = "done"
            self.verdict = Verdict.met(_("All steps are done."))
            self._found.append(LabFinished(self.lab.slug, self.attempt, self.score))
        else:
            self._open("do" if step.predict is None else "predict")


def _asked(step: Step, part: Part) -> Question:
    question = {"predict": step.predict, "say": step.say, "why": step.why}[part]
    assert question is not None, "only phases that a step has are opened"
    return question
