"""Texts beside a strip.  static/queueviz/js/strip.js draws the strips themselves."""

from __future__ import annotations

from collections.abc import Iterable

from django import template

from queueviz.boards.down_queue_texts import down_text, known_text, risk_text
from queueviz.boards.lag_texts import deleted_said, deleted_text, delivered_text, retry_text
from queueviz.boards.member_words import differ_text, words_text
from queueviz.boards.rows import QueueView
from sandbox.queries.rows.board import BoardHeader, KnownQueues, MasterState, MemberRow, QueueRow

register = template.Library()


@register.filter
def down_words(row: MasterState | None) -> str:
    """Return the reader of a queue whose master is down, and the time of its lag: `{{ q.row|down_words }}`."""
    return down_text(row) if row else ""


@register.filter
def deleted_words(queues: Iterable[QueueView] | None) -> str:
    """Return the deleted messages of a board's lag: `{{ queues|deleted_words }}`."""
    return deleted_text(view.row for view in queues or ())


@register.filter
def deleted_of(row: QueueRow | None) -> str:
    """Return the deleted messages of a queue's lag: `{{ q.row|deleted_of }}`."""
    return deleted_said(row) if row else ""


@register.filter
def retry_words(header: BoardHeader | None) -> str:
    return retry_text(header) if header else ""


@register.filter
def delivered_words(header: BoardHeader | None) -> str:
    return delivered_text(header) if header else ""


@register.filter
def risk_words(header: BoardHeader | None) -> str:
    """Return whose offsets "redelivered on crash" is counted from, if not the master's: `{{ header|risk_words }}`."""
    return risk_text(header) if header else ""


@register.filter
def differ_words(header: BoardHeader | None) -> str:
    """Return the points on which members differ, and shared client ids: `{{ header|differ_words }}`."""
    return differ_text(header) if header else ""


@register.filter
def asked_words(member: MemberRow, differ: list[str] | None) -> str:
    """Return a member's subscriptions as text: `{{ m.member|asked_words:header.members_differ }}`."""
    return words_text(member, differ or ())


@register.filter
def known_words(known: KnownQueues | None) -> str:
    """Return for how many queues the lag is known now, if not for all: `{{ header|known_words }}`."""
    return known_text(known) if known else ""
