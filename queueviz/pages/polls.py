"""The page of a course's polls: the teacher asks and moves through the states, students answer.

The teacher also sets the pace of the labs here.
"""

from http import HTTPStatus

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_GET, require_POST

from queueviz import refusals
from queueviz.access import policy, visitor
from queueviz.boards.js_texts import texts
from queueviz.courses import pacing, poll_drafts, polling
from queueviz.courses.course_access import CourseVisit, visit_course
from queueviz.courses.lab_seeds import seed_of
from queueviz.courses.polls import MOST_ANSWERS, QUESTION_CHARS, SENTENCE_CHARS, VALUE_CHARS, Poll
from queueviz.pages import class_bands, errors, labs
from queueviz.pages.projector import is_projector
from queueviz.pages.sandbox_operations import make_room
from queueviz.sandboxes import creation
from queueviz.texts import Texts
from queueviz.whole_numbers import whole
from sandbox.kernel.errors import ActionRefused
from sandbox.labs.catalogue import LABS

BAND = "class-poll"  # id of the band above a sandbox
WORDS: Texts = {
    "poll.voted": _("{n} of {of} voted"),
    "poll.not_sent": _("Your answer was not sent. Press the button again."),
}
BUTTONS: Texts = {
    "vote": _("Close the vote"),
    "hidden": _("Start the discussion"),
    "discuss": _("Vote again"),
    "again": _("Close the second vote"),
    "run": _("Reveal"),
}
"""What takes a poll on from each of its states."""


@require_GET
def poll(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the newest poll.

    The teacher also gets the form for another one, perhaps prefilled `from` a step of a lab.
    """
    return _page(request, visit_course(visitor.of_request(request), slug, "see"))


@require_POST
def ask(request: HttpRequest, slug: str) -> HttpResponse:
    """Create a poll from `question`, and a `value` and a `sentence` for each answer."""
    visit = visit_course(visitor.of_request(request), slug, "grade")
    values, sentences = request.POST.getlist("value"), request.POST.getlist("sentence")
    answers = list(zip(values, sentences, strict=False))
    try:
        polling.ask(visit.course, request.POST.get("question", ""), answers, request.POST.get("from", ""))
    except ActionRefused as error:
        filled_in = [*answers, *poll_drafts.EMPTY.answers][:MOST_ANSWERS]
        draft = poll_drafts.Draft(request.POST.get("question", "")[:QUESTION_CHARS], filled_in)
        return _page(request, visit, error, draft=draft)
    return redirect(_here(request, slug))


@require_POST
def step(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """Move a poll to its next state `to`, to the reveal with `shown`; or delete the poll with `to=drop`."""
    visit = visit_course(visitor.of_request(request), slug, "grade")
    to = request.POST.get("to", "")
    try:
        if to == "drop":
            polling.drop(visit.course, number)
        else:
            polling.advance(visit.course, number, to, request.POST.get("shown", ""))
    except ActionRefused as error:
        return _page(request, visit, error)
    return redirect(_here(request, slug))


@require_POST
def run(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """Start the lab that a poll asks about, with the numbers of its question, in a sandbox of the teacher's own.

    A second press leads to the same sandbox while it exists.
    """
    visit = visit_course(requester := visitor.of_request(request), slug, "grade")
    poll = polling.find(visit.course, number)
    lab = LABS.get(poll.source.partition("/")[0])
    if lab is None:
        raise ActionRefused(409, "Question {number} is not about a lab.", "Start any sandbox for it.", number=number)
    if poll.run and poll.run in {labs.address(sandbox.slug, lab.slug) for sandbox in policy.sandboxes_of(requester)}:
        return redirect(poll.run)
    make_room(request, requester)
    try:
        poll.run = labs.begin_lab(requester, lab, seed=seed_of(visit.course, lab))
    except creation.TooManyOwned as refused:
        return errors.too_many_owned(request, requester, refused)
    poll.save(update_fields=["run"])
    return redirect(poll.run)


@require_POST
def vote(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """Store the student's `answer`, counted from 0, in this `round`.  The band above a sandbox gets itself back."""
    visit = visit_course(visitor.of_request(request), slug, "see")
    is_band = request.headers.get("HX-Target") == BAND
    try:
        if visit.enrolment is None:
            raise ActionRefused(
                409, "Teachers do not vote.", "To try the course as a student, join with the code in another browser."
            )
        round_, answer = whole(request.POST.get("round", ""), digits=1), whole(request.POST.get("answer", ""), digits=2)
        polling.vote(visit.enrolment, number, -1 if round_ is None else round_, -1 if answer is None else answer)
    except ActionRefused as error:
        return _band(request, visit, error) if is_band else _page(request, visit, error)
    return _band(request, visit) if is_band else redirect(_here(request, slug))


@require_GET
def band(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the newest poll as the band above a student's sandbox."""
    visit = visit_course(visitor.of_request(request), slug, "see")
    if visit.enrolment is None:
        raise Http404
    return _band(request, visit)


@require_POST
def pace(request: HttpRequest, slug: str) -> HttpResponse:
    """Open the steps of a `lab` up to `step`; blank: all of them."""
    visit = visit_course(visitor.of_request(request), slug, "grade")
    text = request.POST.get("step", "")
    until = whole(text, digits=3)
    if until is None and text:
        raise ActionRefused(422, "A step must be a number.", "Choose one of the options.", field="step")
    pacing.unlock(visit.course, request.POST.get("lab", ""), until)
    if getattr(request, "htmx", False):
        visit.course.refresh_from_db()
        context = {"course": visit.course, "paces": pacing.rows(visit.course)}
        return render(request, "queueviz/partials/course_pace.html", context)
    return redirect("course-live", slug)


def _band(request: HttpRequest, visit: CourseVisit, refusal: ActionRefused | None = None) -> HttpResponse:
    status, refused = (HTTPStatus.OK, None) if refusal is None else refusals.describe(refusal)
    assert visit.enrolment is not None
    context = {**class_bands.poll_band(visit.course, visit.enrolment), "refused": refused}
    return render(request, "queueviz/partials/class_poll.html", context, status=status)


def _here(request: HttpRequest, slug: str) -> str:
    return reverse("course-poll", args=[slug]) + ("?projector=1" if is_projector(request) else "")


def _page(
    request: HttpRequest,
    visit: CourseVisit,
    refusal: ActionRefused | None = None,
    draft: poll_drafts.Draft | None = None,
) -> HttpResponse:
    """Show the page of the teacher or the student, with a refusal if there is one."""
    status, refused = (HTTPStatus.OK, None) if refusal is None else refusals.describe(refusal)
    course, newest = visit.course, polling.newest(visit.course)
    context: dict[str, object] = {
        "course": course,
        "poll": newest,
        "refused": refused,
        "status": status,
        "projector": is_projector(request),
        "here": _here(request, course.slug),
        "texts": texts(WORDS),
        "live": {"channels": {"class": f"class/{course.slug}"}, "first": {}, "seq": "0", "root": request.path},
        "results": polling.results(newest) if newest is not None and newest.is_revealed else None,
    }
    if visit.teaches:
        asks = newest is None or draft is not None or "new" in request.GET or "from" in request.GET
        context |= _asked(request, visit, draft) if asks else {}
        context |= {} if newest is None else _taught(newest)
        return render(request, "queueviz/pages/poll_teach.html", context, status=status)
    assert visit.enrolment is not None
    mine = {} if newest is None else polling.own(newest, visit.enrolment)
    context |= {
        "enrolment": visit.enrolment,
        "mine": None if newest is None else mine.get(newest.round),
        "given": [] if newest is None else [(round_, newest.choices[mine[round_]]) for round_ in sorted(mine)],
    }
    return render(request, "queueviz/pages/poll.html", context, status=status)


def _taught(shown: Poll) -> dict[str, object]:
    """Return the teacher's template values of a poll, without names and votes of students."""
    at, of = polling.ORDER.index(Poll.State(shown.state)), polling.students(shown.course)
    voted = polling.voted(shown)
    states = [
        {"label": state.label, "is": "now" if number == at else "done" if number < at else "later"}
        for number, state in enumerate(polling.ORDER)
    ]
    return {
        "states": states,
        "voted": voted,
        "of": of,
        "seats": [number < voted for number in range(of)],
        "next": None if shown.is_revealed else polling.ORDER[at + 1].value,
        "button": BUTTONS.get(shown.state),
    }


def _asked(request: HttpRequest, visit: CourseVisit, draft: poll_drafts.Draft | None) -> dict[str, object]:
    name = request.GET.get("from", "")
    return {
        "draft": draft or poll_drafts.draft(visit.course, name),
        "chosen": name if draft is None else request.POST.get("from", ""),
        "steps": poll_drafts.offered(visit.course),
        "most": {"question": QUESTION_CHARS, "value": VALUE_CHARS, "sentence": SENTENCE_CHARS},
    }
