"""Words beside a strip.  The strips themselves are drawn by static/queueviz/js/strip.js."""

from __future__ import annotations

from django import template

from queueviz.boards.down_queue_texts import down_text, known_text, risk_text
from queueviz.boards.lag_texts import delivered_text, retry_text
from queueviz.boards.member_words import differ_text, words_text
from sandbox.queries.rows.board import BoardHeader, KnownQueues, MasterState, MemberRow

register = template.Library()


@register.filter
def down_words(row: MasterState | None) -> str:
    """`{{ q.row|down_words }}`: the reader of a queue whose master is down, and the time of its lag."""
    return down_text(row) if row else ""


@register.filter
def retry_words(header: BoardHeader | None) -> str:
    return retry_text(header) if header else ""


@register.filter
def delivered_words(header: BoardHeader | None) -> str:
    return delivered_text(header) if header else ""


@register.filter
def risk_words(header: BoardHeader | None) -> str:
    """`{{ header|risk_words }}`: whose offsets "redelivered on crash" is counted from, where not the master's."""
    return risk_text(header) if header else ""


@register.filter
def differ_words(header: BoardHeader | None) -> str:
    """`{{ header|differ_words }}`: the points on which members differ, and members with the client id of another."""
    return differ_text(header) if header else ""


@register.filter
def asked_words(member: MemberRow, differ: list[str] | None) -> str:
    """`{{ m.member|asked_words:header.members_differ }}`: a member's subscriptions."""
    return words_text(member, differ or ())


@register.filter
def known_words(known: KnownQueues | None) -> str:
    """`{{ header|known_words }}`: of how many queues the lag is known now, where not of all."""
    return known_text(known) if known else ""
