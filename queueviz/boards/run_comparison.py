"""The comparison of two runs: the effect of one action, as lines of a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, NotRequired, TypedDict, cast

from django.utils.translation import gettext as _

from queueviz.templatetags.formats import UNKNOWN, duration, number
from sandbox.queries.rows.board import Board

INSTEAD: dict[str, tuple[str, ...]] = {
    "CrashActor": ("StopActor", "HangActor"),
    "StopActor": ("CrashActor", "HangActor"),
    "HangActor": ("StopActor", "CrashActor"),
    "KillBroker": ("StopBroker", "PowerCut"),
    "StopBroker": ("KillBroker", "PowerCut"),
    "PowerCut": ("StopBroker", "KillBroker"),
}
"""What is offered in the place of an action: the same node or member, ended in another way."""

KEPT_FIELDS = ("actor", "broker", "broker_id")


class Line(NamedTuple):
    """A line of the comparison.  `worse`: 1 after is worse than before, -1 better, 0 the same."""

    name: str
    before: str
    after: str
    difference: str
    worse: int
    why: str


class ActionEvent(TypedDict):
    """An `ActionTaken` of the journal."""

    seq: str
    at_ms: int
    type: str
    action: str
    fields: dict[str, object]
    by: str


class LockWait(TypedDict):
    """The longest refusal of a queue's lock."""

    ms: int
    queue: str
    who: str
    holder: str
    open: bool


class RunFigures(TypedDict):
    """The figures of one run (`simulation.run_figures`)."""

    delivered_again: int | None
    lost: int
    longest_lock_wait: LockWait | None
    lag: int | None


class PlayedBoard(TypedDict):
    """The board of a group at the end of a run."""

    group: str
    topic: str
    data: Board


class FirstEvent(TypedDict):
    """The first event that the other run does not have."""

    at_ms: int


class PlayedSide(TypedDict):
    """One of the two compared runs."""

    first: FirstEvent | None
    at_ms: int
    seq: str
    figures: RunFigures
    board: PlayedBoard | None
    names: dict[str, str]
    recording: str | None  # base64
    refused: list[int]


class Comparison(TypedDict):
    """Two runs, as `simulation.compare` prints them."""

    seq: int
    action: ActionEvent
    same_until: int
    begins_ms: int
    ends_ms: int
    before: PlayedSide
    after: PlayedSide


class OtherAction(TypedDict):
    """The action that replaces another one, with the fields it keeps."""

    action: str
    actor: NotRequired[object]
    broker: NotRequired[object]
    broker_id: NotRequired[object]


def instead_of(action: str, fields: Mapping[str, object], other: str) -> OtherAction | None:
    """Return the action `other` for the same node or member.  None if `other` cannot replace `action`."""
    if other not in INSTEAD.get(action, ()):
        return None
    return cast(OtherAction, {"action": other, **{name: fields[name] for name in KEPT_FIELDS if name in fields}})


def lines_of(result: Comparison) -> list[Line]:
    before, after = result["before"]["figures"], result["after"]["figures"]
    names = {**result["before"]["names"], **result["after"]["names"]}
    waits = [figures["longest_lock_wait"] for figures in (before, after)]
    longer = max((wait for wait in waits if wait), key=lambda wait: wait["ms"], default=None)
    lost = before["lost"] or after["lost"]
    return [
        _count(
            _("Delivered again"),
            before["delivered_again"],
            after["delivered_again"],
            _("delivered to a listener, offset not committed"),
        ),
        _count(
            _("Lost"),
            before["lost"],
            after["lost"],
            _("stored, then lost in a power cut before the flush to disk") if lost else _("none in either run"),
        ),
        _time(
            _("Longest lock wait"),
            waits[0]["ms"] if waits[0] else 0,
            waits[1]["ms"] if waits[1] else 0,
            _("no lock was refused")
            if longer is None
            else _("{queue}: {who} was refused the lock while {holder} held it").format(
                queue=longer["queue"],
                who=names.get(longer["who"], longer["who"]),
                holder=names.get(longer["holder"], longer["holder"]),
            ),
        ),
        _count(_("Lag at the end"), before["lag"], after["lag"], _("stored, not committed, all groups together")),
    ]


def _count(name: str, before: int | None, after: int | None, reason: str) -> Line:
    known = before is not None and after is not None
    change = after - before if before is not None and after is not None else 0
    return Line(
        name, number(before), number(after), _signed(change, number) if known else UNKNOWN, _sign(change), reason
    )


def _time(name: str, before: int, after: int, reason: str) -> Line:
    return Line(
        name, duration(before), duration(after), _signed(after - before, duration), _sign(after - before), reason
    )


def _signed(change: int, text: Callable[[int], str]) -> str:
    return f"{'+' if change > 0 else '−' if change < 0 else ''}{text(abs(change))}"


def _sign(change: int) -> int:
    return (change > 0) - (change < 0)
