"""The template values of a board from the readings of its channels, for the server's views and for Lite."""

from queueviz.boards.page import BoardPage, Context, Part, Place, Readings
from sandbox.control.readings import Refusal

KEPT = {"board", "findings", "groups", "index", "locks", "rebalance", "store", "topics", "topology"}  # of a last state


def page_values(page: BoardPage | Part, place: Place, readings: Readings) -> Context:
    """Return the template values of a board.  A channel that the engine refuses to read is missing in them.

    `state_unknown` is True if the sandbox sleeps and has no last state.
    """
    group = place.group()
    chosen: Context = {
        "group": group["group"] if group else None,
        "topic": place.topic(group),
        "state_unknown": _is_unknown(readings),
    }
    return chosen | page.context(place, readings)


def _is_unknown(readings: Readings) -> bool:
    """Return True if the readings are of a sleeping sandbox that has no last state."""
    kinds = {name.partition("/")[0] for name in readings}
    refused = all(reading == Refusal("asleep") for reading in readings.values())
    return bool(kinds) and refused and kinds <= KEPT
