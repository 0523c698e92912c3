"""Findings on pages: the line above the strips of the Board, and the page of all of them (channel `findings/…`)."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from queueviz.boards.board import live_config
from queueviz.boards.finding_views import all_of, channel, line_of
from queueviz.boards.js_texts import texts
from queueviz.boards.page import BoardPage, Context, Part, Place, Readings


def _page(board: Place, readings: Readings) -> Context:
    return {
        "all_findings": all_of(board, readings),
        "live": live_config(board, readings, {}, tab="findings"),
        "texts": texts(),
    }


LINE = Part(
    name="finding",
    template="queueviz/partials/finding_line.html",
    attached=True,
    channels=lambda board: [channel(board)],
    context=line_of,
)
"""The line above the strips of the Board: the worst finding of its group."""

FINDINGS = BoardPage(
    name="findings",
    title=_("What is wrong"),
    path="findings/",
    template="queueviz/boards/findings.html",
    twin="queueviz/partials/findings.html",
    attached=True,
    channels=lambda board: [channel(board)],
    context=_page,
)
