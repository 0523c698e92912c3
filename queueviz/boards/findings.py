"""Findings on pages: the line above the strips of the Board, and the page of all of them (channel `findings/…`)."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from queueviz.boards.board import live_config, now_of
from queueviz.boards.finding_views import all_of, channel, line_of
from queueviz.boards.groups import channel as group_channel
from queueviz.boards.groups import lines
from queueviz.boards.js_texts import texts
from queueviz.boards.page import BoardPage, Context, Part, Place, Readings, data_of
from queueviz.boards.past_findings import line_at, page_at
from queueviz.slugs import root_of
from sandbox.queries.rows.group_states import Groups


def _page(board: Place, readings: Readings) -> Context:
    groups = data_of(readings, group_channel(board), Groups)
    now_ms = now_of(board, readings, group_channel(board))
    return {
        "all_findings": all_of(board, readings),
        "lines": lines(groups["groups"], root_of(board.slug), now_ms) if groups else [],
        "live": live_config(board, readings, {}, tab="findings"),
        "texts": texts(),
    }


LINE = Part(
    name="finding",
    template="queueviz/partials/finding_line.html",
    attached=True,
    past=line_at,
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
    past=page_at,
    channels=lambda board: [channel(board), group_channel(board)],
    context=_page,
)
