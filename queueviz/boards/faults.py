"""The faults that the fault dialog offers: only those that are possible now."""

from __future__ import annotations

from typing import NamedTuple, TypedDict

from django.utils.translation import gettext_lazy as _

from queueviz.boards.page import node_name
from queueviz.texts import Text
from sandbox.queries.rows.snapshot import BrokerRow, Snapshot

CONSOLE = "console"  # the client that sends messages by hand


class OfferedAction(NamedTuple):
    """A button of the dialog: the action, its label, and whether it does harm."""

    action: str
    word: Text
    harm: bool = False


KILL = OfferedAction("KillBroker", _("Kill"), harm=True)
STOP = OfferedAction("StopBroker", _("Stop cleanly"))
HANG = OfferedAction("HangBroker", _("Hang"))
RESUME = OfferedAction("ResumeBroker", _("Resume"))
DARK = OfferedAction("PowerCut", _("Cut the power"), harm=True)
START = OfferedAction("StartBroker", _("Start"))
PROMOTE = OfferedAction("PromoteSlave", _("Promote"))


class FaultBroker(NamedTuple):
    node: str
    row: BrokerRow
    buttons: tuple[OfferedAction, ...]


class Faults(TypedDict):
    """The actions of the fault dialog, by target."""

    brokers: list[FaultBroker]
    disks: list[BrokerRow]  # masters that run
    ends: list[str]  # a link can have
    to: str | None  # the end offered first


def faults_of(snapshot: Snapshot) -> Faults:
    """Return the faults that the dialog offers now.

    `brokers`: each broker with its buttons; `disks`: masters whose disk can get a fault; `ends`: the nodes and
    clients that a link can connect; `to`: the end selected first.
    """
    brokers = sorted(snapshot.get("brokers", ()), key=node_name)
    down = {row["broker"] for row in brokers if not row["broker_id"] and row["state"] not in ("running", "hung")}
    return {
        "brokers": [
            FaultBroker(node_name(row), row, _buttons_of(row, master_is_down=row["broker"] in down)) for row in brokers
        ],
        "disks": [row for row in brokers if not row["broker_id"] and row["state"] == "running"],
        "ends": _ends(snapshot),
        "to": node_name(brokers[0]) if brokers else None,
    }


def _buttons_of(row: BrokerRow, *, master_is_down: bool) -> tuple[OfferedAction, ...]:
    promote = (PROMOTE,) if row["broker_id"] and master_is_down and row["state"] != "hung" else ()
    if row["state"] == "running":
        return (*promote, KILL, DARK, HANG, STOP)
    return (RESUME, KILL, DARK) if row["state"] == "hung" else (*promote, START)


def _ends(snapshot: Snapshot) -> list[str]:
    """Return the possible ends of a link: name servers, brokers and clients by name, then the console."""
    clients = {row["actor"] for row in snapshot.get("producers", ())}
    clients |= {member["actor"] for group in snapshot.get("groups", ()) for member in group["members"]}
    return [
        *(row["name"] for row in snapshot.get("name_servers", ())),
        *sorted(node_name(row) for row in snapshot.get("brokers", ())),
        *sorted(filter(None, clients)),
        CONSOLE,
    ]
