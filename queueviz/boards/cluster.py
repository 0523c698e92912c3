"""The values of an attached cluster that each of its pages shows: name, releases, last response and errors."""

from __future__ import annotations

from typing import TypedDict

from django.utils.translation import gettext_lazy as _

from queueviz.boards.page import Context, Part, Place, Readings
from queueviz.texts import Text
from sandbox.queries.rows.snapshot import Snapshot

UNKNOWN = (  # what a real cluster does not report (sandbox.attached), in the order of the Board
    (
        _("Next pull, pinned messages, finished messages"),
        _("Not reported. A member reports how many messages of a queue it holds, not which are finished."),
    ),
    (
        _("Owner, in client memory, buffered, lock"),
        _("The member reports these values; without an answer, they are unknown."),
    ),
    (
        _("Redelivered if this group crashed now, end to end, delivered again"),
        _("Not reported: no admin request returns these counts."),
    ),
    (_("Other members waiting for a lock"), _("Only in the broker's memory. A lock is reported by its holder.")),
    (_("Flushed and replicated log positions, broker clock"), _("Not reported: no request returns these values.")),
    (_("Messages of a producer"), _("Brokers report only its connection, language and version.")),
)


class ClusterState(TypedDict):
    """The state of an attached cluster."""

    releases: list[str]  # of its brokers
    nodes: int
    answering: int  # nodes that run
    seen_ms: int | None  # last response of a node
    at_ms: int | None
    unreachable: bool
    trouble: str | None  # in words
    unknown: tuple[tuple[Text, Text], ...]  # values it does not report, with the reasons


def state_of(snapshot: Snapshot) -> ClusterState:
    row, brokers = snapshot["sandbox"], snapshot.get("brokers", [])
    states = [broker.get("state") for broker in brokers]
    states += [server.get("state") for server in snapshot.get("name_servers", ())]
    return {
        "releases": sorted({str(broker["version"]) for broker in brokers if broker.get("version")}),
        "nodes": len(states),
        "answering": states.count("running"),
        "seen_ms": row.get("seen_ms"),
        "at_ms": snapshot.get("at_ms"),
        "unreachable": row.get("state") == "unreachable",
        "trouble": row.get("trouble"),
        "unknown": UNKNOWN,
    }


def _context(place: Place, readings: Readings) -> Context:
    return {"cluster": state_of(place.snapshot)}


TROUBLE = Part(
    name="trouble",
    template="queueviz/partials/trouble.html",
    channels=lambda place: [],
    context=lambda place, readings: {},
)
"""Warnings for every visitor of a sandbox; usually none."""

STATE = Part(
    name="cluster-state",
    template="queueviz/partials/cluster_state.html",
    attached=True,
    channels=lambda place: [],
    context=_context,
)
