"""Share links: the page that makes and lists them, their target pages, and the recording for players.

Pages at `/e/` may be framed by any site: they read and set no cookie, and show only the recording.
"""

from urllib.parse import urlencode, urlsplit

from csp.decorators import csp_replace
from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.urls import Resolver404, resolve, reverse
from django.utils import translation
from django.utils.translation import gettext_lazy as _
from django.views.decorators.cache import never_cache
from django.views.decorators.clickjacking import xframe_options_exempt
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from queueviz import engine, refusal_texts, refusals
from queueviz.access import policy, visitor
from queueviz.boards.js_texts import texts
from queueviz.boards.page import Context
from queueviz.boards.player_texts import PLAYER_WORDS
from queueviz.links import branching, byte_ranges, recipe_links, share_links, share_recordings
from queueviz.links.share_links import Share, Shown
from queueviz.models import Sandbox
from queueviz.pages import lite_offer, live_links
from queueviz.pages.python_file import python_file
from queueviz.sandboxes import lab_files, visitor_actions
from queueviz.slugs import api_of, root_of
from queueviz.texts import Texts
from queueviz.whole_numbers import whole
from sandbox.journal.event_filter import EventFilter
from sandbox.kernel.errors import ActionRefused
from sandbox.labs.lab_from_run import OF_TIME

PARTS = {"board": (960, 640), "strips": (640, 480), "lanes": (320, 480)}  # what the player draws, in CSS pixels
LEAST_WIDTH = 320
SIZE_DIGITS = 5
MADE, MADE_S = "made_link", 60  # the cookie with the secret of a new link, until its page has shown it
AROUND, LIVES = 500, 30  # events on both sides, and days: what the form offers
MOST_ACTIONS = 20  # that are read for the last one
LEAST_AROUND = 200  # events on a side that has as many
FRONT = 2  # of the kinds; the others are under "More"
KINDS = (
    ("live", _("Live, read only"), _("Viewers watch this sandbox while it runs.")),
    ("range", _("A range as a recording"), _("Viewers play, scrub and pause. No broker runs.")),
    ("fork", _("Copy to my sandboxes"), _("Viewers get a sandbox that starts at this event.")),
    ("recipe", _("A reproducible link"), _("Viewers repeat the same run from its seed.")),
)
WORDS: Texts = {
    "share.first": _("First event"),
    "share.last": _("Last event"),
    "share.at": _("Opens at"),
    "share.note": _("Note"),
    "share.note_at": _("Event of the note"),
    "share.add_note": _("Add a note"),
    "share.remove_note": _("Remove the note"),
    "share.making": _("The recording is being made: {n} %"),
    "share.failed": _("The recording could not be shown. Try again."),
    "share.saved": _("Downloaded"),
    "share.copied": _("Copied"),
}
FRAMED = csp_replace({"frame-ancestors": ["*"], "form-action": ["'none'"]})
RECORDING = "application/vnd.queueviz.recording"


@never_cache
@require_http_methods(["GET", "POST"])
def share(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the form and the list of links.  POST makes a link and redirects to the page that shows its address, once.

    A reproducible link is shown at once: nothing is stored, so a reload makes no second one.
    """
    requester = visitor.of_request(request)
    sandbox = policy.sandbox_for(requester, slug, "share")
    newest = share_links.newest(slug)
    context: Context = {
        "sandbox": sandbox,
        "root": root_of(slug),
        "newest": newest,
        "lives": share_links.LIVES_DAYS,
        "given": request.POST or _offered(request, slug, newest),
        "kinds": KINDS[:FRONT],
        "more_kinds": KINDS[FRONT:],
        "chosen": request.POST.get("kind", "range"),
        "texts": texts(WORDS | PLAYER_WORDS),
        "config": {"api": api_of(slug), "newest": newest, "offline": reverse("share-offline", args=[slug])},
    }
    status = 200
    if request.method == "POST":
        try:
            if request.POST.get("kind") != "recipe":
                return _redirect_to(request, slug, _make(request, requester, sandbox))
            context |= _recipe(request, sandbox)
        except ActionRefused as refused:
            status, refusal = refusals.describe(refused)
            context["refused"] = refusal_texts.beside(status, refusal)
    secret = request.get_signed_cookie(MADE, default="", max_age=MADE_S, salt=slug)
    if secret and request.method == "GET":
        context |= _link(request, requester, secret)
    answer = render(request, "queueviz/pages/share.html", context | _list(sandbox), status=status)
    answer.delete_cookie(MADE, path=request.path)
    return answer


def _redirect_to(request: HttpRequest, slug: str, secret: str) -> HttpResponse:
    """Return the redirect to the page that shows a new link.  Its browser alone holds the secret, for a minute."""
    answer = redirect("share", slug)
    answer.set_signed_cookie(
        MADE,
        secret,
        salt=slug,
        max_age=MADE_S,
        path=request.path,
        httponly=True,
        samesite="Strict",
        secure=request.is_secure(),
    )
    return answer


@require_GET
def links(request: HttpRequest, slug: str) -> HttpResponse:
    """Show only the list of links, as a partial.  The page polls it while a recording is being made."""
    sandbox = policy.sandbox_for(visitor.of_request(request), slug, "share")
    return render(request, "queueviz/partials/share_links.html", {"sandbox": sandbox} | _list(sandbox))


@require_GET
def lab(request: HttpRequest, slug: str) -> HttpResponse:
    """Return the run up to event `at`, or up to now, as a Python file with a draft of a lab."""
    sandbox = policy.sandbox_for(visitor.of_request(request), slug, "share")
    at = whole(request.GET.get("at", "")) if request.GET.get("at") else share_links.newest(slug)
    if at is None:
        raise ActionRefused(422, "{field} must be a number.", "Use digits only.", field="at")
    visitor_actions.ACTIONS.demand(policy.counted_as(visitor.of_request(request)))
    return python_file(lab_files.text_of(slug, at), f"{sandbox.slug}_lab.py")


@require_POST
def revoke(request: HttpRequest, slug: str) -> HttpResponse:
    requester = visitor.of_request(request)
    sandbox = policy.sandbox_for(requester, slug, "share")
    share_links.revoke(requester, sandbox, _number(request, "link"))
    return redirect("share", slug)


@never_cache
@require_GET
def shared(request: HttpRequest, secret: str) -> HttpResponseBase:
    """Show the target of a link: a recording, the sandbox itself, or the question whether to branch from it."""
    link = _opened(request, secret)
    if link.kind == share_links.LIVE:
        return live_links.through(request, link, secret)
    if link.kind == share_links.FORK:
        return render(request, "queueviz/pages/fork.html", {"link": link, "secret": secret})
    address = _absolute(request, "shared", secret)
    context = {
        "shared": link.shown,
        "name": link.grant.label,
        "player": _player(link, "shared-recording", secret),
        "state": share_recordings.state(link),
        "texts": texts(PLAYER_WORDS),
        "oembed": f"{_absolute(request, 'oembed')}?{urlencode({'url': address})}",
    }
    return render(request, "queueviz/pages/shared.html", context)


@require_POST
def fork(request: HttpRequest, secret: str) -> HttpResponse:
    """Create a branch of the visitor from a fork link and redirect to it.  The limits are those of any new sandbox."""
    link = _opened(request, secret)
    if link.kind != share_links.FORK:
        raise Http404
    made = branching.branch(visitor.of_request(request), link.sandbox.slug, at=link.at)
    return redirect("branching", made.sandbox.slug)


@never_cache
@xframe_options_exempt
@require_GET
def embedded(request: HttpRequest, secret: str, part: str) -> HttpResponseBase:
    """Show a part of the player for pages of other sites.  No context processor runs: they would read cookies."""
    if part not in PARTS:
        raise Http404(f"No part {part!r}. Parts are: {', '.join(PARTS)}.")
    link = _recorded(request, secret)
    with translation.override(link.shown.language):
        player = _player(link, "embedded-recording", secret) | {"part": part}
        context = {
            "player": player,
            "name": link.grant.label,
            "texts": texts(PLAYER_WORDS),
            "state": share_recordings.state(link),
            "language": link.shown.language,
        }
        text = render_to_string("queueviz/pages/embedded.html", context)
    return FRAMED(lambda _: HttpResponse(text, headers={"Content-Language": link.shown.language}))(request)


@never_cache
@require_GET
def recording(request: HttpRequest, secret: str) -> HttpResponse:
    """Return the bytes of a link's recording, whole or by ranges."""
    link = _recorded(request, secret, note=False)
    if not link.is_ready:
        raise Http404("This recording is being made. Try again in a moment.")
    return byte_ranges.answer(request, link.file, RECORDING)


@require_GET
def oembed(request: HttpRequest) -> HttpResponse:
    """Return oEmbed 1.0, type `rich`, for the address of a share link.  Raises Http404 for any other address."""
    if request.GET.get("format", "json") != "json":
        return JsonResponse({"error": "Only the format json is there."}, status=501)
    secret = _secret_of(request, request.GET.get("url", ""))
    link = _recorded(request, secret, note=False)
    width, height = PARTS["board"]
    width = max(LEAST_WIDTH, min(width, _size(request, "maxwidth", width)))
    height = min(height, _size(request, "maxheight", height))
    return JsonResponse(
        {
            "version": "1.0",
            "type": "rich",
            "provider_name": "QueueViz",
            "cache_age": 300,
            "title": link.grant.label or "QueueViz",
            "width": width,
            "height": height,
            "html": _frame(request, secret, "board", width, height),
        }
    )


def _list(sandbox: Sandbox) -> Context:
    """Return rows of the list (link, validity, state of its recording), and whether a recording is being made."""
    rows = [
        {
            "link": link,
            "good": link.is_good,
            "state": _state(link),
            "bytes": link.file.stat().st_size if link.is_good and link.is_ready else None,
        }
        for link in share_links.listed(sandbox)
    ]
    return {"links": rows, "waits": any(row["state"] == "making" for row in rows)}


def _state(link: Share) -> str:
    """Return the state of a link: `over`, the state of its recording, or the kind `live` or `fork`."""
    if not link.is_good:
        return "over"
    return share_recordings.state(link) if link.kind == share_links.RANGE else link.kind


def _recorded(request: HttpRequest, secret: str, *, note: bool = True) -> Share:
    """Return the link to a recording with this secret.  Raises Http404 for any other link."""
    link = _opened(request, secret, note=note)
    if link.kind != share_links.RANGE:
        raise Http404
    return link


def _opened(request: HttpRequest, secret: str, *, note: bool = True) -> Share:
    link = share_links.find(visitor.Visitor(address=visitor.of_request(request).address), secret)
    if note:
        share_links.note_use(link)
    return link


def _player(link: Share, route: str, secret: str) -> Context:
    """Return the values that the page's script passes to the player."""
    shown = link.shown
    return {
        "url": reverse(route, args=[secret]),
        "from": shown.first,
        "to": shown.last,
        "at": shown.at,
        "notes": [note._asdict() for note in shown.notes],
    }


def _recipe(request: HttpRequest, sandbox: Sandbox) -> Context:
    """Return the reproducible link and its test in Python.  Neither is stored."""
    branching.demand_answers_given(policy.visit_at(visitor.of_request(request), sandbox.slug, "share"))
    recipe = recipe_links.make(sandbox.slug, _number(request, "first"), _number(request, "at"))
    return {
        "url": request.build_absolute_uri(recipe.address),
        "in_browser": lite_offer.of_recipe(recipe_links.text_of(recipe.address)),
        "test": recipe.test,
    }


def _link(request: HttpRequest, requester: visitor.Visitor, secret: str) -> Context:
    """Return the values that show a new link, once."""
    made = share_links.find(requester, secret)
    shown: Context = {"made": made, "chosen": made.kind, "url": _absolute(request, "shared", secret)}
    if made.kind != share_links.RANGE:
        return shown
    first, last, at, _language, notes = made.shown
    text = "\n".join(f"{share_links.NOTE_MARK}{note.seq} {note.text}" for note in notes)
    shown["given"] = {"first": first, "last": last, "at": at, "days": LIVES, "label": made.grant.label, "notes": text}
    frames = {part: _frame(request, secret, part, *size) for part, size in PARTS.items()}
    return shown | {"frame": frames["board"], "frames": frames}


def _make(request: HttpRequest, requester: visitor.Visitor, sandbox: Sandbox) -> str:
    """Make the link that the form requests and return its secret."""
    label, days, kind = request.POST.get("label", ""), _number(request, "days"), request.POST.get("kind", "range")
    if kind == "live":
        return share_links.make_live(requester, sandbox, label=label, days=days)
    if kind == "fork":
        return share_links.make_fork(requester, sandbox, _number(request, "at"), label=label, days=days)
    if kind != "range":
        raise ActionRefused(
            422, "A share link is live, a range, or a copy.", "Choose one of these values.", field="kind"
        )
    share_recordings.demand_room()
    share_links.sweep()
    secret = share_links.make(requester, sandbox, shown_of(request), label=label, days=days)
    share_recordings.begin(share_links.find(requester, secret))
    return secret


def shown_of(request: HttpRequest) -> Shown:
    """Return the range that the form requests.  Raises ActionRefused (422)."""
    first, last = _number(request, "first"), _number(request, "last")
    at = _number(request, "at") if request.POST.get("at") else first
    return Shown(
        first,
        last,
        at,
        translation.get_language() or settings.LANGUAGE_CODE,
        share_links.notes_of(request.POST.get("notes", "")),
    )


def _number(request: HttpRequest, field: str) -> int:
    number = whole(request.POST.get(field, "").strip())
    if number is None:
        raise ActionRefused(422, "{field} must be a number.", "Use digits only.", field=field)
    return number


def _size(request: HttpRequest, field: str, otherwise: int) -> int:
    size = whole(request.GET.get(field, ""), digits=SIZE_DIGITS)
    return otherwise if size is None else size


def _offered(request: HttpRequest, slug: str, newest: int) -> Context:
    """Return the form's initial values: events around the one in the query, else around the last fact."""
    at = whole(request.GET.get("at", ""))
    if at is None or at > newest:
        at = _last_fact(slug, newest)
    around = max(LEAST_AROUND, min(AROUND, at, newest - at))  # the same on both sides, where the run has as many
    return {"first": max(0, at - around), "last": min(newest, at + around), "at": at, "days": LIVES}


def _last_fact(slug: str, newest: int) -> int:
    """Return the number of the last action of this run, or of the last fact, or the newest event.

    Actions of the template and of the clock do not count.
    """
    for show in ("actions", "told"):
        page = engine.answer(engine.port().look_back(slug, EventFilter(show, ()), before=newest + 1, most=MOST_ACTIONS))
        rows = (row for row in page.rows if row.get("by") != "template" and row.get("action") not in OF_TIME)
        if (row := next(rows, None)) is not None:
            return int(row["seq"])
    return newest


def _absolute(request: HttpRequest, route: str, *args: str) -> str:
    return request.build_absolute_uri(reverse(route, args=args))


def _frame(request: HttpRequest, secret: str, part: str, width: int, height: int) -> str:
    """Return the HTML element that embeds a part of the player in an article."""
    context = {"url": _absolute(request, "embedded", secret, part), "width": width, "height": height}
    return render_to_string("queueviz/partials/embed_frame.html", context).strip()


def _secret_of(request: HttpRequest, url: str) -> str:
    """Return the secret in a share link of this server: http or https, with the host of the request.

    Raises Http404 for any other address.
    """
    try:
        parts = urlsplit(url)
        is_ours = parts.scheme in ("http", "https") and parts.netloc.lower() == request.get_host().lower()
        match = resolve(parts.path) if is_ours else None
    except (Resolver404, ValueError):  # no such page, or no address at all
        match = None
    if match is None or match.url_name not in ("shared", "embedded"):
        raise Http404("This is no address of a share link here.")
    return str(match.kwargs["secret"])
