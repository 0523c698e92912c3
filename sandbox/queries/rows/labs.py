"""The lab in progress, as its panel shows it.  Texts are English with `{names}`; `numbers` fills them in.

What is sealed is not there: truths of a prediction before its step is met, hints not taken, texts of later steps.
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
    values: dict[str, Any]
    rests_on: list[str]  # seqs


class MetRow(TypedDict):
    """`given` and `truth`: of the prediction, as text; null where the step has none."""

    seq: str
    text: str
    values: dict[str, Any]
    rests_on: list[str]
    given: str | None
    truth: str | None
    accurate: bool | None
    at_ms: int


class StepRow(TypedDict):
    """`state`: met, open, later; of a later step only the title is there.  `hints`: how many were taken."""

    title: str
    state: str
    hints: int
    met: MetRow | None


class OpenStepRow(TypedDict):
    """`phase`: predict, do, say, why; `prediction`: sealed, null before it is given; `mark`: on the board."""

    step: int
    phase: str
    do: str
    watch: str
    mark: str
    rate: float
    predict: AskedRow | None
    say: AskedRow | None
    why: AskedRow | None
    prediction: str | None
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
    numbers: dict[str, Any]
    allowed: list[str]
    steps: list[StepRow]
    open: OpenStepRow | None
    receipts: list[ReceiptRow]


class ComingRow(TypedDict):
    """`kind`: of an intervention.  `in_s`: whole seconds of the machine."""

    kind: str
    in_s: int


class HoldRow(TypedDict):
    """A teacher's control of this sandbox.  `acts`: the teacher who has taken over."""

    frozen: bool
    acts: str | None
    coming: list[ComingRow]


class LabView(TypedDict):
    """Channel `lab/<slug>` and the question `lab-state`; None: no lab was started here."""

    lab: LabRow | None
    hold: HoldRow


def view_without_score(view: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a `LabView` without its score, for a reader who is not shown scores."""
    return view if view.get("lab") is None else {**view, "lab": {**view["lab"], "score": None}}
