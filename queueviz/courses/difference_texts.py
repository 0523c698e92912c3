"""Sentences for the differences of a regrade, in the reader's language."""

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext_lazy as _

from sandbox.labs.catalogue import LABS

KINDS: dict[str, Any] = {
    "score": _("Graded {live}, found {found}."),
    "journal": _('The journal has "{live}" as a result; the checks find "{found}".'),
    "unwritten": _('The checks find "{found}", which the journal has not: the server was killed before.'),
    "receipt": _(
        "Step {step}: the answer received at event {live} is not in the journal as it was; the journal was changed."
    ),
    "lost": _(
        "Answers of attempt {live} were received, and the journal does not have it: its oldest part was cut, or "
        "it was changed; the grade stays."
    ),
    "rerun": _("Its actions, executed again, do not write this journal: {found}."),
    "unread": _("The journal cannot be read: {found}"),
    "gone": _("Its sandbox is gone; the grade stays."),
    "not_begun": _("The journal has no attempt at this lab; the grade stays."),
    "more": _("{found} more differences of this submission."),
}
NOTHING = _("nothing")


def sentence_of(row: Mapping[str, Any]) -> str:
    """Return the sentence of a row of `Regrade.differences`."""
    return str(KINDS[row["kind"]]).format(
        step=row["step"] or "–", live=row["live"] or NOTHING, found=row["found"] or NOTHING
    )


def shown(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the row for a list: the student, the lab's number and the sentence."""
    lab = LABS.get(row["lab"])
    return {**row, "number": lab.number if lab is not None else row["lab"], "sentence": sentence_of(row)}
