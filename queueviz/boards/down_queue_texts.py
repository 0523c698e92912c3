"""Texts about queues whose master is down: the client that reads them, and the time of their lag.

Twin of static/queueviz/js/down.js.  In a real cluster, the reader of such queues is unknown, so they have no text.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypedDict

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from queueviz.boards.rows import QueueName
from queueviz.templatetags.formats import number, second
from queueviz.texts import Texts
from sandbox.queries.rows.board import BoardHeader, DownMark, KnownQueues, MasterState

DOWN: Texts = {
    "down.nobody": _("master down: readable again when it returns"),
    "down.no_lock": _("master down: no locks, so no processing until it returns"),
    "down.slave": _("master down: read from the slave"),
    "down.slave_idle": _("master down: its slave has the queue, no reader yet"),
    "down.kept": _("master down: its slave has the queues"),
    "down.known": _("{n} of {all} queues known"),
    "down.locks": _("{said}; lock table lost with the master's memory; last known lag: {lag}"),
    "down.risk_slave": _("from the slave's offsets"),
    "down.risk_unknown": _("excluding queues of a master that is down"),
    "down.wait": _("master down; last known lag: {lag}"),
}


class KnownAt(TypedDict):
    known_at_ms: int


def mark_of(row: MasterState) -> DownMark | None:
    """Return the mark of a queue whose master is down.

    None while the master runs, or if the queue's reader is unknown.
    """
    down = row.get("down")
    return down if down and down.get("reads") else None


def down_text(row: MasterState) -> str:
    """Return the sentence about the master that is down; empty while it runs."""
    down = mark_of(row)
    return str(DOWN[f"down.{down['reads']}"]) if down else ""


def down_said(row: MasterState) -> str:
    """Return the sentence about the master with the time of its values, for readers who do not see the strip."""
    down = mark_of(row)
    return f"{down_text(row)}, {as_of(down)}" if down else ""


def as_of(down: KnownAt) -> str:
    return gettext("as of {at}").format(at=second(down["known_at_ms"]))


def down_wait(row: MasterState) -> str:
    """Return a short text on the wait of an orderly group's queue; empty while the master runs."""
    down = mark_of(row)
    return str(DOWN["down.wait"]).format(lag=number(down["lag"])) if down else ""


def down_lines(queues: Mapping[str, MasterState]) -> list[str]:
    """Return the distinct sentences about brokers that are down, each with the broker's name."""
    return sorted({f"{QueueName.of(key).broker}: {down_said(row)}" for key, row in queues.items() if mark_of(row)})


def risk_text(header: BoardHeader) -> str:
    """Return a note for "redelivered on crash": whose offsets it counts from while a master is down."""
    return "; ".join(str(DOWN[f"down.risk_{note}"]) for note in header.get("redelivered_notes") or ())


def known_text(known: KnownQueues) -> str:
    """Return the sentence about unknown queues; empty if every queue is known."""
    n, every = known.get("queues_known"), known.get("queues_all")
    if n == every or "lag_last_known" not in known:
        return ""
    return str(DOWN["down.known"]).format(n=number(n), all=number(every))


def down_brokers(queues: Mapping[str, MasterState]) -> list[str]:
    """Return one sentence for each master that is down: the state of an orderly group's queues and their lag."""
    lags: dict[str, int] = {}
    for key in sorted(queues):
        if down := mark_of(queues[key]):
            label = f"{QueueName.of(key).broker}: {down_said(queues[key])}"
            lags[label] = lags.get(label, 0) + int(down["lag"] or 0)
    return [str(DOWN["down.locks"]).format(said=label, lag=number(lag)) for label, lag in lags.items()]
