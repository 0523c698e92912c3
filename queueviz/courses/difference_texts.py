"""Sentences for the differences of a regrade, in the reader's language."""

from typing import TypedDict

from django.utils.translation import gettext_lazy as _

from queueviz.texts import Texts
from sandbox.labs.catalogue import LABS

KINDS: Texts = {
    "score": _("The recorded score is {live}; the regraded score is {found}."),
    "journal": _('The journal records the result "{live}"; the checks compute "{found}".'),
    "unwritten": _(
        'The checks compute "{found}", which is not in the journal: the server was killed before the result '
        "was recorded."
    ),
    "receipt": _("Step {step}: the answer received at event {live} differs from the journal. The journal was changed."),
    "lost": _(
        "Answers of attempt {live} were received, but the journal does not contain this attempt. The oldest part "
        "of the journal was cut off, or the journal was changed. The grade stays."
    ),
    "rerun": _("Replaying the actions of the submission does not produce this journal: {found}."),
    "unread": _("The journal cannot be read: {found}"),
    "gone": _("The sandbox of this submission no longer exists; the grade stays."),
    "not_begun": _("The journal has no attempt at this lab; the grade stays."),
    "more": _("{found} more differences in this submission."),
}
NOTHING = _("nothing")


class DifferenceRow(TypedDict):
    """A row of `Regrade.differences` (`regrading.Difference`)."""

    submission: int
    student: str
    lab: str
    kind: str
    step: int | None
    live: str
    found: str


class DifferenceLine(DifferenceRow):
    """A difference with its sentence and the lab's number, for a list."""

    number: str  # of the lab
    sentence: str


def sentence_of(row: DifferenceRow) -> str:
    """Return the sentence of a row of `Regrade.differences`."""
    return str(KINDS[row["kind"]]).format(
        step=row["step"] or "–", live=row["live"] or NOTHING, found=row["found"] or NOTHING
    )


def shown(row: DifferenceRow) -> DifferenceLine:
    """Return the row for a list: the student, the lab's number and the sentence."""
    lab = LABS.get(row["lab"])
    return {**row, "number": lab.number if lab is not None else row["lab"], "sentence": sentence_of(row)}
