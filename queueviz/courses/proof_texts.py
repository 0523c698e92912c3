"""Sentences for the differences between a browser's run and its execution, in the reader's language."""

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from queueviz.courses.proof_codes import Difference
from queueviz.texts import Texts

SENTENCES: Texts = {
    "chain": _("Entry {n} does not match its receipt: the stored list was changed. The grade stays."),
    "chain_end": _("The stored list ends after entry {n}, but {length} entries were received. The grade stays."),
    "engine": _("The browser used engine {engine}, which this server does not know."),
    "teacher": _("Actions in the name of a teacher who did not act: {count}."),
    "late": _("Answers that were received after the due date: {count}."),
    "odd": _("Messages that this page does not send ({kind}): {count}."),
    "clock": _("Entry {n} is at {ms} ms of the run, but it was received before: the list was made faster than time."),
    "clock_at": _("Entry {n}: the browser reports another time of the sandbox clock than the execution."),
    "clock_end": _("The browser reports more time of the sandbox clock than has passed."),
    "position": _("Entry {n} cannot be at its position in the run; it was executed at {ms} ms."),
    "refused": _("Entry {n} is refused when it is executed: {why}"),
    "digest": _(
        "From answer {n} on (attempt {attempt}, event {seq}), the receipts of the browser and of the execution differ: "
        "another engine, another seed, or a changed answer."
    ),
    "row": _(
        "The browser reports a score of {score} with {met} steps; the execution results in {executed_score} with "
        "{executed_met} steps."
    ),
    "row_step": _("Step {n}: the browser reports another result than the execution."),
    "row_form": _("The report of the browser cannot be read."),
    "events": _("The run has too many events. Only the executed part counts."),
    "seconds": _("The execution took too long. Only the executed part counts."),
    "disk": _("The disk of the server became too full during the execution. The grade stays."),
    "stuck": _("The execution cannot continue: nothing happens in the run any more. Only the executed part counts."),
    "refused_run": _("The run cannot be executed: {why} The grade stays."),
    "interrupted": _("The server ended twice during the execution. The grade stays."),
    "gone": _("The sandbox of this submission no longer exists; the grade stays."),
}


def sentence_of(row: Difference) -> str:
    """Return the sentence of a row of `LiteRun.differences`."""
    values = row["values"]
    if "message" in values:
        inner = values["values"]
        assert isinstance(inner, dict)
        text = gettext(str(values["message"]))
        values = {"why": text.format(**inner) if inner else text}
    return str(SENTENCES[row["code"]]).format(n=row["n"], **values)
