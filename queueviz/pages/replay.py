"""A view's page at an event of the past, `?at=N`."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from queueviz import replaying, visitor
from queueviz.boards.page import BoardPage, Part
from queueviz.boards.replay import FOLLOWS, context_at, present
from queueviz.numbers import event_number
from sandbox.control.rights import VERBS
from sandbox.kernel.errors import ActionRefused

CANNOT: dict[str, Any] = {"can": dict.fromkeys(VERBS, False)}  # the past is only looked at


def page(request: HttpRequest, board: BoardPage | Part, shell: dict[str, Any]) -> HttpResponse:
    """`shell`: what every page of the sandbox shows, as it is now."""
    at, slug = event_number(request.GET["at"], field="at"), shell["sandbox"].slug
    if shell["attached"]:
        raise ActionRefused(409, "Of an attached cluster only the present is known.", "Look at it as it is now.")
    if board.name != FOLLOWS:
        return render(request, "queueviz/boards/not_replayed.html",
                      {**shell, **CANNOT, **present(shell["snapshot"], slug), "replay": True, "at": str(at),
                       "view": board})
    found = replaying.state(visitor.of_request(request), slug, at)
    drawn = context_at(shell["snapshot"], found, request.GET.dict())
    return render(request, "queueviz/boards/replay.html",
                  {**shell, **CANNOT, "replay": True, "at": str(at), **drawn})
