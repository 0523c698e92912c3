"""Texts about a group's lag and flow: its deleted and its retried share, and deliveries beside consumed messages.

Twin of static/queueviz/js/flow.js.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypedDict

from django.utils.translation import gettext_lazy as _

from queueviz.templatetags.formats import number, rate
from queueviz.texts import Texts
from sandbox.queries.rows.board import QueueRow
from sandbox.queries.rows.lag import deleted_lag, deleted_unread

FLOW: Texts = {
    "flow.deleted": _("{n} of them deleted"),
    "row.deleted": _("{n} deleted"),
    "row.unread": _("{n} unread"),
    "flow.retrying": _("{n} of them in retry"),
    "flow.retrying_unknown": _("retries not included: unknown"),
    "flow.delivered": _("{rate} delivered"),
    "flow.delivered_more": _("{rate} delivered > consumed"),
}


class Lagging(TypedDict):
    lag: str | None
    retrying: str | None


class Flowing(TypedDict):
    delivered_per_s: float | None
    differs: bool


def deleted_text(rows: Iterable[QueueRow]) -> str:
    """Return the number of messages in the lag of all these queues that retention deleted; empty if there are none."""
    deleted = sum(deleted_lag(row) for row in rows)
    return str(FLOW["flow.deleted"]).format(n=number(deleted)) if deleted else ""


def deleted_said(row: QueueRow) -> str:
    """Return the deleted messages in the lag of one queue, and those of them that no member has."""
    counts = (("row.deleted", deleted_lag(row)), ("row.unread", deleted_unread(row)))
    return ", ".join(str(FLOW[name]).format(n=number(count)) for name, count in counts if count)


def retry_text(row: Lagging) -> str:
    """Return the sentence on messages waiting for a retry; empty if there are none."""
    again = row.get("retrying")
    if again is None:
        return str(FLOW["flow.retrying_unknown"]) if row.get("lag") is not None else ""
    return "" if str(again) == "0" else str(FLOW["flow.retrying"]).format(n=number(again))


def delivered_text(row: Flowing) -> str:
    delivered_per_s = row.get("delivered_per_s")
    if delivered_per_s is None:
        return ""
    return str(FLOW["flow.delivered_more" if row.get("differs") else "flow.delivered"]).format(
        rate=rate(delivered_per_s)
    )
