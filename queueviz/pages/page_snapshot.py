"""The template values of a page from its live channels, read in one call of the engine."""

from collections.abc import Mapping

from queueviz import engine
from queueviz.boards.page import BoardPage, Context, Part, Place
from queueviz.boards.page_values import page_values
from queueviz.links.past_sandboxes import PastState
from queueviz.pages import cluster_message
from sandbox.control.readings import Reading, Refusal
from sandbox.control.rights import VERBS
from sandbox.queries.rows.snapshot import Snapshot

HOST_CAN = {verb: verb == "see" for verb in VERBS}


def of_page(page: BoardPage | Part, slug: str, snapshot: Snapshot, query: Mapping[str, str]) -> Context:
    """Return the template values of a board.  A channel that the engine refuses to read is missing in them.

    Of a sleeping sandbox they are those of its last state; `state_unknown` is True if there is none.
    """
    place = Place(slug, snapshot, query)
    names = page.channels(place)
    answers = engine.answer(engine.port().read(names, last=True)) if names else []
    readings: dict[str, Reading | Refusal | None] = dict(zip(names, answers, strict=True))
    if place.attached and page.name == "message":
        readings |= {name: cluster_message.message(slug, snapshot, query.get("id", "").strip()) for name in names}
    return page_values(page, place, readings)


def at_moment(
    page: BoardPage | Part, slug: str, moment: PastState, snapshot: Snapshot, query: Mapping[str, str]
) -> Context:
    """Return the template values of a board at a past event, as `of_page`.

    The channels were read when the event was executed again; `snapshot`: that of the event.
    """
    place, channels = Place(slug, snapshot, query), moment["channels"]
    readings: dict[str, Reading | Refusal | None] = {}
    for name in page.channels(place):
        data = channels.get(name.replace(f"/{slug}", "", 1))
        readings[name] = (
            Refusal("asleep" if moment["state"] == "asleep" else "unknown")
            if data is None
            else Reading(moment["seq"], snapshot["at_ms"], 0, snapshot["epoch"], data)
        )
    return page_values(page, place, readings)
