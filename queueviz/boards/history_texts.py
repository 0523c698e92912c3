"""Names of the lines on the History page."""

from __future__ import annotations

from collections.abc import Mapping

from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from queueviz.boards.counted import Counted, CountedTexts
from queueviz.boards.history_lines import OTHERS, TOTAL
from queueviz.templatetags.formats import number

OTHER_QUEUES = Counted(lambda n: ngettext("{n} other queue", "{n} other queues", n))
ALL_QUEUES = _("all queues")
FLOW = {"produced": _("in"), "consumed": _("out")}

TEXTS: CountedTexts = {
    "history.total": ALL_QUEUES,
    "history.others": OTHER_QUEUES,
    "history.scale": _("Each chart: 0 to {top}, {begin} to {end}."),
    "history.queue": _("{name}: newest {value}, highest {highest}"),
    "history.finding": _("Finding: {words}"),
}
"""Texts of the page's modules."""


def line_text(line: str, others: int, queue_names: Mapping[str, str]) -> str:
    """Return the name of a line as a reader sees it."""
    if line == OTHERS:
        return OTHER_QUEUES.form(others).format(n=number(others))
    return str(ALL_QUEUES if line == TOTAL else FLOW.get(line) or queue_names.get(line, line))
