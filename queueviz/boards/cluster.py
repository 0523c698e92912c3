"""The cluster values of every page of an attached cluster: its name, releases, last response and errors."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext_lazy as _

from queueviz.boards.page import Part, Place, Readings
from sandbox.queries.rows.snapshot import Snapshot

UNKNOWN = (  # what a real cluster does not report (sandbox.attached), in the order of the Board
    (
        _("Next pull, held messages, which messages are done"),
        _("Nobody tells. A member says how many messages of a queue lie with it, not which of them are done."),
    ),
    (
        _("Owner, in client memory, buffered, lock"),
        _("Known from the member itself. One that does not answer leaves them unknown."),
    ),
    (_("Redelivered on crash, end to end, delivered again"), _("Nobody counts them where an administrator can ask.")),
    (_("Who else waits for a lock"), _("Only the broker's memory knows; a lock is known from its holder's word.")),
    (_("How far a log is flushed and replicated, a broker's clock"), _("No request asks for them.")),
    (_("What a producer sends"), _("Brokers tell that it is there, its language and its version.")),
)


def state_of(snapshot: Snapshot) -> dict[str, Any]:
    """`releases` of its brokers, how many of its `nodes` are `answering`, `seen_ms` (when one answered last), `trouble`
    in words."""
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


def _context(place: Place, readings: Readings) -> dict[str, Any]:
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
