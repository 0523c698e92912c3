"""Lines of a step: its acts in their order, each done, possible now, or not yet possible for a reason.

They are the acts of the solving script that execute an action, so that the panel's buttons and the script are the
same.  A line that was executed is found in the journal, from the panel or from the Board's own control.
"""

from collections.abc import Iterator
from dataclasses import MISSING, fields
from math import ceil
from typing import Literal, NamedTuple

from sandbox.control.actions import Action, fields_of, name_of
from sandbox.journal.events import ActionTaken
from sandbox.labs.evidence import Evidence, Seen
from sandbox.labs.lab import Lab
from sandbox.labs.script_acts import Act, OneOf, Until, Wait, each
from sandbox.labs.solution import Solution
from sandbox.labs.translation_marks import _

SHORT_S = 5  # a shorter wait does not block the next line: a student needs as long to press it

TARGETS = frozenset({"broker_id"})  # they say what the action is about, also with their default

PREDICT_FIRST = _("First enter your prediction.")
IN_ORDER = _("After line {line}.")
AFTER = _("Possible in {left_s} s of sandbox time.")
LACKING = _("Possible once the journal contains what it is about.")

State = Literal["done", "now", "later"]


class Line(NamedTuple):
    """One act of a step.  `acts`: more than one if the student chooses.

    `before`: it may be executed before the prediction.  `waits`: after the previous line.
    """

    acts: tuple[Act, ...]
    before: bool
    waits: tuple[Wait | Until, ...]


class Option(NamedTuple):
    """An action that a line offers, with its target and the fields that differ from their default.

    `asks`: fields left open.
    """

    action: str
    fields: dict[str, object]
    asks: frozenset[str]


class LineState(NamedTuple):
    """State of a line.  `options`: actions to choose from; empty if they cannot be made yet.  `reason`: of "later"."""

    state: State
    options: tuple[Option, ...]
    reason: str
    values: dict[str, object]


def lines_of(lab: Lab, step: int) -> list[Line]:
    """Return the lines of a step, which counts from 1; empty if the student only waits in it."""
    if not isinstance(lab.solve, Solution):
        return []
    solved = lab.solve.steps[step - 1]
    lines: list[Line] = []
    waits: list[Wait | Until] = []
    for before, acts in ((True, solved.before), (False, solved.do)):
        for part in each(acts):
            if isinstance(part, Wait | Until):
                waits.append(part)
            elif isinstance(part, Act | OneOf):
                lines.append(Line(part.acts if isinstance(part, OneOf) else (part,), before, tuple(waits)))
                waits = []
    return lines


def states_of(lines: list[Line], evidence: Evidence, opened: int, phase: str) -> Iterator[LineState]:
    """Yield the state of each line in a phase of the step that opened with the event `opened`.

    A line is done if its action follows those of all lines before it.  So an action that is repeated opens the lines
    after it again.
    """
    done: Seen[ActionTaken] | None = None
    is_blocked = False  # a line before is not done
    for number, line in enumerate(lines, start=1):
        options = tuple(_option(act, action) for act in line.acts if (action := act.action(evidence)) is not None)
        taken = _newest(evidence, options, opened)
        if not is_blocked and taken is not None and (done is None or taken.seq > done.seq):
            done = taken
            yield LineState("done", options, "", {})
            continue
        if phase == "predict" and not line.before:
            yield LineState("later", options, PREDICT_FIRST, {})
        elif is_blocked:
            yield LineState("later", options, IN_ORDER, {"line": number - 1})
        else:
            reason, values = _reason(line, evidence, done)
            if not options:
                reason = reason or LACKING
            yield LineState("later" if reason else "now", options, reason, values)
        is_blocked = True


def _reason(line: Line, evidence: Evidence, done: Seen[ActionTaken] | None) -> tuple[str, dict[str, object]]:
    """Return why a line must wait after the previous one; an empty text if it need not."""
    for part in line.waits:
        if isinstance(part, Until):
            if not part.holds(evidence):
                return part.text, dict(evidence.numbers)
        elif done is not None:
            wait_s = part.seconds_of(evidence.numbers)
            left_ms = wait_s * 1000 - (evidence.now_ms - done.at_ms)
            if wait_s >= SHORT_S and left_ms > 0:
                return AFTER, {"left_s": ceil(left_ms / 1000)}
    return "", {}


def _newest(evidence: Evidence, options: tuple[Option, ...], opened: int) -> Seen[ActionTaken] | None:
    """Return the newest of these actions that the student has executed since the step opened."""
    entries = [
        entry
        for option in options
        for entry in evidence.actions(option.action, since=opened)
        if all(entry.event.fields.get(name) == value for name, value in option.fields.items())
    ]
    return max(entries, default=None, key=lambda entry: entry.seq)


def _option(act: Act, action: Action) -> Option:
    shown, defaults = fields_of(action), {field.name: field.default for field in fields(action)}
    is_set = {
        name: value
        for name, value in shown.items()
        if name not in act.asks
        and (name in TARGETS or defaults[name] is MISSING or getattr(action, name) != defaults[name])
    }
    return Option(name_of(action), is_set, act.asks)
