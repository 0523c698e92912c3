"""Words beside a strip.  The strips themselves are drawn by static/queueviz/js/strip.js."""

from __future__ import annotations

from django import template

from queueviz.boards.down import down_text, known_text, risk_text
from queueviz.boards.flow import delivered_text, retry_text
from queueviz.boards.member_words import differ_text, words_text
from sandbox.queries.rows.board import BoardHeader, KnownQueues, MasterState, MemberRow

register = template.Library()


@register.filter
def down_words(row: MasterState | None) -> str:
    """`{{ q.row|down_words }}`: who reads a queue whose master is down, and of when its lag is."""
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
    """`{{ header|differ_words }}`: on what members of the group do not agree, and whose client id is not its own."""
    return differ_text(header) if header else ""


@register.filter
def asked_words(member: MemberRow, differ: list[str] | None) -> str:
    """`{{ m.member|asked_words:header.members_differ }}`: what a member asks for."""
    return words_text(member, differ or ())


@register.filter
def known_words(known: KnownQueues | None) -> str:
    """`{{ header|known_words }}`: of how many queues the lag is known now, where not of all."""
    return known_text(known) if known else ""
