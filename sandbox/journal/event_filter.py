"""Filter of the events that a reader receives, by kind and by search words."""

from collections.abc import Callable, Iterator
from typing import Any, Literal, NamedTuple

from sandbox.journal.events import FLOW, Event, Keyframe, LabFinished

Row = dict[str, Any]
Show = Literal["actions", "told", "facts", "all"]

FLOW_NAMES = frozenset(event.__name__ for event in FLOW)
NO_NEWS = FLOW_NAMES | {Keyframe.__name__}
"""Flow, and keyframes, which are for replay only and hold a whole snapshot each."""

STEPS = frozenset(
    {
        "Keyframe",
        "OffsetsPersisted",
        "RouteLearned",
        "LifecycleStep",
        "MembersNotified",
        "SubscriptionChanged",
        "TransactionPrepared",
    }
)
"""Facts that are steps of what another fact reports."""


class Term(NamedTuple):
    """Search word in lower case; `kinds` and `values` are the names that match it in the reader's language."""

    text: str
    kinds: frozenset[str] = frozenset()
    values: frozenset[str] = frozenset()

    def fits(self, row: Row) -> bool:
        if row["type"] in self.kinds or self.text in row["type"].lower():
            return True
        return any(
            self.text in leaf.lower() or leaf in self.values
            for name, value in row.items()
            if name != "at_ms"
            for leaf in _leaves(value)
        )


class EventFilter(NamedTuple):
    """Filter of events.

    `show`: actions (of users and programs), `told` (facts that are no steps), facts, or all, with flow events.  Each
    of `terms` must occur in the row: in its number, cause, kind or values.

    `unnamed`: for a reader who must not learn the actors' names or the sandbox's name, and cannot search for them.
    `scoreless`: the same for scores.
    """

    show: Show = "told"
    terms: tuple[Term, ...] = ()
    unnamed: bool = False
    scoreless: bool = False

    def takes(self, kind: str) -> bool:
        """Return True if rows of this kind can match; checked before a row is created."""
        if self.show == "actions":
            return kind == "ActionTaken"
        if self.show == "told":
            return kind not in NO_NEWS and kind not in STEPS
        return self.show == "all" or kind not in NO_NEWS

    def fits(self, row: Row) -> bool:
        if self.show == "told" and is_step(row):
            return False
        if self.unnamed:
            row = without_own_names(row)
        if self.scoreless:
            row = without_score(row)
        return all(term.fits(row) for term in self.terms)


def without_name(row: Row) -> Row:
    """Return the row with only the role of an action's actor, without the name."""
    return row | {"by": row["by"].partition(" ")[0]} if row["type"] == "ActionTaken" else row


def without_own_names(row: Row) -> Row:
    """Return the row without the actor's name and the sandbox's name; old seeds contain the sandbox's address."""
    match row["type"]:
        case "SandboxOpened" | "LabStarted":
            return row | {"seed": None}
        case "Keyframe":
            whole = row["snapshot"]
            own = {name: value for name, value in whole.get("sandbox", {}).items() if name not in ("slug", "name")}
            return row | {"snapshot": {**whole, "sandbox": own}}
        case _:
            return without_name(row)


def without_score(row: Row) -> Row:
    """Return the row with a finished lab's score as null."""
    return row | {"score": None} if row["type"] == LabFinished.__name__ else row


def is_step(row: Row) -> bool:
    """Return True if the row is a step: by its kind, a renewed lock, or a rebalance without changes.

    The same rule is in `journal_list.js`.
    """
    return _is_step(row["type"], row.__getitem__)


def is_step_event(event: Event) -> bool:
    """Return True if an event is a step, by the rule of `is_step`."""
    return _is_step(type(event).__name__, lambda name: getattr(event, name))


def _is_step(kind: str, value: Callable[[str], Any]) -> bool:
    match kind:
        case "QueueLocked":
            return bool(value("how") == "renewed")
        case "QueuesAssigned":
            return value("topic").startswith("%RETRY%") or not (value("added") or value("dropped"))
        case _:
            return kind in STEPS


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        for item in value:
            yield from _leaves(item)
    elif value is not None:
        yield str(value)
