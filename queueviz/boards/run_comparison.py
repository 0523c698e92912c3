"""The comparison of two runs: the effect of some actions, as lines of a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, NotRequired, TypedDict, cast

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from queueviz.boards.action_texts import action_text
from queueviz.templatetags.formats import duration, number
from queueviz.texts import Text, Texts
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

DONE: Texts = {
    "CrashActor": gettext_lazy("{name} crashed"),
    "StopActor": gettext_lazy("{name} stopped cleanly"),
    "HangActor": gettext_lazy("{name} hung"),
    "KillBroker": gettext_lazy("{name} was killed"),
    "StopBroker": gettext_lazy("{name} shut down"),
    "PowerCut": gettext_lazy("{name} lost power"),
}
LEFT_OUT: Texts = {
    "CrashActor": gettext_lazy("without the crash of {name}"),
    "StopActor": gettext_lazy("without the stop of {name}"),
    "HangActor": gettext_lazy("without the hang of {name}"),
    "KillBroker": gettext_lazy("without the kill of {name}"),
    "StopBroker": gettext_lazy("without the shutdown of {name}"),
    "PowerCut": gettext_lazy("without the power cut of {name}"),
}
"""Names of runs: by what was done, or was not."""


UNKNOWN_BECAUSE: Texts = {
    "skipped": gettext_lazy("unknown: the journal omits events of this run"),
    "lost": gettext_lazy("unknown: after a power cut, a broker assigned the same offsets again"),
    "filtered": gettext_lazy("unknown: a group subscribes to a part of the messages"),
    "no_group": gettext_lazy("unknown: no clustering group has a subscription"),
    "shared": gettext_lazy("unknown: two processes have the same client ID"),
}


class Line(NamedTuple):
    """A line of the comparison.

    `worse`: 1 after is worse than before, -1 better, 0 the same.  `known`: both numbers are known.
    """

    name: str
    before: str
    after: str
    worse: int
    known: bool
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


class ReaderGaps(TypedDict):
    """The queues that had no reader at some time, and the longest such time."""

    queues: int
    longest_ms: int
    queue: str
    group: str


class OldestUnconsumed(TypedDict):
    """The highest age that an unconsumed message reached."""

    ms: int
    queue: str
    offset: int
    group: str


class MessageFigures(TypedDict):
    """Figures of the messages.  `unknown`: a key of `UNKNOWN_BECAUSE`, or None."""

    oldest: OldestUnconsumed | None
    delivered: int | None
    stored: int | None
    unknown: str | None


class RunFigures(TypedDict):
    """The figures of one run (`simulation.run_figures`)."""

    delivered_again: int | None
    lost: int
    longest_lock_wait: LockWait | None
    lag: int | None
    unread: ReaderGaps | None  # None: two processes have one client id
    messages: MessageFigures


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


class Comparison(TypedDict):
    """Two runs, as `simulation.compare` prints them."""

    actions: list[ActionEvent]
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


def names_of(actions: Sequence[ActionEvent], instead: OtherAction | None) -> tuple[str, str]:
    """Return the names of the unchanged and of the changed run."""
    before, after = zip(*(_names(row["action"], row["fields"], instead) for row in actions), strict=True)
    return _listed(before), _listed(after)


def _listed(names: Sequence[str]) -> str:
    """Return the first two names, and the number of the others."""
    if len(names) == 1:
        return names[0]
    pattern = _("{first}, {second} and {n} more") if len(names) > 2 else _("{first}, {second}")
    return pattern.format(first=names[0], second=names[1], n=len(names) - 2)


def _names(action: str, fields: Mapping[str, object], instead: OtherAction | None) -> tuple[str, str]:
    text = action_text(action, fields)
    before = _named(DONE[action], fields) if action in DONE else _("with: {action}").format(action=text)
    if instead is not None:
        return before, _named(DONE[instead["action"]], fields)
    if action in LEFT_OUT:
        return before, _named(LEFT_OUT[action], fields)
    return before, _("without: {action}").format(action=text)


def _named(pattern: Text, fields: Mapping[str, object]) -> str:
    node = f"{fields.get('broker')}.{fields['broker_id']}" if fields.get("broker_id") else fields.get("broker")
    return str(pattern).format(name=fields.get("actor") or node)


def lines_of(result: Comparison) -> list[Line]:
    before, after = result["before"]["figures"], result["after"]["figures"]
    names = {**result["before"]["names"], **result["after"]["names"]}
    waits = [figures["longest_lock_wait"] for figures in (before, after)]
    longer = max((wait for wait in waits if wait), key=lambda wait: wait["ms"], default=None)
    lost = before["lost"] or after["lost"]
    lines = [
        _count(
            _("Delivered twice"),
            before["delivered_again"],
            after["delivered_again"],
            _("delivered to a listener, offset not committed"),
        ),
        _unread(before["unread"], after["unread"]),
        _oldest(before["messages"], after["messages"]),
        _delivered(before["messages"], after["messages"]),
        _count(
            _("Lost"),
            before["lost"],
            after["lost"],
            _("stored, then lost in a power cut before the flush to disk") if lost else _("none in either run"),
        ),
        _count(_("Lag at the end"), before["lag"], after["lag"], _("stored, not committed, all groups together")),
    ]
    if longer is not None:
        reason = _("{queue}: {who} was refused the lock while {holder} held it").format(
            queue=longer["queue"],
            who=names.get(longer["who"], longer["who"]),
            holder=names.get(longer["holder"], longer["holder"]),
        )
        before_ms, after_ms = (wait["ms"] if wait else 0 for wait in waits)
        lines.append(_time(_("Longest lock wait"), before_ms, after_ms, reason))
    return lines


def _unread(before: ReaderGaps | None, after: ReaderGaps | None) -> Line:
    name = _("Queues without a reader")
    if before is None or after is None:
        return _unknown(name, _gaps(before), _gaps(after), "shared")
    longest = max(before, after, key=lambda gaps: gaps["longest_ms"])
    reason = _("none in either run")
    if longest["queues"]:
        reason = _("the longest: {queue}, read by {group}").format(queue=longest["queue"], group=longest["group"])
    return Line(name, _gaps(before), _gaps(after), _sign(after["longest_ms"] - before["longest_ms"]), True, reason)


def _gaps(gaps: ReaderGaps | None) -> str:
    if gaps is None or not gaps["queues"]:
        return number(gaps and gaps["queues"])
    return _("{n}, up to {time}").format(n=number(gaps["queues"]), time=duration(gaps["longest_ms"]))


def _oldest(before: MessageFigures, after: MessageFigures) -> Line:
    name = _("Oldest unconsumed message")
    ages = [None if messages["unknown"] else (messages["oldest"] or {"ms": 0})["ms"] for messages in (before, after)]
    if cause := before["unknown"] or after["unknown"]:
        return _unknown(name, duration(ages[0]), duration(ages[1]), cause)
    oldest = max(filter(None, (before["oldest"], after["oldest"])), key=lambda oldest: oldest["ms"], default=None)
    reason = _("none in either run")
    if oldest is not None:
        reason = _("its highest age: {queue} @{offset}, read by {group}").format(**oldest)
    return _time(name, ages[0] or 0, ages[1] or 0, reason)


def _delivered(before: MessageFigures, after: MessageFigures) -> Line:
    name, shares = _("Delivered at least once"), (_share(before), _share(after))
    if cause := before["unknown"] or after["unknown"]:
        return _unknown(name, *shares, cause)
    left = [(messages["stored"] or 0) - (messages["delivered"] or 0) for messages in (before, after)]
    reason = _("of the messages stored up to 10 s before the end, in each clustering group")
    return Line(name, *shares, _sign(left[1] - left[0]), True, reason)


def _share(messages: MessageFigures) -> str:
    if messages["unknown"]:
        return number(None)
    return _("{n} of {all}").format(n=number(messages["delivered"]), all=number(messages["stored"]))


def _unknown(name: str, before: str, after: str, cause: str) -> Line:
    return Line(name, before, after, 0, False, str(UNKNOWN_BECAUSE[cause]))


def _count(name: str, before: int | None, after: int | None, reason: str) -> Line:
    known = before is not None and after is not None
    change = after - before if before is not None and after is not None else 0
    return Line(name, number(before), number(after), _sign(change), known, reason)


def _time(name: str, before: int, after: int, reason: str) -> Line:
    return Line(name, duration(before), duration(after), _sign(after - before), True, reason)


def _sign(change: int) -> int:
    return (change > 0) - (change < 0)
