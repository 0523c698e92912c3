"""`{% cluster_state snapshot as cluster %}`: the state of an attached cluster for its pages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import template

from queueviz.boards.cluster import state_of
from queueviz.boards.live_fields import ago
from sandbox.queries.rows.snapshot import Snapshot

register = template.Library()


@register.simple_tag
def cluster_state(snapshot: Snapshot) -> dict[str, Any]:
    return state_of(snapshot)


@register.filter
def poll_age(cluster: Mapping[str, Any]) -> str:
    """Return the time since the last response."""
    return ago(int(cluster["at_ms"]) - int(cluster["seen_ms"]))
