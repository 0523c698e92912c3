"""The Board's line and the page What is wrong at a past event, from the facts of the journal.

Checks are not facts, so the past is never healthy: no finding is open, or findings are.
"""

from __future__ import annotations

from django.utils.translation import gettext as _

from queueviz.boards.board import live_config
from queueviz.boards.finding_views import FindingsView, line, trees, view_of
from queueviz.boards.js_texts import texts
from queueviz.boards.page import Context, Place
from queueviz.boards.past_facts import PastFindings
from queueviz.templatetags.formats import duration, number


def line_at(board: Place, past: PastFindings) -> Context:
    """Return the values of the Board's line at an event."""
    return {**line(board, _view(board, past)), "known_from": past.from_seq}


def page_at(board: Place, past: PastFindings) -> Context:
    """Return the values of What is wrong at an event."""
    return {
        "all_findings": _view(board, past),
        "known_from": past.from_seq,
        "live": live_config(board, {}, {}, tab="findings"),
        "texts": texts(),
    }


def _view(board: Place, past: PastFindings) -> FindingsView:
    rows, opened_ms = past.recorded
    opened = {row["key"]: _opened(int(row["event"] or 0), opened_ms[row["key"]], past) for row in rows}
    return view_of(trees(board, rows, None, opened), rows)


def _opened(seq: int, at_ms: int, past: PastFindings) -> str:
    """Return since when the figures of a sentence are those: it is of the opening."""
    if seq == past.at or past.at_ms is None:
        return _("opened at this event")
    return _("values of #{seq}, where it opened {age} ago").format(
        seq=number(seq), age=duration(max(0, past.at_ms - at_ms))
    )
