"""Actions of a run that can be left out or replaced."""

from typing import TypedDict, cast

from queueviz import engine
from queueviz.boards.action_texts import action_text
from queueviz.boards.run_comparison import INSTEAD, ActionEvent
from sandbox.journal.event_filter import EventFilter
from sandbox.kernel.errors import ActionRefused
from sandbox.labs.lab_from_run import OF_LABS, OF_TIME

MOST_ACTIONS = 50  # that are offered, the newest
NOT_CHANGED = OF_TIME | OF_LABS  # both runs are executed without waiting, and without a lab


class OfferedAction(TypedDict):
    """A choice of the page: the action in words, and the actions that may replace it."""

    seq: int
    text: str
    others: tuple[str, ...]


def offered(slug: str, at: int | None) -> list[OfferedAction]:
    """Return the actions of this run up to event `at`, newest first.

    Those of the template, of labs and of the clock are not offered."""
    before = None if at is None else at + 1
    page = engine.answer(engine.port().look_back(slug, EventFilter("actions", ()), before=before, most=MOST_ACTIONS))
    return [
        {
            "seq": int(row["seq"]),
            "text": action_text(row["action"], row["fields"]),
            "others": INSTEAD.get(row["action"], ()),
        }
        for row in page.rows
        if row["by"] != "template" and row["action"] not in NOT_CHANGED
    ]


def action_at(slug: str, seq: int) -> ActionEvent:
    """Return the action with this event number.  Raises ActionRefused (404, 422)."""
    entries = engine.answer(engine.port().look_back(slug, EventFilter("all", ()), before=seq + 1, most=1))
    row = cast(ActionEvent | None, next(iter(entries.rows), None))
    if row is None or int(row["seq"]) != seq:
        raise ActionRefused(404, "Event {seq} does not exist.", "Choose an event from the Journal.", seq=seq)
    if row["type"] != "ActionTaken" or row["by"] == "template":
        raise ActionRefused(
            422,
            "Event {seq} is not an action that can be changed.",
            "Choose an action of this run before the event that is not part of the template.",
            seq=seq,
        )
    return row
