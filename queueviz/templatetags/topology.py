"""`{% route_tables answer as tables %}`: a topic's route by name server, side by side."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import template

from queueviz.boards.live_fields import word
from queueviz.boards.topology_routes import Table, tables

register = template.Library()


@register.simple_tag
def route_tables(answer: Mapping[str, Any]) -> list[Table]:
    return tables(answer)


@register.filter
def node_word(value: str, family: str) -> str:
    """`{{ row.state|node_word:"node." }}`"""
    return word(family + value)
