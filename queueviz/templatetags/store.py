"""`{% record_of answer as shown %}`: fields, bytes and positions of a record, as on the message's own page."""

from __future__ import annotations

from collections.abc import Mapping

from django import template

from queueviz.boards.message import shown_record
from queueviz.boards.page import Context
from sandbox.queries.rows.records import Record

register = template.Library()


@register.inclusion_tag("queueviz/partials/record_panel.html", takes_context=True)
def record_of(context: Mapping[str, object], answer: Record) -> Context:
    return {"record": answer, "root": context.get("root"), "attached": context.get("attached"), **shown_record(answer)}
