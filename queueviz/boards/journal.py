"""The Journal's page: filters as its address names them, and the words of its state."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy as pgettext

from queueviz.boards.board import live_config
from queueviz.boards.js_texts import texts
from queueviz.boards.page import BoardPage, Place, Readings
from queueviz.numbers import whole

WORDS: dict[str, Any] = {
    "journal.failed": _("The journal could not be read. Try again."),
    "journal.looking": _("Looking back…"),
    "journal.looked": _("Looked back to event #{seq}, {at}."),
    "journal.back_to": _("Shown back to event #{seq}, {at}."),
    "journal.first": _("This reaches back to the first event."),
    "journal.trimmed": _("The journal begins at event #{seq}; older ones were deleted."),
    "journal.gone": _("The journal no longer holds this event."),
    "journal.no_such": _("No event has this number."),
    "journal.older": _("Older"),
    "journal.further": _("Look further back"),
    "journal.nothing_fits": _("No event fits: {filters}."),
    "journal.branch": _("branch"),
    "journal.board": pgettext("as it was at an event", "board"),
    "journal.f_search": _("search “{text}”"),
    "journal.f_causes": _("only causes"),
    "journal.f_steps": _("without steps"),
    "journal.and": pgettext("between the names of filters", ", "),
}


def _context(place: Place, readings: Readings) -> dict[str, Any]:
    """`at`: the event the address asks for."""
    asked = place.query.get("at", "")
    at = asked if whole(asked) is not None else None
    return {"at": at, "filters": {name: place.query.get(name, "") for name in ("search", "causes", "steps")},
            "live": live_config(place, readings, {}, tab="journal", at=at), "texts": texts(WORDS)}  # fmt: skip


JOURNAL = BoardPage(
    name="journal", title=_("Journal"), path="journal/", attached=True,
    template="queueviz/boards/journal.html", channels=lambda place: [],
    context=_context,
)  # fmt: skip
