"""The Journal page: filters from the query string, and the words of its state."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy as pgettext

from queueviz.boards.board import live_config
from queueviz.boards.js_texts import texts
from queueviz.boards.page import BoardPage, Context, Place, Readings
from queueviz.texts import Texts
from queueviz.whole_numbers import whole

WORDS: Texts = {
    "journal.failed": _("The journal could not be read. Try again."),
    "journal.looking": _("Searching back…"),
    "journal.looked": _("Searched back to event #{seq}, {at}."),
    "journal.back_to": _("Shown back to event #{seq}, {at}."),
    "journal.first": _("The first event is reached."),
    "journal.trimmed": _("The journal begins at event #{seq}; older ones were deleted."),
    "journal.gone": _("This event is no longer in the journal."),
    "journal.no_such": _("No event has this number."),
    "journal.older": _("Older"),
    "journal.further": _("Search further back"),
    "journal.nothing_fits": _("No event matches: {filters}."),
    "journal.what_if": _("what if?"),
    "journal.board": pgettext("as it was at an event", "board"),
    "journal.diff": pgettext("marks an event to be compared", "diff"),
    "journal.diff_mark": _("Compare event #{seq}"),
    "journal.diff_head": _("What changed between two events"),
    "journal.diff_title": _("What changed from event #{from} to #{to}"),
    "journal.diff_one": _("Event #{seq} is marked. Mark another one."),
    "journal.diff_none": _("No known changes."),
    "journal.diff_more": _("First {n} of {all} changes."),
    "journal.diff_same": _(
        "Both events follow keyframe #{seq}. Values not recorded by events may also have changed between the two "
        "events."
    ),
    "journal.diff_between": _(
        "Values not recorded by events are compared at the keyframes #{from} and #{to}. Such rows are marked."
    ),
    "journal.diff_old": _("at the keyframes"),
    "journal.diff_failed": _("The changes could not be read. Try again."),
    "journal.f_search": _("search “{text}”"),
    "journal.f_causes": _("only causes"),
    "journal.f_steps": _("without steps"),
    "journal.and": pgettext("between the names of filters", ", "),
}


def _context(place: Place, readings: Readings) -> Context:
    """Return the template values.  `at`: the event named in the query string, or None."""
    asked = place.query.get("at", "")
    at = asked if whole(asked) is not None else None
    filters = {name: place.query.get(name, "") for name in ("search", "causes", "steps", "messages")}
    return {
        "at": at,
        "filters": filters,
        "live": live_config(place, readings, {}, tab="journal", at=at),
        "texts": texts(WORDS),
    }


JOURNAL = BoardPage(
    name="journal",
    title=_("Journal"),
    path="journal/",
    attached=True,
    template="queueviz/boards/journal.html",
    channels=lambda place: [],
    context=_context,
)
