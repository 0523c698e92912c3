"""The lab in progress, as its panel shows it.  Texts are English with `{names}`; `numbers` fills them in.

Sealed values are left out: the truth of a prediction before its step is met, hints not taken, texts of later steps.
"""

from collections.abc import Mapping
from typing import Any, TypedDict


class AskedRow(TypedDict):
    """A question of a step; `kind`: number, choice, order, event."""

    text: str
    kind: str
    unit: str  # of a number
    options: list[list[str]]  # of a choice or an order: value and text


class VerdictRow(TypedDict):
    state: str  # met, not_yet, wrong
    text: str
    values: dict[str, object]
    rests_on: list[str]  # seqs


class MetRow(TypedDict):
    """A step that was met.  `given` and `truth`: of the prediction, as text; null if the step has none."""

    seq: str
    text: str
    values: dict[str, object]
    rests_on: list[str]
    given: str | None
    truth: str | None
    accurate: bool | None
    at_ms: int


class StepRow(TypedDict):
    """One step.  `state`: met, open, later; a later step has only its title.  `hints`: number of hints taken."""

    title: str
    state: str
    hints: int
    met: MetRow | None


class ActionRow(TypedDict):
    """An action of a line, filled in.  `asks`: fields that the student must find out."""

    action: str
    fields: dict[str, object]
    asks: list[str]


class LineRow(TypedDict):
    """One act of the open step.  `state`: done, now, later.  `actions`: more than one if the student chooses.

    `reason`: the text of why it is not possible yet, with its values.
    """

    state: str
    actions: list[ActionRow]
    reason: str
    values: dict[str, object]


class OpenStepRow(TypedDict):
    """The open step.

    `phase`: predict, do, say, why.  `prediction`: sealed, null before it is made.  `answers`: right ones, by phase.
    `mark`: the mark on the board.  `acted`: the student has executed an action of the lab in this step.
    """

    step: int
    phase: str
    do: str
    lines: list[LineRow]
    watch: str
    mark: str
    page: str  # its address, below the sandbox's
    rate: float
    predict: AskedRow | None
    say: AskedRow | None
    why: AskedRow | None
    prediction: str | None
    answers: dict[str, str]
    acted: bool
    hints: list[str]  # those taken
    hints_left: int
    verdict: VerdictRow


class ReceiptRow(TypedDict):
    step: int
    part: str
    seq: str
    at_ms: int
    digest: str
    key: str  # as its sender calls it


class LabRow(TypedDict):
    lab: str
    number: str
    title: str
    goal: str
    minutes: int
    attempt: int
    exam: bool
    score: int  # null for readers from whom the course withholds it
    finished: bool
    numbers: dict[str, object]
    allowed: list[str]
    steps: list[StepRow]
    open: OpenStepRow | None
    receipts: list[ReceiptRow]


class ComingRow(TypedDict):
    """An intervention that is due.  `in_s`: whole seconds of the machine's clock."""

    kind: str
    in_s: int


class EffectRow(TypedDict):
    """A teacher's newest intervention in this sandbox.

    `what`: name of the part that it changed; empty if it changed none.  `again`: it opened a sealed prediction again.
    `to_all`: all sandboxes of the course got it.
    """

    kind: str
    what: str
    again: bool
    to_all: bool
    at_wall_ms: int


class HoldRow(TypedDict):
    """A teacher's control of this sandbox.

    `acts`: the teacher who has taken over, or None.  `effect`: None if there was no intervention for a while.
    """

    frozen: bool
    acts: str | None
    coming: list[ComingRow]
    effect: EffectRow | None


class LabView(TypedDict):
    """The value of channel `lab/<slug>` and question `lab-state`; `lab` is None if no lab was started."""

    lab: LabRow | None
    hold: HoldRow


def view_without_score(view: Mapping[str, Any]) -> Mapping[str, object]:
    """Return a `LabView` without its score, for a viewer who must not see scores."""
    return view if view.get("lab") is None else {**view, "lab": {**view["lab"], "score": None}}
