"""The state of each of a visitor's sandboxes and clusters in one line, for the first page."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from django.utils.translation import gettext, ngettext

from queueviz import engine
from queueviz.access import policy, visitor
from queueviz.boards.group_texts import state_text
from queueviz.boards.groups import worst_first
from queueviz.clusters import attached_clusters
from queueviz.models import Cluster, Sandbox
from queueviz.slugs import root_of
from queueviz.templatetags.formats import number
from sandbox.control.group_state import BEHIND, NO_MEMBER
from sandbox.control.readings import Reading
from sandbox.kernel.errors import SandboxError
from sandbox.queries.rows.group_states import GroupState


class Standing(NamedTuple):
    """`health`: of its nodes, or that it sleeps; `lag`: of all groups, with the worst of them; empty: unknown."""

    health: str
    lag: str
    is_bad: bool


class Placed(NamedTuple):
    place: Sandbox | Cluster
    root: str
    standing: Standing


def of_visitor(who: visitor.Visitor, *, attach: bool) -> dict[str, list[Placed]]:
    """`attach`: clusters the engine does not look at yet are named to it, and their first answer is not waited for."""
    mine, clusters = policy.sandboxes_of(who), policy.clusters_of(who)
    if attach:
        for cluster in clusters:
            attached_clusters.glance(policy.visit_at(who, cluster.slug, "see"), patience_s=0.0)
    try:
        port = engine.port()
        status = engine.answer(port.status())
        every: list[Sandbox | Cluster] = [*mine, *clusters]
        known = [place for place in every if attach or not place.slug.startswith("k.")]
        found = engine.answer(port.read([f"groups/{place.slug}" for place in known]))
        readings = dict(zip([place.slug for place in known], found, strict=True))
    except SandboxError:  # the lists are worth showing without it
        status, readings = {}, {}
    rows = {**status.get("sandboxes", {}), **status.get("attached", {})}

    def placed(place: Sandbox | Cluster) -> Placed:
        row, reading = rows.get(place.slug, {}), readings.get(place.slug)
        return Placed(place, root_of(place.slug), _standing(row, reading))

    return {"mine": [placed(place) for place in mine], "clusters": [placed(place) for place in clusters]}


def _standing(row: Mapping[str, Any], reading: object) -> Standing:
    health, ails = _health(row)
    groups: Mapping[str, GroupState] = reading.data.get("groups", {}) if isinstance(reading, Reading) else {}
    if not groups:
        return Standing(health, "", ails)
    names = worst_first(groups)
    worst = groups[names[0]]
    return Standing(health, _lag(groups, names), ails or worst["state"] in (BEHIND, NO_MEMBER))


def _health(row: Mapping[str, Any]) -> tuple[str, bool]:
    if "nodes" not in row:
        return (gettext("asleep"), False) if row.get("state") == "asleep" else ("", False)
    if row.get("seen_ms") is None:
        return gettext("not asked yet"), False
    some, every = row["answering"], row["nodes"]
    if some == every:
        return ngettext("{n} node answers", "{n} nodes answer", every).format(n=every), False
    return gettext("{some} of {all} nodes answer").format(some=some, all=every), True


def _lag(groups: Mapping[str, GroupState], names: Sequence[str]) -> str:
    known = [int(row["lag"]) for row in groups.values() if row["lag"] is not None]
    said = gettext("Lag {lag}").format(lag=number(sum(known) if known else None))
    if len(known) < len(groups) or any(row["queues_known"] != row["queues_all"] for row in groups.values()):
        said = gettext("{said}, not all queues are known").format(said=said)
    return f"{said} · {names[0]}: {state_text(groups[names[0]])}"
