"""The modes "leave out" and "do instead": two runs that differ in some actions, and the values that show them."""

from typing import cast

from django.http import QueryDict
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
from queueviz.pages.changed_action import MOST_ACTIONS, action_at
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
OF_SEVERAL: Texts = {
    "compare.line": _("Time since the first action"),
    "compare.since": _("{s} s since the first action"),
}


class ShownSide(PlayedSide):
    """One of the two runs, with its name and its queues."""

    side: str
    name: str
    queues: list[rows.QueueView]


def change_of(slug: str, form: QueryDict) -> tuple[list[int], OtherAction | None]:
    """Return the actions that a form changes, in their order, and the action in the place of one.

    None leaves them out.  Raises ActionRefused (404, 422).
    """
    texts = form.getlist("seq")
    if not texts:
        raise ActionRefused(422, "No action is chosen.", "Choose an action from the list.", field="seq")
    if len(texts) > MOST_ACTIONS:
        raise ActionRefused(422, "A branch changes at most {most} actions.", "Change fewer actions.", most=MOST_ACTIONS)
    actions = [action_at(slug, seq) for seq in sorted({event_number(text) for text in texts})]
    other, first = form.get("instead", ""), actions[0]
    instead = instead_of(first["action"], first["fields"], other)
    if other and (instead is None or len(actions) > 1):
        raise ActionRefused(422, "This action cannot replace the other one.", "Choose an action from the list.")
    return [int(action["seq"]) for action in actions], instead


def begin(requester: Visitor, visit: policy.Visit, slug: str, form: QueryDict) -> reruns.Play:
    """Start both runs.  Raises ActionRefused."""
    branching.demand_answers_given(visit)
    seqs, instead = change_of(slug, form)
    order = {"seqs": seqs, "instead": instead}
    arguments = [COMPARE, str(engine.directory_of(slug))]
    return reruns.begin(reruns.Play(slug, "compare", arguments, order, holder=holder_of(requester, visit)))


def shown(play: reruns.Play) -> Context:
    """Return the template's values of a comparison that has ended."""
    result, instead = cast(Comparison, play.result), cast(OtherAction | None, play.order["instead"])
    actions = result["actions"]
    names = names_of(actions, instead)
    sides = [_side("before", names[0], result["before"]), _side("after", names[1], result["after"])]
    first = [side["first"] for side in sides]
    data = {
        "sides": [side["recording"] for side in sides],
        "runs": names,
        "names": {**sides[0]["names"], **sides[1]["names"]},
        "action_ms": actions[0]["at_ms"],
        "before_ms": result["begins_ms"],
        "after_ms": result["ends_ms"],
        "first_ms": min((row["at_ms"] for row in first if row), default=None),
    }
    return {
        "sides": sides,
        "lines": lines_of(result),
        "result": result,
        "data": data,
        "texts": texts(PLAYER_WORDS | WORDS | (OF_SEVERAL if len(actions) > 1 else {})),
        "scrubbed": all(side["recording"] for side in sides),
        "last_seq": actions[-1]["seq"],
        "instead": instead["action"] if instead else "",
        "after_s": result["ends_ms"] // 1000,
        "orderly": any(queue.row.get("lock") for side in sides for queue in side["queues"]),
        "same": not any(first),
    }


def _side(side: str, name: str, played: PlayedSide) -> ShownSide:
    board = played["board"]
    return {
        **played,
        "side": side,
        "name": name,
        "queues": rows.queue_views(board["data"], now_ms=played["at_ms"]) if board else [],
    }
