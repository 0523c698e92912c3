"""The pages of one sandbox: boards, partials, actions.  Each checks `policy` first and then asks the engine."""

import json
from datetime import datetime
from typing import TypedDict

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.template import TemplateDoesNotExist
from django.views.decorators.http import require_GET, require_POST

from queueviz import engine, forms, refusals
from queueviz.access import hidden_names, policy, visitor
from queueviz.boards import BOARDS, PARTS
from queueviz.boards.page import BoardPage, Context, Part
from queueviz.clusters import attached_clusters, reset_undo
from queueviz.models import Cluster, Sandbox
from queueviz.pages import class_bands, page_snapshot, replay
from queueviz.pages.errors import PARTIAL as REFUSAL
from queueviz.pages.first_steps import first_step
from queueviz.sandboxes import ownership, visitor_actions
from queueviz.slugs import api_of, root_of
from sandbox.cluster.disk_full import NOTHING_MORE
from sandbox.kernel.errors import ActionRefused, SandboxError
from sandbox.labs.catalogue import LABS
from sandbox.labs.lab import Lab
from sandbox.queries.rows.followed import FOLLOWED
from sandbox.queries.rows.snapshot import SandboxRow, Snapshot

ACTED = "queueviz:acted"  # the event a page waits with until the stream reaches the action's seq
MOST_TROUBLES = 3  # sentences in a banner
ANSWER = "queueviz/partials/ask_{}.html"


@require_GET
def page(request: HttpRequest, slug: str, tab: str = "board", **where: str) -> HttpResponse:
    """Show one board.  Its first paint has the newest snapshot, and the socket continues from there.

    `where` has the path's values beside the tab; a board reads them as the query.
    """
    requester = visitor.of_request(request)
    visit = policy.visit_at(requester, slug, "see")
    board = _shown(BOARDS.get(tab), visit)
    policy.note_visit(visit)
    if "at" in request.GET and tab != "journal":  # the Journal shows the events around it
        return replay.page(request, board, shell(request, visit, tab, wake=False), where)
    values = shell(request, visit, tab)
    snapshot = values["snapshot"]
    if snapshot["sandbox"]["state"] == "branching":
        return redirect("branching", slug)
    context: Context = {
        **values,
        **page_snapshot.of_page(board, slug, snapshot, {**request.GET.dict(), **where}),
    }
    if context["state_unknown"]:
        return render(request, "queueviz/boards/asleep.html", context)
    context |= class_bands.bands(requester, visit, context)
    if tab == "board" and visit.may("act") and not visit.is_attached:
        context["first_step"] = first_step(request, snapshot["sandbox"]["template"])
    if visit.cluster is not None and tab == "journal" and visit.may("reset"):
        context["records"] = ownership.records_of(slug)
        context["undo_points"] = reset_undo.open_points(visit.cluster)
    return render(request, board.template, context)


@require_GET
def part(request: HttpRequest, slug: str, name: str) -> HttpResponse:
    """Show a panel, or the table twin of a page, as a partial.

    The page polls it every two seconds while it is open.
    """
    visit = policy.visit_at(visitor.of_request(request), slug, "see")
    board = _shown(PARTS.get(name) or BOARDS.get(name), visit)
    template = PARTS[name].template if name in PARTS else getattr(board, "twin", None)
    if template is None:
        raise Http404
    values = shell(request, visit, name, wake=False)
    if "at" in request.GET and board.replayed:
        return replay.part(request, board, template, values)
    drawn = page_snapshot.of_page(board, slug, values["snapshot"], request.GET)
    if drawn["state_unknown"]:
        return HttpResponse(status=204)  # htmx leaves the panel as it is
    return render(request, template, {**values, **drawn})


@require_GET
def ask(request: HttpRequest, slug: str, name: str) -> HttpResponse:
    """Show the answer to a question as a partial, or the refusal in its place."""
    requester = visitor.of_request(request)
    visit = policy.visit_at(requester, slug, "see")
    try:
        fields = forms.fields_of(request.GET)
        answer = visitor_actions.ask(requester, slug, name, fields)
    except SandboxError as refused:
        return refusal_beside(request, refused)
    context = {
        "sandbox": visit.sandbox,
        "root": root_of(slug),
        "can": visit.can,
        "answer": answer,
        "asked": fields,
        "question": name,
        "attached": visit.is_attached,
    }
    try:
        return render(request, ANSWER.format(name.replace("-", "_")), context)
    except TemplateDoesNotExist:  # a question programs may ask, and no page does
        raise Http404 from None


@require_POST
def actions(request: HttpRequest, slug: str) -> HttpResponse:
    """Execute one action.

    The status is 204, with the event number in a header; a refusal is a partial for the form.  `follow`: the question
    `what-followed` knows what follows such an action.
    """
    requester = visitor.of_request(request)
    fields = forms.fields_of(request.POST)
    try:
        seq = visitor_actions.act(requester, slug, fields)
    except (SandboxError, policy.Forbidden) as refused:
        return refusal_beside(request, refused)
    answer = HttpResponse(status=204)
    answer["HX-Trigger"] = json.dumps({ACTED: {"seq": str(seq), "follow": fields.get("action") in FOLLOWED}})
    return answer


class Shell(TypedDict):
    """The template values that every page of a sandbox has."""

    sandbox: Sandbox | Cluster
    place_label: str
    root: str
    api: str
    snapshot: Snapshot
    can: dict[str, bool]
    role: str
    tab: str
    attached: bool
    begun_lab: Lab | None
    board_path: str
    expires_at: datetime | None


def shell(request: HttpRequest, visit: policy.Visit, tab: str, *, wake: bool = True) -> Shell:
    """Return the template values that every page of a sandbox has.

    With `wake`, a visitor who may act wakes a sleeping sandbox.
    """
    slug = visit.sandbox.slug
    attached_clusters.demand(visit)
    port = engine.port()
    if wake and visit.wakes:
        _wake(slug)
    snapshot = engine.answer(port.snapshot(slug))
    expires_at = visit.sandbox.expires_at
    row: SandboxRow = hidden_names.shown(
        {
            **snapshot["sandbox"],
            "slug": slug,
            "name": visit.sandbox.name,
            "expires_at": expires_at.isoformat() if expires_at else None,
        }
    )
    if (reason := row.get("trouble_why")) is not None:
        row["trouble"] = hidden_names.shown(refusals.filled(NOTHING_MORE, {"why": reason}))
    elif visit.is_attached:
        row["trouble"] = _troubles(row)
    row["notices"] = [
        {**notice, "text": refusals.filled(notice["pattern"], notice["values"])} for notice in row.get("notices", ())
    ]
    snapshot["sandbox"] = row
    begun_lab = LABS.get(row.get("lab", ""))
    return {
        "sandbox": visit.sandbox,
        "place_label": hidden_names.shown(visit.sandbox.label),
        "root": root_of(slug),
        "api": api_of(slug),
        "snapshot": snapshot,
        "can": visit.can,
        "role": visit.role,
        "tab": tab,
        "attached": visit.is_attached,
        "begun_lab": begun_lab,
        "board_path": "" if begun_lab is None else f"labs/{begun_lab.slug}/",
        "expires_at": expires_at,
    }


def _troubles(row: SandboxRow) -> str:
    """Return the worst errors of a cluster, in the reader's language, at most `MOST_TROUBLES`."""
    return " ".join(
        refusals.filled(trouble["pattern"], trouble["values"]) for trouble in row.get("troubles", ())[:MOST_TROUBLES]
    )


def _shown(page: BoardPage | Part | None, visit: policy.Visit) -> BoardPage | Part:
    """Return the page or part.  Raises Http404 if it does not exist, or does not support attached clusters."""
    if page is None or (visit.is_attached and not page.attached):
        raise Http404
    return page


def _wake(slug: str) -> None:
    """Wake the sandbox.

    If it cannot be opened (409), return: the page shows the reason, and its settings can delete it.
    """
    try:
        engine.answer(engine.port().wake(slug), engine.OPENING_PATIENCE_S)
    except ActionRefused as refused:
        if refused.status != 409:
            raise


def refusal_beside(request: HttpRequest, refused: Exception) -> HttpResponse:
    """Return the refusal as a partial that is shown beside the form."""
    status, texts = refusals.describe(refused)
    if status == 404 and isinstance(refused, ActionRefused):
        status = 422  # the form names an unknown object; the address is valid, so the sentence is beside the field
    return render(request, REFUSAL, refusals.beside(status, texts), status=status)
