"""The modes "leave out" and "do instead": two runs that differ in one action, and the values that show them."""

from collections.abc import Mapping
from typing import cast

from django.utils.translation import gettext_lazy as _

from queueviz import engine
from queueviz.access import policy
from queueviz.access.visitor import Visitor
from queueviz.boards import rows
from queueviz.boards.js_texts import texts
from queueviz.boards.page import Context
from queueviz.boards.player_texts import PLAYER_WORDS
from queueviz.boards.run_comparison import Comparison, OtherAction, PlayedSide, instead_of, lines_of, names_of
from queueviz.links import branching, reruns
from queueviz.pages.background_runs import holder_of
from queueviz.pages.changed_action import action_at
from queueviz.texts import Texts
from queueviz.whole_numbers import event_number
from sandbox.kernel.errors import ActionRefused

COMPARE = "sandbox.simulation.compare"
WORDS: Texts = {
    "compare.line": _("Time since the action"),
    "compare.since": _("{s} s since the action"),
    "compare.at": _("+{s} s"),
    "compare.none": _("–"),
    "compare.more": _("Later differences: {n}"),
}


class ShownSide(PlayedSide):
    """One of the two runs, with its name and its queues."""

    side: str
    name: str
    queues: list[rows.QueueView]


def change_of(slug: str, form: Mapping[str, str]) -> tuple[int, OtherAction | None]:
    """Return the action that a form changes, and the action in its place.  None leaves it out.

    Raises ActionRefused (404, 422).
    """
    action = action_at(slug, event_number(form.get("seq", "")))
    other = form.get("instead", "")
    instead = instead_of(action["action"], action["fields"], other)
    if other and instead is None:
        raise ActionRefused(422, "This action cannot replace the other one.", "Choose an action from the list.")
    return int(action["seq"]), instead


def begin(requester: Visitor, visit: policy.Visit, slug: str, form: Mapping[str, str]) -> reruns.Play:
    """Start both runs.  Raises ActionRefused."""
    branching.demand_answers_given(visit)
    seq, instead = change_of(slug, form)
    order = {"seq": seq, "instead": instead}
    arguments = [COMPARE, str(engine.directory_of(slug))]
    return reruns.begin(reruns.Play(slug, "compare", arguments, order, holder=holder_of(requester, visit)))


def shown(play: reruns.Play) -> Context:
    """Return the template's values of a comparison that has ended."""
    result, instead = cast(Comparison, play.result), cast(OtherAction | None, play.order["instead"])
    names = names_of(result["action"]["action"], result["action"]["fields"], instead)
    sides = [_side("before", names[0], result["before"]), _side("after", names[1], result["after"])]
    first = [side["first"] for side in sides]
    data = {
        "sides": [side["recording"] for side in sides],
        "runs": names,
        "names": {**sides[0]["names"], **sides[1]["names"]},
        "action_ms": result["action"]["at_ms"],
        "before_ms": result["begins_ms"],
        "after_ms": result["ends_ms"],
        "first_ms": min((row["at_ms"] for row in first if row), default=None),
    }
    return {
        "sides": sides,
        "lines": lines_of(result),
        "result": result,
        "data": data,
        "texts": texts(PLAYER_WORDS | WORDS),
        "scrubbed": all(side["recording"] for side in sides),
        "instead": instead["action"] if instead else "",
        "after_s": result["ends_ms"] // 1000,
        "orderly": any(queue.row.get("lock") for side in sides for queue in side["queues"]),
        "same": not any(first),
        "rows": [row for row in first if row],
    }


def _side(side: str, name: str, played: PlayedSide) -> ShownSide:
    board = played["board"]
    return {
        **played,
        "side": side,
        "name": name,
        "queues": rows.queue_views(board["data"], now_ms=played["at_ms"]) if board else [],
    }
