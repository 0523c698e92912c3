"""The page Test my claim: 200 runs of this sandbox with other seeds, in a process beside the server."""

from typing import cast

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_http_methods

from queueviz import engine
from queueviz.access import policy, visitor
from queueviz.access.visitor import Visitor
from queueviz.boards.js_texts import texts
from queueviz.links import reruns
from queueviz.links.claim_results import ClaimResult, Counterexample
from queueviz.models import Sandbox
from queueviz.pages.background_runs import cancel, context_of, holder_of, polled
from queueviz.sandboxes import creation, visitor_actions
from queueviz.slugs import root_of
from queueviz.texts import Texts
from sandbox.control.actions import parse_action
from sandbox.control.branch_orders import Done, RecipeOrder
from sandbox.kernel.errors import ActionRefused

TRY = "sandbox.simulation.try_claim"
SEEDS = 200
WORKERS = 2

CLAIMS: Texts = {
    "no-duplicates-after-a-clean-stop": _("No duplicates after a clean stop"),
    "no-duplicates-after-a-crash": _("No duplicates after a crash"),
    "at-most-one-owner": _("At most one owner per queue at a time"),
    "order-per-key": _("Messages of one key are finished in order"),
}
AGAIN = _("{place}: {before} finished the message, {after} received it again")
CASES: Texts = {
    "no-duplicates-after-a-clean-stop": AGAIN,
    "no-duplicates-after-a-crash": AGAIN,
    "at-most-one-owner": _("{queue}: {after} started processing while {before} was processing"),
    "order-per-key": _("{place} of {key} was finished after {offset}"),
}


@require_http_methods(["GET", "POST"])
def choose(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the claims.  POST starts the test of one."""
    requester = visitor.of_request(request)
    visit = policy.visit_at(requester, slug, "see")
    sandbox = policy.ours(visit)
    if request.method == "POST":
        claim = request.POST.get("claim", "")
        if claim not in CLAIMS:
            raise ActionRefused(422, "This claim does not exist.", "Choose a claim from the list.")
        visitor_actions.ACTIONS.demand(policy.counted_as(requester))
        order = {"claim": claim, "directory": str(engine.directory_of(slug)), "seeds": SEEDS, "workers": WORKERS}
        play = reruns.begin(reruns.Play(slug, "claim", [TRY], order, holder=holder_of(requester, visit)))
        return redirect("claim-tried", slug, play.id)
    return render(
        request,
        "queueviz/pages/claims.html",
        {"sandbox": sandbox, "root": root_of(slug), "claims": CLAIMS, "seeds": SEEDS},
    )


@require_http_methods(["GET", "POST"])
def tried(request: HttpRequest, slug: str, play: str) -> HttpResponse:
    """Show the progress of the test, then its result.

    POST cancels the test, or opens the counterexample of its result as a sandbox.
    """
    requester = visitor.of_request(request)
    visit = policy.visit_at(requester, slug, "see")
    sandbox = policy.ours(visit)
    run = reruns.find(slug, play)
    if request.method == "POST" and run.result is not None:
        return _open(requester, sandbox, cast(ClaimResult, run.result)["counterexample"])
    if request.method == "POST":
        cancel(run, requester, visit)
        return redirect("claims", slug)
    context = context_of(run) | {
        "sandbox": sandbox,
        "root": root_of(slug),
        "seeds": SEEDS,
        "texts": texts(),
        "claim": CLAIMS.get(str(run.order.get("claim", "")), ""),
    }
    if getattr(request, "htmx", False):
        return polled(request, run, context)
    if run.result is not None:
        result = cast(ClaimResult, run.result)
        shortest = result["counterexample"]
        if shortest:
            context["case"] = str(CASES[result["claim"]]).format(**shortest["values"])
        context |= {
            "result": result,
            "shortest": shortest,
            "rows": [
                {
                    "seq": str(number),
                    "at_ms": act["at_ms"],
                    "type": "ActionTaken",
                    "action": act["action"],
                    "fields": act["fields"],
                    "by": "owner",
                }
                for number, act in enumerate(shortest["acts"])
            ]
            if shortest
            else [],
        }
    return render(request, "queueviz/pages/claim_tried.html", context)


def _open(requester: Visitor, sandbox: Sandbox, shortest: Counterexample | None) -> HttpResponse:
    """Create a sandbox of the visitor from the counterexample and redirect to it.  It continues from the run's end."""
    if shortest is None:
        raise ActionRefused(409, "There is no counterexample.", "Try another claim.")
    done = tuple(
        Done(act["at_ms"], parse_action({"action": act["action"], **act["fields"]})) for act in shortest["acts"]
    )
    order = RecipeOrder(parent=sandbox.slug, seed=shortest["seed"], done=done, until_ms=shortest["until_ms"])
    return redirect("branching", creation.from_recipe(requester, sandbox, order).sandbox.slug)
