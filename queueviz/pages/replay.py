"""The pages of a sandbox at a past event, `?at=N`."""

from typing import TYPE_CHECKING, Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from queueviz import engine, refusal_texts
from queueviz.access import policy, visitor
from queueviz.boards.incident_board import incident_values
from queueviz.boards.page import BoardPage, Context, Part, PastContext
from queueviz.boards.player_texts import PLAYER_WORDS
from queueviz.boards.replay import FOLLOWS, context_at, follow, present, recorded_at
from queueviz.links import incidents, past_findings, past_sandboxes, replay_state
from queueviz.links.past_sandboxes import Moment
from queueviz.pages import page_snapshot
from queueviz.pages.redirects import go_again
from queueviz.whole_numbers import event_number
from sandbox.control.rights import VERBS
from sandbox.kernel.errors import ActionRefused

if TYPE_CHECKING:
    from queueviz.pages.sandbox import Shell

CANNOT: Context = {"can": dict.fromkeys(VERBS, False)}  # the past is only looked at


def page(request: HttpRequest, board: BoardPage | Part, shell: "Shell", where: dict[str, str]) -> HttpResponse:
    """Show the view at an event.

    `shell`: the current context of every page of the sandbox; `where`: the path's values beside the tab.
    """
    at, slug = _event(request, shell), shell["sandbox"].slug
    past = {**shell, **CANNOT, "replay": True, "at": str(at), "event": at, "view": board}
    past |= incident_values(incidents.shown(slug), at)
    if board.name == FOLLOWS:
        state = replay_state.state(visitor.of_request(request), slug, at)
        drawn = context_at(shell["snapshot"], state, past_findings.read(slug, at), request.GET.dict())
        return render(request, "queueviz/boards/replay.html", {**past, **drawn, "event": state["seq"]})
    if board.past is not None:
        _demand(request, slug, at)
        return render(request, board.template, {**past, **_recorded(board.past, shell, at, request.GET.dict())})
    if not board.replayed:
        return render(request, "queueviz/boards/not_replayed.html", {**past, **present(shell["snapshot"], slug)})
    moment = _moment(request, slug, at)
    if moment.result is not None:
        if getattr(request, "htmx", False):  # which waited for it
            return go_again()
        drawn = _drawn(board, shell, moment, {**request.GET.dict(), **where})
        return render(request, board.template, {**past, **drawn})
    context = {
        **past,
        **present(shell["snapshot"], slug),
        "percent": int(moment.progress * 100),
        "moment": moment,
        "why": _why(moment),
    }
    return render(request, "queueviz/boards/executing.html", context, status=200 if moment.is_over else 202)


def part(request: HttpRequest, board: BoardPage | Part, template: str, shell: "Shell") -> HttpResponse:
    """Show a panel or a table twin at the event that its page shows.  The status is 202 while it is executed again."""
    at, slug = _event(request, shell), shell["sandbox"].slug
    if board.past is not None:
        _demand(request, slug, at)
        drawn = _recorded(board.past, shell, at, request.GET.dict())
    else:
        moment = _moment(request, slug, at)
        if moment.result is None:
            return HttpResponse(status=202)  # it is not kept any more, and is executed again
        drawn = _drawn(board, shell, moment, request.GET.dict())
    return render(request, template, {**shell, **CANNOT, "replay": True, "at": str(at), **drawn})


def _event(request: HttpRequest, shell: "Shell") -> int:
    at = event_number(request.GET["at"], field="at")
    if shell["attached"]:
        raise ActionRefused(
            409, "Only the current state of an attached cluster is known.", "View the current state of the cluster."
        )
    return at


def _recorded(past: PastContext, shell: "Shell", at: int, query: dict[str, str]) -> Context:
    slug = shell["sandbox"].slug
    return recorded_at(past, shell["snapshot"], slug, past_findings.read(slug, at), query)


def _moment(request: HttpRequest, slug: str, at: int) -> Moment:
    counted = _demand(request, slug, at)
    return past_sandboxes.find(slug, at, lambda: past_sandboxes.MOMENTS.demand(counted)).at_once()


def _demand(request: HttpRequest, slug: str, at: int) -> str:
    """Return the name under which the visitor is counted.  Raises ActionRefused if the event does not exist."""
    counted = policy.counted_as(visitor.of_request(request))
    replay_state.STATES.demand(counted)
    kept = engine.answer(engine.port().kept(slug))
    if not 0 <= at <= kept.newest:
        raise ActionRefused(
            422,
            "Event {at} does not exist: the newest is {newest}.",
            "Choose an event between {oldest} and {newest}.",
            field="at",
            at=at,
            oldest=kept.oldest,
            newest=kept.newest,
        )
    return counted


def _drawn(board: BoardPage | Part, shell: "Shell", moment: Moment, query: dict[str, str]) -> Context:
    """Return the values of the view's own template, with the snapshot of that event and a paused clock."""
    result, now = moment.past, shell["snapshot"]
    assert result is not None, "it was executed"
    snapshot: Any = {
        **(result["snapshot"] or {}),
        "rate": 0,
        "reached_rate": None,
        "sandbox": {**now["sandbox"], "state": result["state"]},
    }
    drawn = page_snapshot.at_moment(board, shell["sandbox"].slug, result, snapshot, query)
    at = int(str(moment.order["at"]))
    return {**follow(drawn, now, at), "snapshot": snapshot, "shown": result["seq"]}


def _why(moment: Moment) -> str:
    """Return the reason why there is no result; empty while the event is executed."""
    if moment.refused is None:
        return ""
    values = moment.refused["values"]
    text = refusal_texts.filled(moment.refused["message"], values)
    word = PLAYER_WORDS.get(f"stretch.{values.get('why')}")
    return f"{text} ({word})" if word is not None else text
