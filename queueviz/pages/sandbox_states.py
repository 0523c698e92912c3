"""The state of each of a visitor's sandboxes and clusters in one line, for the landing page."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

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
from sandbox.queries.rows.host import AttachedRow, HostedRow, HostStatus


class Standing(NamedTuple):
    """The state in words.

    `health`: of its nodes, or that it sleeps.  `lag`: of all groups, with the worst of them; empty: unknown.
    """

    health: str
    lag: str
    is_bad: bool


class Placed(NamedTuple):
    place: Sandbox | Cluster
    root: str
    standing: Standing


def of_visitor(requester: visitor.Visitor, *, attach: bool) -> dict[str, list[Placed]]:
    """Return the visitor's sandboxes and clusters with their states.

    `attach`: attach clusters to the engine that it does not poll yet, without waiting for their first answer.
    """
    mine, clusters = policy.sandboxes_of(requester), policy.clusters_of(requester)
    if attach:
        for cluster in clusters:
            attached_clusters.glance(policy.visit_at(requester, cluster.slug, "see"), patience_s=0.0)
    try:
        port = engine.port()
        status: HostStatus | None = engine.answer(port.status())
        every: list[Sandbox | Cluster] = [*mine, *clusters]
        known = [entry for entry in every if attach or not entry.slug.startswith("k.")]
        answers = engine.answer(port.read([f"groups/{entry.slug}" for entry in known]))
        readings = dict(zip([entry.slug for entry in known], answers, strict=True))
    except SandboxError:  # the lists are worth showing without it
        status, readings = None, {}
    rows: dict[str, HostedRow | AttachedRow] = {**status["sandboxes"], **status["attached"]} if status else {}

    def placed(owned: Sandbox | Cluster) -> Placed:
        row, reading = rows.get(owned.slug), readings.get(owned.slug)
        return Placed(owned, root_of(owned.slug), _standing(row, reading))

    return {"mine": [placed(entry) for entry in mine], "clusters": [placed(entry) for entry in clusters]}


def _standing(row: HostedRow | AttachedRow | None, reading: object) -> Standing:
    health, ails = _health(row)
    groups: Mapping[str, GroupState] = reading.data.get("groups", {}) if isinstance(reading, Reading) else {}
    if not groups:
        return Standing(health, "", ails)
    names = worst_first(groups)
    worst = groups[names[0]]
    return Standing(health, _lag(groups, names), ails or worst["state"] in (BEHIND, NO_MEMBER))


def _health(row: HostedRow | AttachedRow | None) -> tuple[str, bool]:
    if row is None:
        return "", False
    if "nodes" not in row:
        return (gettext("asleep"), False) if row["state"] == "asleep" else ("", False)
    if row["seen_ms"] is None:
        return gettext("not queried yet"), False
    some, every = row["answering"], row["nodes"]
    if some == every:
        return ngettext("{n} node answers", "{n} nodes answer", every).format(n=every), False
    return gettext("{some} of {all} nodes answer").format(some=some, all=every), True


def _lag(groups: Mapping[str, GroupState], names: Sequence[str]) -> str:
    known = [int(row["lag"]) for row in groups.values() if row["lag"] is not None]
    text = gettext("Lag {lag}").format(lag=number(sum(known) if known else None))
    if len(known) < len(groups) or any(row["queues_known"] != row["queues_all"] for row in groups.values()):
        text = gettext("{said}, not all queues are known").format(said=text)
    return f"{text} · {names[0]}: {state_text(groups[names[0]])}"
