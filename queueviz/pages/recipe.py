"""The target page of a recipe link: what it would make, and then the sandbox."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from queueviz import refusals
from queueviz.access import visitor
from queueviz.boards.js_texts import texts
from queueviz.links import recipe_links
from sandbox.control.branch_orders import RunOrder
from sandbox.kernel.errors import ActionRefused

PAGE = "queueviz/pages/recipe.html"


@require_http_methods(["GET", "POST"])
def recipe(request: HttpRequest) -> HttpResponse:
    """The fragment does not come here by itself: a script puts it into the form, and POST reads it; with `make`, the
    sandbox is made.
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
        context = {"text": text[:4_000], "refused": refusals.beside(status, refusal)}
        return render(request, PAGE, context, status=status)
    return render(
        request,
        PAGE,
        {
            "text": text,
            "order": order,
            "rows": _rows(order),
            "texts": texts(),
            "lasts_ms": order.until_ms - order.wall_ms,
        },
    )


def _rows(order: RunOrder) -> list[dict[str, object]]:
    """Return the recipe's actions as rows for the Journal's sentences; `ms`: since the beginning, or since it was
    woken.
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
