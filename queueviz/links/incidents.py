"""Incidents of the gallery as sandboxes: their reproducible links, and their markers in a sandbox's replay.

The database has no rows of them.  A sandbox's incident follows from its seed, and its markers' positions from its
journal.  Both are cached here for a while, since a journal does not change.
"""

import time
from collections import OrderedDict
from typing import NamedTuple

from django.urls import reverse

from queueviz import engine
from queueviz.access import policy
from queueviz.access.visitor import Visitor
from queueviz.boards import incident_board
from queueviz.boards.incident_board import IncidentTexts, ShownIncident, incident_texts, shown_incident
from queueviz.engines.host_config import host_config
from queueviz.links import recipe_links
from queueviz.slugs import root_of
from sandbox.control.branch_orders import RunOrder
from sandbox.control.recipe_text import pack
from sandbox.hosting.incident_notes import Noted, incident_of, noted, order_of
from sandbox.kernel.errors import CorruptRecord
from sandbox.labs.incidents import INCIDENTS
from sandbox.labs.incidents.incident import Incident

REMEMBERED = 200  # sandboxes
UNFINISHED_S = 5.0  # that the notes of a run are remembered which has not come to its end


class Remembered(NamedTuple):
    incident: Incident
    noted: Noted
    at_s: float


_remembered: OrderedDict[str, Remembered] = OrderedDict()


def order(incident: Incident) -> RunOrder:
    return order_of(incident, host_config())


class IncidentCard(IncidentTexts):
    """An incident of the gallery."""

    mine: str | None  # address of a sandbox in which the visitor opened it
    recipe: str  # address


def cards(visitor: Visitor) -> list[IncidentCard]:
    """Return all incidents of the gallery, in the reader's language.

    `mine`: the address of a sandbox in which the visitor opened the incident, or None.
    """
    mine: dict[str, str] = {}
    for sandbox in policy.sandboxes_of(visitor):
        if not sandbox.branch_of and (opened := incident_of(engine.directory_of(sandbox.slug))) is not None:
            mine.setdefault(opened.slug, reverse("branching", args=[sandbox.slug]))
    return [
        {
            **incident_texts(incident, reverse("labs")),
            "mine": mine.get(incident.slug),
            "recipe": f"{reverse('recipe')}#{pack(order(incident), recipe_links.LIMITS)}",
        }
        for incident in INCIDENTS.values()
    ]


def shown(slug: str) -> ShownIncident | None:
    """Return the incident of a sandbox for its replay, with the markers reached so far.  None if it has no incident."""
    recalled = _recall(slug)
    if recalled is None:
        return None
    return shown_incident(recalled.incident, recalled.noted, root=root_of(slug), labs=reverse("labs"))


def first_address(slug: str) -> str:
    """Return the address of the replay at the sandbox's first marker, or of the sandbox if it has no marker yet."""
    recalled = _recall(slug)
    if recalled is None:
        return reverse("sandbox", args=[slug])
    return incident_board.first_address(root_of(slug), recalled.incident, recalled.noted)


def _recall(slug: str) -> Remembered | None:
    known, now_s = _remembered.get(slug), time.monotonic()
    if known is not None and (known.noted.whole or now_s - known.at_s < UNFINISHED_S):
        return known
    directory = engine.directory_of(slug)
    incident = incident_of(directory)
    if incident is None:
        return None
    try:
        _remembered[slug] = known = Remembered(incident, noted(directory, incident), now_s)
    except (CorruptRecord, OSError):  # it is shown without its markers
        return None
    if len(_remembered) > REMEMBERED:
        _remembered.popitem(last=False)
    return known
