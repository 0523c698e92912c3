"""`{% route_tables answer as tables %}`: a topic's route as each name server reports it, side by side."""

from __future__ import annotations

from django import template

from queueviz.boards.live_fields import word
from queueviz.boards.topology_routes import Table, tables
from sandbox.queries.rows.walks import AllRoutes, OneRoute

register = template.Library()


@register.simple_tag
def route_tables(answer: AllRoutes | OneRoute) -> list[Table]:
    return tables(answer)


@register.filter
def node_word(value: str, family: str) -> str:
    """Return the translated word for a state of a family: `{{ row.state|node_word:"node." }}`."""
    return word(family + value)
