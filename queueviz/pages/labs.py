"""Guided labs: their list, the start in a new sandbox, and the panel beside the Board."""

import secrets
from typing import NamedTuple, TypedDict

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from queueviz import engine, refusals
from queueviz.access import policy, visitor
from queueviz.boards import BOARDS, lab_board
from queueviz.boards.js_texts import texts
from queueviz.boards.page import Context
from queueviz.boards.player_texts import PLAYER_WORDS
from queueviz.courses import pacing, presence, submissions
from queueviz.courses.models import Course
from queueviz.form_fields import fields_of
from queueviz.links import byte_ranges, lab_recordings
from queueviz.pages import class_bands, errors, page_snapshot
from queueviz.pages.sandbox import shell
from queueviz.pages.sandbox_operations import make_room
from queueviz.pages.share import RECORDING
from queueviz.refusal_texts import filled
from queueviz.sandboxes import creation, ownership, visitor_actions
from queueviz.slugs import root_of
from sandbox.kernel.errors import SandboxError
from sandbox.labs.catalogue import LABS
from sandbox.labs.catalogue.packs import PACKS, Pack, exam_of, pack_of
from sandbox.labs.catalogue.symptoms import SYMPTOMS
from sandbox.labs.lab import Lab
from sandbox.queries.rows.labs import LabRow

EXAM_SEED = "exams"  # in a session: what its exams are drawn from
BEST_SCORES = "labs"  # in a session: by lab, of those that were finished
SEED_BYTES = 8
Found = dict[str, list["MineRow"]]  # by lab: the visitor's sandboxes in which it is in progress


class MineRow(TypedDict):
    """The progress of one of the visitor's sandboxes in its lab."""

    address: str
    met: int
    steps: int
    finished: bool
    score: int
    attempt: int
    exam: bool


class ExamRow(TypedDict):
    """The progress of an exam."""

    done: int
    labs: int
    finished: bool
    score: int  # of 100, over all of its labs


class LabOfPack(NamedTuple):
    """A lab in the list.  `begun`: the sandbox in which it goes on; `score`: the best of those that were finished."""

    lab: Lab
    title: str
    symptom: str
    goal: str
    begun: MineRow | None
    score: int | None


class PackRow(NamedTuple):
    """A pack in the list."""

    slug: str
    title: str
    goal: str
    labs: list[LabOfPack]
    exam: ExamRow | None

    @property
    def minutes(self) -> int:
        return sum(row.lab.minutes for row in self.labs)

    @property
    def done(self) -> int:
        return sum(row.score is not None for row in self.labs)


@require_GET
def index(request: HttpRequest) -> HttpResponse:
    """Show all labs by pack, with the progress of the visitor's own sandboxes from their journals."""
    in_progress, best = _in_progress(visitor.of_request(request)), request.session.get(BEST_SCORES, {})
    seed = request.session.get(EXAM_SEED)
    packs = [
        PackRow(
            pack.slug,
            gettext(pack.title),
            gettext(pack.goal),
            [_lab_row(lab, in_progress.get(lab.slug, []), best.get(lab.slug)) for lab in pack.labs],
            None if seed is None else _exam(pack, seed, in_progress),
        )
        for pack in PACKS
    ]
    return render(request, "queueviz/pages/labs.html", {"packs": packs})


def _lab_row(lab: Lab, mine: list[MineRow], best: int | None) -> LabOfPack:
    scores = [row["score"] for row in mine if row["finished"]] + ([] if best is None else [best])
    begun = [row for row in mine if not row["finished"]]
    return LabOfPack(
        lab,
        gettext(lab.title),
        gettext(SYMPTOMS[lab.slug]),
        gettext(lab.goal),
        begun[0] if begun else None,
        max(scores, default=None),
    )


@require_POST
def start(request: HttpRequest, lab: str) -> HttpResponse:
    """Create a sandbox of the visitor, start the lab, and redirect to it.  Raises as `creation.create`."""
    return _begin(request, visitor.of_request(request), _known(lab), exam=False)


@require_POST
def exam(request: HttpRequest, pack: str) -> HttpResponse:
    """Redirect to the first unfinished lab of the visitor's exam of this pack; begin it as an exam if needed.

    Once all are done, redirect to the list, which shows the results.
    """
    chosen = pack_of(pack)
    if chosen is None:
        raise Http404
    seed = request.session.setdefault(EXAM_SEED, secrets.token_hex(SEED_BYTES))
    requester = visitor.of_request(request)
    taken = _taken(chosen, seed, _in_progress(requester))
    left = [(lab, mine) for lab, mine in taken if mine is None or not mine["finished"]]
    if not left:
        return redirect("labs")
    lab, begun = left[0]
    return _begin(request, requester, lab, exam=True) if begun is None else redirect(begun["address"])


def _begin(request: HttpRequest, requester: visitor.Visitor, lab: Lab, *, exam: bool) -> HttpResponse:
    """Begin the lab in a new sandbox and redirect to it.  If the visitor has too many sandboxes, show them."""
    make_room(request, requester)
    try:
        return redirect(begin_lab(requester, lab, exam=exam))
    except creation.TooManyOwned as refused:
        return errors.too_many_owned(request, requester, refused)


def begin_lab(requester: visitor.Visitor, lab: Lab, *, exam: bool = False, seed: str | None = None) -> str:
    """Begin the lab in a new sandbox of the visitor and return its address.  `seed`: None: drawn."""
    made = creation.create(
        requester,
        lab.template,
        preset=lab.preset,
        name=gettext(lab.title),
        history=False,
        changes=dict(lab.changes) or None,
        seed=seed,
    )
    try:  # a part of the start, which is counted: a browser that is new has no session yet, and a class one address
        visitor_actions.act(
            requester, made.sandbox.slug, {"action": "StartLab", "lab": lab.slug, "exam": exam}, counted=False
        )
    except SandboxError:  # the next try makes another one
        ownership.delete(requester, made.sandbox)
        raise
    return address(made.sandbox.slug, lab.slug)


def _taken(pack: Pack, seed: str, in_progress: Found) -> list[tuple[Lab, MineRow | None]]:
    """Return the labs of an exam, with the progress of each; None: the lab is not begun."""
    return [
        (lab, next((mine for mine in in_progress.get(lab.slug, ()) if mine["exam"]), None))
        for lab in exam_of(pack, seed)
    ]


def _exam(pack: Pack, seed: str, in_progress: Found) -> ExamRow:
    taken = _taken(pack, seed, in_progress)
    done = [mine for _, mine in taken if mine is not None and mine["finished"]]
    return {
        "done": len(done),
        "labs": len(taken),
        "finished": len(done) == len(taken),
        "score": round(sum(mine["score"] for mine in done) / len(taken)),
    }


@require_GET
def example(request: HttpRequest, lab: str) -> HttpResponse:
    """Show a recording of the lab as a simulated student does it, without the last step.

    The recording is made at the first request.
    """
    chosen = _known(lab)
    made = lab_recordings.find(chosen)
    if made is None:
        lab_recordings.make(chosen)
    notes = [] if made is None else [{"seq": seq, "text": filled(text, values)} for seq, text, values in made.notes]
    player = {"url": reverse("lab-recording", args=[lab]), "notes": notes}
    return render(
        request,
        "queueviz/pages/lab_example.html",
        {
            "lab": chosen,
            "title": gettext(chosen.title),
            "state": "making" if made is None else "ready",
            "player": player,
            "texts": texts(PLAYER_WORDS),
            "lasts_s": None if made is None else round(made.lasts_ms / 1000),
        },
    )


@require_GET
def recording(request: HttpRequest, lab: str) -> HttpResponse:
    made = lab_recordings.find(_known(lab))
    if made is None:
        raise Http404("This recording is being made. Try again in a moment.")
    return byte_ranges.answer(request, made.path, RECORDING)


@require_http_methods(["GET", "POST"])
def lab(request: HttpRequest, slug: str, lab: str) -> HttpResponse:
    """Return the Board with the lab's panel, or the panel alone to htmx.  POST answers, takes a hint or starts over.

    GET saves no progress: `progress` does.
    """
    requester = visitor.of_request(request)
    visit = policy.visit_at(requester, slug, "see")
    alone, refused, status = getattr(request, "htmx", False), None, 200
    if request.method == "POST":
        try:
            visitor_actions.act_at(visit, requester, lab_board.panel_action(fields_of(request.POST), lab))
        except SandboxError as error:
            status, refused = refusals.describe(error)
        else:
            if not alone:
                return redirect(address(slug, lab))
    policy.note_visit(visit)
    # The panel is fetched every two seconds while figures of its verdict change: alone it needs no snapshot.
    values = None if alone else shell(request, visit, "board")
    row = _row(slug, lab)
    if request.method == "POST":
        _note(request, requester, visit, row)
    context = _panel(requester, visit, row) | {"refused": refused, "status": status}
    if values is None:
        return render(request, lab_board.PANEL, context, status=status)
    context = {**values} | context
    query = lab_board.board_query(row, request.GET.dict())
    context |= page_snapshot.of_page(BOARDS["board"], slug, values["snapshot"], query)
    context |= class_bands.bands(requester, visit, context)
    return render(request, lab_board.PAGE, context, status=status)


@require_POST
def progress(request: HttpRequest, slug: str, lab: str) -> HttpResponse:
    """Save the progress for the grade and the list of labs, and return the panel.  The panel's script calls it."""
    visit = policy.visit_at(requester := visitor.of_request(request), slug, "see")
    policy.note_visit(visit)
    row = _row(slug, lab)
    _note(request, requester, visit, row)
    return render(request, lab_board.PANEL, _panel(requester, visit, row))


def _note(request: HttpRequest, requester: visitor.Visitor, visit: policy.Visit, row: LabRow) -> None:
    """Save the progress: in a course for the grade, else the best score for the list of labs."""
    sandbox = policy.ours(visit)
    if sandbox.course is not None:
        submissions.note(sandbox, row)
    elif row["finished"] and policy.owns(requester, sandbox):
        _note_score(request, row)


def _panel(requester: visitor.Visitor, visit: policy.Visit, row: LabRow) -> Context:
    """Return what the panel's template shows."""
    slug = visit.sandbox.slug
    context: Context = {
        "sandbox": visit.sandbox,
        "root": root_of(slug),
        "can": visit.can,
        **lab_board.panel_values(row, address(slug, row["lab"]), shows_score=visit.sees_scores),
    }
    if (course := policy.ours(visit).course) is not None:
        context |= {"course": course, "asks": presence.asks(requester, course)}
        if visit.role == "student":
            context |= _paced(course, row)
    return context


def _paced(course: Course, row: LabRow) -> Context:
    """Return the pace of the course for the panel.  `teacher_opens`: the student's step, if it is not open yet."""
    opened = row["open"]
    closed = opened is not None and pacing.is_closed(course, row["lab"], opened["step"])
    return {"teacher_opens": opened["step"] if opened is not None and closed else None}


def _note_score(request: HttpRequest, row: LabRow) -> None:
    """Save the best score in the session, which outlives the sandbox."""
    best = request.session.get(BEST_SCORES, {})
    if row["score"] > best.get(row["lab"], -1):
        request.session[BEST_SCORES] = {**best, row["lab"]: row["score"]}


def _known(lab: str) -> Lab:
    if lab not in LABS:
        raise Http404
    return LABS[lab]


def _row(slug: str, lab: str) -> LabRow:
    return lab_board.in_progress(engine.lab_of(slug), lab)


def address(slug: str, lab: str) -> str:
    return reverse("lab", args=[slug, lab])


def _in_progress(requester: visitor.Visitor) -> Found:
    """Return the visitor's labs in progress, by lab.  Sleeping sandboxes are not woken for this, and left out."""
    in_progress: Found = {}
    for sandbox in policy.sandboxes_of(requester):
        try:
            row = engine.lab_of(sandbox.slug)
        except SandboxError:
            continue
        if row is not None:
            met = sum(step["met"] is not None for step in row["steps"])
            in_progress.setdefault(row["lab"], []).append(
                {
                    "address": address(sandbox.slug, row["lab"]),
                    "met": met,
                    "steps": len(row["steps"]),
                    "finished": row["finished"],
                    "score": row["score"],
                    "attempt": row["attempt"],
                    "exam": row["exam"],
                }
            )
    return in_progress
