"""Operations on a sandbox outside the engine: wake, sleep, extend, rename, share, delete.  Each has a POST address."""

from collections.abc import Callable
from typing import NamedTuple

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST

from queueviz import engine, refusals
from queueviz.access import policy, visitor
from queueviz.access.visitor import Visitor
from queueviz.boards import BOARDS
from queueviz.forms import SettingsForm
from queueviz.models import Sandbox
from queueviz.pages import errors, page_snapshot
from queueviz.pages.sandbox import shell
from queueviz.sandboxes import ownership
from sandbox.control.access_keys import Keys
from sandbox.kernel.errors import ActionRefused, SandboxError

Said = dict[str, object]  # what the settings page shows once, for example a fresh token


class Operation(NamedTuple):
    """An operation: the right (verb) it needs, its function, and the page that shows its result."""

    verb: str
    do: Callable[[HttpRequest, Visitor, Sandbox], Said]
    page: str = "settings"


@require_POST
def keep(request: HttpRequest, slug: str, what: str) -> HttpResponse:
    """Execute an operation and show the settings again.

    After a deletion or sleep, redirect to the landing page: a visit would wake the sandbox.
    """
    operation = OPERATIONS.get(what)
    if operation is None:
        raise Http404
    requester = visitor.of_request(request)
    visit = policy.visit_at(requester, slug, operation.verb)
    answers = operation.do(request, requester, policy.ours(visit))
    if what in ("delete", "sleep"):
        return redirect("home")
    if what in ("wake", "dismiss"):
        return redirect("sandbox", slug)
    if not answers:
        return redirect("sandbox-page", slug, operation.page)
    board = BOARDS[operation.page]
    values = shell(request, visit, operation.page, wake=False)
    context = {**values, **page_snapshot.of_page(board, slug, values["snapshot"], request.GET), **answers}
    return render(request, board.template, context)  # no redirect: a secret does not belong into an address


def make_room(request: HttpRequest, requester: Visitor) -> None:
    """Delete the sandbox that a request for a new one names, with the rights of its Delete button."""
    if slug := request.POST.get(errors.INSTEAD):
        ownership.delete(requester, policy.ours(policy.visit_at(requester, slug, OPERATIONS["delete"].verb)))


def _wake(request: HttpRequest, requester: Visitor, sandbox: Sandbox) -> Said:
    engine.answer(engine.port().wake(sandbox.slug), engine.OPENING_PATIENCE_S)
    return {}


def _sleep(request: HttpRequest, requester: Visitor, sandbox: Sandbox) -> Said:
    engine.answer(engine.port().sleep(sandbox.slug, "action"), engine.OPENING_PATIENCE_S)
    return {}


def _extend(request: HttpRequest, requester: Visitor, sandbox: Sandbox) -> Said:
    ownership.extend(requester, sandbox)
    return {}


def _change(request: HttpRequest, requester: Visitor, sandbox: Sandbox) -> Said:
    form = SettingsForm(request.POST, instance=sandbox)
    if not form.is_valid():
        field, problems = next(iter(form.errors.items()))
        raise ActionRefused(422, "{problem}", field=field, problem=problems[0])
    ownership.change(requester, sandbox, name=form.cleaned_data["name"], visibility=form.cleaned_data["visibility"])
    return {}


def _token(request: HttpRequest, requester: Visitor, sandbox: Sandbox) -> Said:
    token = ownership.new_token(sandbox, label=request.POST.get("label", "")[:80])
    ownership.record(requester, "token", sandbox.slug)
    return {"token": token}


def _revoke(request: HttpRequest, requester: Visitor, sandbox: Sandbox) -> Said:
    return {"revoked": ownership.revoke(requester, sandbox)}


def _claim_link(request: HttpRequest, requester: Visitor, sandbox: Sandbox) -> Said:
    path = reverse("claim", args=[ownership.claim_link(requester, sandbox)])
    return {"claim_url": request.build_absolute_uri(path)}


def _delete(request: HttpRequest, requester: Visitor, sandbox: Sandbox) -> Said:
    ownership.delete(requester, sandbox)
    return {}


def _dismiss(request: HttpRequest, requester: Visitor, sandbox: Sandbox) -> Said:
    engine.answer(engine.port().dismiss_notices(sandbox.slug))
    ownership.record(requester, "dismiss", sandbox.slug)
    return {}


def _listen(request: HttpRequest, requester: Visitor, sandbox: Sandbox) -> Said:
    return _or_refused(lambda: ownership.open_listener(requester, sandbox))


def _unlisten(request: HttpRequest, requester: Visitor, sandbox: Sandbox) -> Said:
    ownership.close_listener(requester, sandbox)
    return {}


def _keys(request: HttpRequest, requester: Visitor, sandbox: Sandbox) -> Said:
    made: list[Keys] = []
    return _or_refused(lambda: made.append(ownership.make_keys(requester, sandbox))) or {"keys": made[0]}


def _no_keys(request: HttpRequest, requester: Visitor, sandbox: Sandbox) -> Said:
    return _or_refused(lambda: ownership.drop_keys(requester, sandbox))


def _or_refused(do: Callable[[], object]) -> Said:
    """Run `do`; return its refusal, if any, for the page of the form, which shows it beside the button."""
    try:
        do()
    except SandboxError as refused:
        status, texts = refusals.describe(refused)
        return {"refused_open": {**texts, "status": status, "message": texts["error"]}}
    return {}


OPERATIONS = {
    "wake": Operation("act", _wake),
    "sleep": Operation("act", _sleep),
    "extend": Operation("act", _extend),
    "change": Operation("share", _change),
    "token": Operation("share", _token),
    "revoke": Operation("share", _revoke),
    "claim-link": Operation("share", _claim_link),
    "dismiss": Operation("share", _dismiss),
    "delete": Operation("share", _delete),
    "listen": Operation("share", _listen, "connect"),
    "unlisten": Operation("share", _unlisten, "connect"),
    "keys": Operation("share", _keys, "connect"),
    "no-keys": Operation("share", _no_keys, "connect"),
}
