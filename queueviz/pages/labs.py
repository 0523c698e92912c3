"""Guided labs: their list, the start in a sandbox of one's own, and the panel beside the Board."""

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from queueviz import access, acting, engine, forms, lab_recordings, owners, ranges, refusals, visitor
from queueviz.boards import BOARDS
from queueviz.boards.js_texts import texts
from queueviz.boards.player_texts import PLAYER_WORDS
from queueviz.pages import reading
from queueviz.pages.lab_panel import panel
from queueviz.pages.sandbox import shell
from queueviz.pages.share import RECORDING
from queueviz.refusals import filled
from sandbox.control.questions import LabState
from sandbox.kernel.errors import ActionRefused, SandboxError
from sandbox.labs.catalogue import LABS
from sandbox.labs.catalogue.packs import PACKS
from sandbox.labs.lab import Lab
from sandbox.queries.rows.labs import LabRow

FORMS = ("AnswerStep", "TakeHint", "RestartLab")  # what the panel sends; the rest goes to `actions/`
BESIDE = ("group", "topic")  # what the Board shows at first, where the lab has them


@require_GET
def index(request: HttpRequest) -> HttpResponse:
    """Packs, and every lab: how far the visitor's own sandboxes are with it, as their journals say."""
    found = _in_progress(visitor.of_request(request))
    labs = [{"lab": lab, "title": gettext(lab.title), "goal": gettext(lab.goal), "mine": found.get(lab.slug, ())}
            for lab in LABS.values()]  # fmt: skip
    packs = [{"title": gettext(pack.title), "minutes": sum(lab.minutes for lab in pack.labs),
              "labs": [{"lab": lab, "title": gettext(lab.title),
                        "done": any(mine["finished"] for mine in found.get(lab.slug, ()))} for lab in pack.labs]}
             for pack in PACKS]  # fmt: skip
    return render(request, "queueviz/pages/labs.html", {"labs": labs, "packs": packs})


@require_POST
def start(request: HttpRequest, lab: str) -> HttpResponse:
    """A sandbox of the visitor's own, with the lab begun in it.  Raises as `owners.create`."""
    chosen = _known(lab)
    who = visitor.of_request(request)
    made = owners.create(who, chosen.template, preset=chosen.preset, name=f"{chosen.number} · {gettext(chosen.title)}",
                         history=False)  # fmt: skip
    acting.act(who, made.sandbox.slug, {"action": "StartLab", "lab": lab})
    return redirect(_address(made.sandbox.slug, lab))


@require_GET
def example(request: HttpRequest, lab: str) -> HttpResponse:
    """The lab as it happens to somebody else, but for its last step: made when it is first asked for."""
    chosen = _known(lab)
    found = lab_recordings.find(chosen)
    if found is None:
        lab_recordings.make(chosen)
    notes = [] if found is None else [{"seq": seq, "text": filled(text, values)} for seq, text, values in found.notes]
    player = {"url": reverse("lab-recording", args=[lab]), "notes": notes}
    return render(request, "queueviz/pages/lab_example.html", {
        "lab": chosen, "title": gettext(chosen.title), "state": "making" if found is None else "ready",
        "player": player, "texts": texts(PLAYER_WORDS),
        "lasts_s": None if found is None else round(found.lasts_ms / 1000)})  # fmt: skip


@require_GET
def recording(request: HttpRequest, lab: str) -> HttpResponse:
    found = lab_recordings.find(_known(lab))
    if found is None:
        raise Http404("This recording is being made. Try again in a moment.")
    return ranges.answer(request, found.path, RECORDING)


@require_http_methods(["GET", "POST"])
def lab(request: HttpRequest, slug: str, lab: str) -> HttpResponse:
    """The Board with the panel beside it; to htmx, the panel alone.  POST answers, takes a hint or starts over."""
    who = visitor.of_request(request)
    visit = access.visit_at(who, slug, "see")
    alone, refused, status = getattr(request, "htmx", False), None, 200
    if request.method == "POST":
        try:
            _send(who, slug, lab, request)
        except SandboxError as why:
            status, refused = refusals.describe(why)
        else:
            if not alone:
                return redirect(_address(slug, lab))
    access.note_visit(visit)
    context = shell(request, visit, "board", wake=not alone)
    row = _row(slug, lab)
    numbers = row["numbers"]
    context |= {"lab": panel(row), "here": _address(slug, lab), "refused": refused, "status": status}
    if alone:
        return render(request, "queueviz/partials/lab.html", context, status=status)
    query = {name: str(numbers[name]) for name in BESIDE if name in numbers} | request.GET.dict()
    context |= reading.of_page(BOARDS["board"], slug, context["snapshot"], query)
    return render(request, "queueviz/boards/lab.html", context, status=status)


def _known(lab: str) -> Lab:
    if lab not in LABS:
        raise Http404
    return LABS[lab]


def _send(who: visitor.Visitor, slug: str, lab: str, request: HttpRequest) -> None:
    given = forms.fields_of(request.POST)
    if given.get("action") not in FORMS:
        raise ActionRefused(422, "A lab does not take this action.", "Answer its question, or use the Board.")
    acting.act(who, slug, {**given, "lab": lab})


def _row(slug: str, lab: str) -> LabRow:
    row: LabRow | None = engine.answer(engine.port().ask(slug, LabState())).get("lab")
    if row is None or row["lab"] != lab:
        raise ActionRefused(404, "Lab {lab} is not in progress here.", "Start it in a new sandbox.", lab=lab)
    return row


def _address(slug: str, lab: str) -> str:
    return reverse("lab", args=[slug, lab])


def _in_progress(who: visitor.Visitor) -> dict[str, list[dict[str, Any]]]:
    """By lab.  A sandbox that sleeps is not woken for this, and left out."""
    found: dict[str, list[dict[str, Any]]] = {}
    for sandbox in access.sandboxes_of(who):
        try:
            row: LabRow | None = engine.answer(engine.port().ask(sandbox.slug, LabState())).get("lab")
        except SandboxError:
            continue
        if row is not None:
            met = sum(step["met"] is not None for step in row["steps"])
            found.setdefault(row["lab"], []).append({
                "address": _address(sandbox.slug, row["lab"]), "met": met, "steps": len(row["steps"]),
                "finished": row["finished"], "score": row["score"], "attempt": row["attempt"]})  # fmt: skip
    return found
