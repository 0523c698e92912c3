"""The page What if?: a run again with actions left out or replaced, or with many seeds."""

from typing import cast

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from queueviz.access import policy, visitor
from queueviz.boards.js_texts import texts
from queueviz.boards.page import Context
from queueviz.boards.run_comparison import INSTEAD
from queueviz.links import branching, reruns
from queueviz.models import Sandbox
from queueviz.pages import what_if_comparison, what_if_seeds
from queueviz.pages.background_runs import cancel, context_of, polled
from queueviz.pages.changed_action import offered
from queueviz.sandboxes import visitor_actions
from queueviz.slugs import root_of
from queueviz.whole_numbers import event_number

PAGE = "queueviz/pages/what_if.html"
SEEDS_PART = "queueviz/partials/what_if_seeds.html"


@require_http_methods(["GET", "POST"])
def choose(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the three modes with their choices.  POST starts the runs of one.

    `at` in the query: the event up to which actions are offered; without it, all are.
    """
    requester = visitor.of_request(request)
    visit = policy.visit_at(requester, slug, "see")
    sandbox = policy.ours(visit)
    if request.method == "POST":
        visitor_actions.ACTIONS.demand(policy.counted_as(requester))
        mode = what_if_seeds if request.POST.get("mode") == "seeds" else what_if_comparison
        return redirect("what-if-run", slug, mode.begin(requester, visit, slug, request.POST).id)
    at = event_number(request.GET["at"]) if "at" in request.GET else None
    return render(request, PAGE, _choices(sandbox, at, []) | {"at": at, "texts": texts()})


@require_http_methods(["GET", "POST"])
def run(request: HttpRequest, slug: str, play: str) -> HttpResponse:
    """Show the progress of the runs, then their result.

    POST stops them, and keeps what they have found; with `open`, it opens the counterexample as a sandbox.
    """
    requester = visitor.of_request(request)
    visit = policy.visit_at(requester, slug, "see")
    sandbox = policy.ours(visit)
    begun = reruns.find(slug, play)
    if request.method == "POST" and "open" in request.POST:
        return what_if_seeds.open_counterexample(requester, sandbox, begun)
    if request.method == "POST":
        cancel(begun, requester, visit)
        return redirect("what-if-run", slug, play)
    begun = begun.at_once()
    context = context_of(begun) | {"sandbox": sandbox, "address": request.path}
    if begun.kind == "claim":
        context |= what_if_seeds.shown(begun)
        if getattr(request, "htmx", False):
            return render(request, SEEDS_PART, context)
    elif getattr(request, "htmx", False):
        return polled(request, begun, context)
    seqs = cast(list[int], begun.order.get("seqs", []))
    chosen = _choices(sandbox, None, seqs) | {"order": begun.order}
    chosen |= {"mode": _mode_of(begun), "texts": texts()}
    if begun.kind == "compare" and begun.result is not None:
        chosen |= what_if_comparison.shown(begun)
    return render(request, PAGE, chosen | context)


@require_http_methods(["GET"])
def test_file(request: HttpRequest, slug: str, play: str) -> HttpResponse:
    """Return the counterexample of a claim as a file with a Python test."""
    visit = policy.visit_at(visitor.of_request(request), slug, "see")
    policy.ours(visit)
    begun = reruns.find(slug, play)
    branching.demand_answers_given(visit)
    return what_if_seeds.test_of_counterexample(begun)


@require_http_methods(["GET"])
def moved(request: HttpRequest, slug: str, play: str | None = None) -> HttpResponse:
    """Redirect from the addresses of the pages that this page replaced."""
    at = request.GET.get("seq") or request.GET.get("at")
    address = reverse("what-if-run", args=[slug, play]) if play else reverse("what-if", args=[slug])
    return redirect(f"{address}?at={event_number(at)}" if at else address)


def _mode_of(begun: reruns.Play) -> str:
    if begun.kind == "claim":
        return "seeds"
    return "do-instead" if begun.order.get("instead") else "leave-out"


def _choices(sandbox: Sandbox, at: int | None, seqs: list[int]) -> Context:
    """Return the choices of the three modes.  `seqs`: chosen actions, in their order; they are among the choices."""
    actions = offered(sandbox.slug, at)
    if not {action["seq"] for action in actions}.issuperset(seqs):
        actions = offered(sandbox.slug, seqs[-1])
    return {
        "sandbox": sandbox,
        "root": root_of(sandbox.slug),
        "actions": actions,
        "seqs": seqs or [action["seq"] for action in actions[:1]],
        "others": INSTEAD,
        "replaceable": [action for action in actions if action["others"]],
        "claims": what_if_seeds.CLAIMS,
        "seeds": what_if_seeds.SEEDS,
    }
