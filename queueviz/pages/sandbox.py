"""The pages of one sandbox: boards, partials, actions.  Each checks `policy` first and then asks the engine."""

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.template import TemplateDoesNotExist
from django.views.decorators.http import require_GET, require_POST

from queueviz import engine, refusal_texts, refusals
from queueviz.access import policy, visitor
from queueviz.boards import BOARDS, part_of
from queueviz.boards.htmx_answers import acted_trigger, answer_template, answer_values
from queueviz.boards.page import BoardPage, Context, Part
from queueviz.boards.shell import Entry, ShellValues, shell_values
from queueviz.clusters import attached_clusters, reset_undo
from queueviz.form_fields import fields_of
from queueviz.models import Cluster, Sandbox
from queueviz.pages import class_bands, page_snapshot, replay
from queueviz.pages.first_steps import FirstStep, first_step
from queueviz.sandboxes import ownership, visitor_actions
from queueviz.slugs import root_of
from sandbox.hosting.incident_notes import incident_of
from sandbox.kernel.errors import ActionRefused, SandboxError


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
        context["first_step"] = _hint(request, slug, values)
    if visit.cluster is not None and tab == "journal" and visit.may("reset"):
        context["records"] = ownership.records_of(slug)
        context["undo_points"] = reset_undo.open_points(visit.cluster)
    return render(request, board.template, context)


def _hint(request: HttpRequest, slug: str, values: ShellValues) -> FirstStep | None:
    """Return the hint of the template; a lab and an incident have questions of their own."""
    if values["begun_lab"] is not None or incident_of(engine.directory_of(slug)) is not None:
        return None
    return first_step(request, values["snapshot"]["sandbox"]["template"])


@require_GET
def part(request: HttpRequest, slug: str, name: str) -> HttpResponse:
    """Show a panel, or the table twin of a page, as a partial.

    The page polls it every two seconds while it is open.
    """
    visit = policy.visit_at(visitor.of_request(request), slug, "see")
    board, template = part_of(name) or (None, "")
    board = _shown(board, visit)
    values = shell(request, visit, name, wake=False)
    if "at" in request.GET and (board.replayed or board.past is not None):
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
        fields = fields_of(request.GET)
        answer = visitor_actions.ask(requester, slug, name, fields)
    except SandboxError as refused:
        return refusal_beside(request, refused)
    context = {
        "sandbox": visit.sandbox,
        "root": root_of(slug),
        "can": visit.can,
        "attached": visit.is_attached,
        **answer_values(name, fields, answer),
    }
    try:
        return render(request, answer_template(name), context)
    except TemplateDoesNotExist:  # a question programs may ask, and no page does
        raise Http404 from None


@require_POST
def actions(request: HttpRequest, slug: str) -> HttpResponse:
    """Execute one action.

    The status is 204, with the event number in a header; a refusal is a partial for the form.
    """
    requester = visitor.of_request(request)
    fields = fields_of(request.POST)
    try:
        seq = visitor_actions.act(requester, slug, fields)
    except (SandboxError, policy.Forbidden) as refused:
        return refusal_beside(request, refused)
    answer = HttpResponse(status=204)
    answer["HX-Trigger"] = acted_trigger(seq, fields)
    return answer


class Shell(ShellValues):
    """The template values that every page of a sandbox has, on the server."""

    sandbox: Sandbox | Cluster


def shell(request: HttpRequest, visit: policy.Visit, tab: str, *, wake: bool = True) -> Shell:
    """Return the template values that every page of a sandbox has.

    With `wake`, a visitor who may act wakes a sleeping sandbox.
    """
    sandbox = visit.sandbox
    attached_clusters.demand(visit)
    port = engine.port()
    if wake and visit.wakes:
        _wake(sandbox.slug)
    snapshot = engine.answer(port.snapshot(sandbox.slug))
    entry = Entry(sandbox.slug, sandbox.name, sandbox.label, sandbox.expires_at)
    return {"sandbox": sandbox, **shell_values(snapshot, entry, tab, can=visit.can, role=visit.role)}


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
    status = refusal_texts.status_beside_form(refused, status)
    return render(request, refusal_texts.PARTIAL, refusal_texts.beside(status, texts), status=status)
