"""The target page of a reproducible link: first its content, then the sandbox made from it."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from queueviz import refusal_texts, refusals
from queueviz.access import visitor
from queueviz.boards.js_texts import texts
from queueviz.links import recipe_links
from queueviz.pages import lite_offer
from sandbox.control.branch_orders import RunOrder
from sandbox.kernel.errors import ActionRefused

PAGE = "queueviz/pages/recipe.html"


@require_http_methods(["GET", "POST"])
def recipe(request: HttpRequest) -> HttpResponse:
    """Show the content of a reproducible link.  POST with `make` creates the sandbox.

    Browsers do not send the fragment, so a script puts it into the form, and POST reads it.
    """
    if request.method == "GET":
        return render(request, PAGE)
    text = request.POST.get("text", "")
    try:
        order = recipe_links.read(visitor.of_request(request), text)
        if "make" in request.POST:
            made = recipe_links.open_it(visitor.of_request(request), order)
            return redirect("branching", made.sandbox.slug)
    except ActionRefused as refused:
        status, refusal = refusals.describe(refused)
        context = {
            "text": text[:4_000],
            "refused": refusal_texts.beside(status, refusal),
            "in_browser": lite_offer.instead(request, status),
        }
        return render(request, PAGE, context, status=status)
    return render(
        request,
        PAGE,
        {
            "text": text,
            "order": order,
            "in_browser": lite_offer.of_recipe(recipe_links.text_of(text)),
            "rows": _rows(order),
            "texts": texts(),
            "lasts_ms": order.until_ms - order.wall_ms,
        },
    )


def _rows(order: RunOrder) -> list[dict[str, object]]:
    """Return the link's actions as rows for the Journal's sentences.

    `at_ms`: since the beginning, or since the sandbox was woken.
    """
    return [
        {
            "seq": str(number),
            "at_ms": entry.ms,
            "type": "ActionTaken",
            "action": entry.name,
            "fields": entry.fields,
            "by": "owner",
        }
        if entry.fields is not None
        else {"seq": str(number), "at_ms": entry.ms, "type": "SandboxSlept", "reason": entry.name}
        for number, entry in enumerate(order.came)
        if entry.name is not None
    ]
