"""The mode "over many seeds": runs with other seeds that test a claim, and the values that show them."""

from collections.abc import Mapping
from typing import cast

from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext_lazy as _

from queueviz import engine
from queueviz.access import policy
from queueviz.access.visitor import Visitor
from queueviz.boards.action_texts import action_text
from queueviz.boards.page import Context
from queueviz.links import reruns
from queueviz.links.claim_results import ClaimResult, Counterexample
from queueviz.models import Sandbox
from queueviz.pages.background_runs import holder_of
from queueviz.pages.python_file import python_file
from queueviz.sandboxes import creation
from queueviz.texts import Texts
from queueviz.whole_numbers import whole
from sandbox.control.actions import parse_action
from sandbox.control.branch_orders import Done, RecipeOrder
from sandbox.control.recipe_program import counterexample_program
from sandbox.kernel.errors import ActionRefused

TRY = "sandbox.simulation.try_claim"
SEEDS = (200, 50, 20)  # that are offered, the default first
WORKERS = 2
LEAST_TRIED = 5  # seeds, before the time of the others is estimated

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


def begin(requester: Visitor, visit: policy.Visit, slug: str, form: Mapping[str, str]) -> reruns.Play:
    """Start the test of a claim.  Raises ActionRefused."""
    claim, seeds = form.get("claim", ""), whole(form.get("seeds", str(SEEDS[0])))
    if claim not in CLAIMS:
        raise ActionRefused(422, "This claim does not exist.", "Choose a claim from the list.")
    if seeds not in SEEDS:
        raise ActionRefused(422, "This number of seeds is not offered.", "Choose a number from the list.")
    order = {"claim": claim, "directory": str(engine.directory_of(slug)), "seeds": seeds, "workers": WORKERS}
    return reruns.begin(reruns.Play(slug, "claim", [TRY], order, holder=holder_of(requester, visit)))


def shown(play: reruns.Play) -> Context:
    """Return the template's values of a test: its result so far, or none yet."""
    name = str(play.order.get("claim", ""))
    context: Context = {"claim": CLAIMS.get(name, "")}
    result = cast(ClaimResult | None, play.result or play.partial)
    if result is None:
        return context
    tried = dict(result["tried"])
    context |= {
        "result": result,
        "cells": [_cell(tried.get(seed)) for seed in range(result["seeds"])],
        "done": len(tried),
        "left_min": None if play.is_over else _left_min(result),
    }
    if shortest := result["counterexample"]:
        context |= {
            "shortest": shortest,
            "test_file": _test_file(result["claim"], shortest),
            "case": str(CASES[name]).format(**shortest["values"]),
            "acts": [(act["at_ms"], action_text(act["action"], act["fields"])) for act in shortest["acts"]],
        }
    return context


def _left_min(result: ClaimResult) -> int | None:
    """Return the minutes that the remaining seeds need at the pace of those tried; None if too few were tried."""
    tried, left = len(result["tried"]), result["seeds"] - len(result["tried"])
    return round(result["took_s"] / tried * left / 60) if left and tried >= LEAST_TRIED else None


def _cell(cases: int | None) -> str:
    return "waits" if cases is None else "broken" if cases else "holds"


def open_counterexample(requester: Visitor, sandbox: Sandbox, play: reruns.Play) -> HttpResponse:
    """Create a sandbox of the visitor from the counterexample and redirect to it.  It continues from the run's end."""
    shortest = _counterexample(play)[1]
    done = tuple(
        Done(act["at_ms"], parse_action({"action": act["action"], **act["fields"]})) for act in shortest["acts"]
    )
    order = RecipeOrder(parent=sandbox.slug, seed=shortest["seed"], done=done, until_ms=shortest["until_ms"])
    return redirect("branching", creation.from_recipe(requester, sandbox, order).sandbox.slug)


def test_of_counterexample(play: reruns.Play) -> HttpResponse:
    """Return the counterexample as a file with a Python test.  Raises ActionRefused (409)."""
    claim, shortest = _counterexample(play)
    recipe = shortest["recipe"]
    if recipe is None:
        raise ActionRefused(409, "This counterexample cannot be saved as a test.", "Open it as a sandbox instead.")
    program = counterexample_program(recipe, claim, shortest["sentence"] or "", shortest["cases"])
    return python_file(program, _test_file(claim, shortest))


def _test_file(claim: str, shortest: Counterexample) -> str:
    return f"test_{claim.replace('-', '_')}_seed_{shortest['seed']}.py"


def _counterexample(play: reruns.Play) -> tuple[str, Counterexample]:
    """Return the claim and the shortest counterexample so far.  Raises ActionRefused (409) if there is none."""
    result = cast(ClaimResult | None, play.result or play.partial)
    shortest = result["counterexample"] if result else None
    if result is None or shortest is None:
        raise ActionRefused(409, "There is no counterexample.", "Try another claim.")
    return result["claim"], shortest
