"""`{% cluster_state snapshot as cluster %}`: the state of an attached cluster for its pages."""

from __future__ import annotations

from django import template

from queueviz.boards.cluster import ClusterState, state_of
from queueviz.boards.live_fields import ago
from sandbox.queries.rows.snapshot import Snapshot

register = template.Library()


@register.simple_tag
def cluster_state(snapshot: Snapshot) -> ClusterState:
    return state_of(snapshot)


@register.filter
def poll_age(cluster: ClusterState) -> str:
    """Return the time since the cluster's last response, as text."""
    return ago((cluster["at_ms"] or 0) - (cluster["seen_ms"] or 0))
