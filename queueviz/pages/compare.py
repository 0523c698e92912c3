"""Comparison of two runs with one different action: choose the action and its replacement, then see both runs."""

from typing import cast

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_http_methods

from queueviz import engine
from queueviz.access import policy, visitor
from queueviz.boards import rows
from queueviz.boards.js_texts import texts
from queueviz.boards.page import Context
from queueviz.boards.player_texts import PLAYER_WORDS
from queueviz.boards.run_comparison import (
    INSTEAD,
    ActionEvent,
    Comparison,
    OtherAction,
    PlayedSide,
    instead_of,
    lines_of,
)
from queueviz.links import branching, reruns
from queueviz.pages.background_runs import cancel, context_of, holder_of, polled
from queueviz.sandboxes import visitor_actions
from queueviz.slugs import root_of
from queueviz.texts import Texts
from queueviz.whole_numbers import event_number
from sandbox.journal.event_filter import EventFilter
from sandbox.kernel.errors import ActionRefused

COMPARE = "sandbox.simulation.compare"
WORDS: Texts = {"compare.line": _("Time since the action"), "compare.since": _("{s} s since the action")}


@require_http_methods(["GET", "POST"])
def choose(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the action and the actions that may replace it.  POST starts both runs."""
    requester = visitor.of_request(request)
    visit = policy.visit_at(requester, slug, "see")
    sandbox = policy.ours(visit)
    form = request.POST if request.method == "POST" else request.GET
    action = _action(slug, event_number(form.get("seq", "")))
    if request.method == "POST":
        branching.demand_answers_given(visit)
        visitor_actions.ACTIONS.demand(policy.counted_as(requester))
        instead = instead_of(action["action"], action["fields"], form.get("instead", ""))
        order = {"seq": int(action["seq"]), "instead": instead}
        play = reruns.begin(
            reruns.Play(
                slug, "compare", [COMPARE, str(engine.directory_of(slug))], order, holder=holder_of(requester, visit)
            )
        )
        return redirect("compared", slug, play.id)
    return render(
        request,
        "queueviz/pages/compare.html",
        {
            "sandbox": sandbox,
            "root": root_of(slug),
            "action": action,
            "texts": texts(),
            "others": INSTEAD.get(action["action"], ()),
            "rows": [action],
        },
    )


@require_http_methods(["GET", "POST"])
def compared(request: HttpRequest, slug: str, play: str) -> HttpResponse:
    """Show the progress of the comparison, then both runs.  POST cancels it."""
    requester = visitor.of_request(request)
    visit = policy.visit_at(requester, slug, "see")
    comparison = reruns.find(slug, play)
    if request.method == "POST":
        cancel(comparison, requester, visit)
        return redirect("sandbox-page", slug, "journal")
    context = context_of(comparison) | {"sandbox": policy.ours(visit), "root": root_of(slug)}
    if getattr(request, "htmx", False):
        return polled(request, comparison, context)
    if comparison.result is not None:
        instead = cast(OtherAction | None, comparison.order["instead"])
        context |= _shown(cast(Comparison, comparison.result), instead)
    return render(request, "queueviz/pages/compared.html", context)


class ShownSide(PlayedSide):
    """One of the two runs, with its queues."""

    name: str
    queues: list[rows.QueueView]


def _shown(result: Comparison, instead: OtherAction | None) -> Context:
    sides = [_side("before", result["before"]), _side("after", result["after"])]
    first = [side["first"] for side in sides]
    data = {
        "sides": [side["recording"] for side in sides],
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
        "instead": instead and instead["action"],
        "after_s": result["ends_ms"] // 1000,
        "orderly": any(queue.row.get("lock") for side in sides for queue in side["queues"]),
        "same": not any(first),
        "rows": [row for row in [result["action"], *first] if row],
    }


def _side(name: str, side: PlayedSide) -> ShownSide:
    board = side["board"]
    return {
        **side,
        "name": name,
        "queues": rows.queue_views(board["data"], now_ms=side["at_ms"]) if board else [],
    }


def _action(slug: str, seq: int) -> ActionEvent:
    """Return the row of the action with this event number.  Raises ActionRefused (404, 422)."""
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
