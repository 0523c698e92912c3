"""Pages of plays, which run beside the server: their progress, cancellation and end."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from queueviz import refusal_texts
from queueviz.access import policy
from queueviz.access.visitor import Visitor
from queueviz.boards.page import Context
from queueviz.links.reruns import Holder, Play
from queueviz.pages.redirects import go_again

POLLED = "queueviz/partials/playing.html"


def context_of(play: Play) -> Context:
    """Return the template values of a play.  `why`: the reason if it was refused."""
    context: Context = {"play": play, "percent": int(play.progress * 100)}
    if play.refused is not None:
        context["why"] = refusal_texts.filled(play.refused["message"], play.refused["values"])
    return context


def holder_of(visitor: Visitor, visit: policy.Visit) -> Holder:
    return Holder(policy.counted_as(visitor), is_guest=not visit.may("act"))


def cancel(play: Play, visitor: Visitor, visit: policy.Visit) -> None:
    """Cancel a play.  Raises Forbidden for a visitor who neither began it nor may act in its sandbox."""
    if play.holder.name != policy.counted_as(visitor) and not visit.may("act"):
        raise policy.forbidden(visitor, visit)
    play.cancel()


def polled(request: HttpRequest, play: Play, context: Context) -> HttpResponse:
    """Return the answer to a poll of htmx: the progress, or a reload of the page once the play has ended."""
    if not play.is_over:
        return render(request, POLLED, context)
    return go_again()
