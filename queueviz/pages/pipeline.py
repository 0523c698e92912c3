"""The Pipeline page: jobs on a sandbox's journal and files, their progress and results, requests and cancellation."""

import json
from collections.abc import Mapping
from typing import TypedDict

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_GET, require_http_methods

from queueviz.access import policy, visitor
from queueviz.boards.board import live_config
from queueviz.boards.js_texts import PageTexts, texts
from queueviz.boards.page import Context, Place, Readings
from queueviz.boards.result_table import shown
from queueviz.courses.models import Course
from queueviz.models import PipelineRun, Sandbox
from queueviz.pages.sandbox import Shell, refusal_beside, shell
from queueviz.runs import run_requests
from queueviz.runs.job_offers import Offer, demand_shown, offers, offers_to, title_of
from queueviz.runs.run_view import sentence
from queueviz.runs.tables import Result
from queueviz.slugs import root_of
from sandbox.kernel.errors import SandboxError

CHANGED = "queueviz:runs"  # the event on which the list is asked for again
OPTION = "option."  # before a job's own options, in a form
PAGES = {"delivery_audit": "audit", "lag_history": "history"}  # jobs with a page of their own
SHOWN_ROWS = 200
State = PipelineRun.State


@require_http_methods(["GET", "HEAD", "POST"])
def pipeline(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the page.  POST requests a run (`job`) or cancels one (`cancel`); a form gets an empty partial."""
    if request.method == "POST":
        return _do(request, slug)
    values = page_context(request, slug, "pipeline")
    visit = values["visit"]
    context: Context = {
        **values,
        **_list(policy.ours(visit)),
        "offers": list(offers_to(visit).values()),
        **_found(request, visit),
    }
    return render(request, "queueviz/boards/pipeline.html", context)


@require_GET
def runs(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the list of runs as a partial.  The page polls it every second while a run is active."""
    visit = policy.visit_at(visitor.of_request(request), slug, "see")
    context = {"root": root_of(slug), "can": visit.can, **_list(policy.ours(visit))}
    return render(request, "queueviz/partials/runs.html", context)


@require_GET
def freshness(request: HttpRequest, slug: str, job: str) -> HttpResponse:
    """Show the age of a job's result and the progress of its next run; reload the page once a new result exists."""
    visit = policy.visit_at(visitor.of_request(request), slug, "see")
    if job not in offers():
        raise Http404
    age = fresh(policy.ours(visit), job, Result(job, slug))
    return polled(request, "queueviz/partials/freshness.html", age, root=root_of(slug), can=visit.can)


class PageValues(Shell):
    """The template values of the pages of results: the shell, and the start values of their modules."""

    place: Place
    texts: PageTexts
    visit: policy.Visit
    live: Context


class ShownRun(TypedDict):
    """A run in the list."""

    row: PipelineRun
    title: object
    why: str
    page: str | None
    is_on: bool
    is_starting: bool
    took_ms: float | None
    age_ms: float
    options: list[tuple[str, str]]
    share: int


class Freshness(TypedDict):
    """The age of a job's result.

    `run`: the run that waits or works now, or that failed after the result was made.
    """

    job: str
    result: Result
    version: str
    true_to: int | None
    age_ms: int | None
    run: ShownRun | None
    worker: bool


def page_context(
    request: HttpRequest,
    slug: str,
    tab: str,
    *,
    readings: Readings | None = None,
    channels: Mapping[str, str | None] | None = None,
    **more: object,
) -> PageValues:
    """Return the template values that the pages of results share."""
    visit = policy.visit_at(visitor.of_request(request), slug, "see")
    policy.note_visit(visit)
    values = shell(request, visit, tab)
    where = Place(slug, values["snapshot"], request.GET)
    return {
        **values,
        "place": where,
        "texts": texts(),
        "visit": visit,
        "live": live_config(where, readings or {}, channels or {}, tab=tab, **more),
    }


def fresh(of: Sandbox | Course, job: str, result: Result) -> Freshness:
    newest = run_requests.newest(of, job)
    run = newest if newest is not None and newest.state != State.DONE else None
    made_ms = result.manifest.made_ms if result.manifest is not None else None
    if run is not None and run.ended_at and made_ms is not None and run.ended_at.timestamp() * 1_000 < made_ms:
        run = None
    version = f"{result.manifest.run}-{made_ms}" if result.manifest is not None else ""
    return {
        "job": job,
        "result": result,
        "version": version,
        "true_to": result.true_to,
        "age_ms": None if made_ms is None else max(0, _now_ms() - made_ms),
        "run": None if run is None else _shown_run(run),
        "worker": run_requests.is_worker_alive(),
    }


def polled(request: HttpRequest, template: str, age: Freshness, **more: object) -> HttpResponse:
    """Return the answer to a poll, which reloads the page once a result is there that the page does not show (`seen`).

    Not before the run has ended: a stream leaves results while it is at work, and a regrade follows Spark's result.
    Until then the next poll has the same `seen`.
    """
    on_page = request.GET.get("seen", age["version"])
    if age["run"] is not None and age["run"]["is_on"]:
        age["version"] = on_page
    answer = render(request, template, {**age, **more})
    if age["version"] != on_page:
        answer["HX-Refresh"] = "true"
    return answer


def _do(request: HttpRequest, slug: str) -> HttpResponse:
    requester, form = visitor.of_request(request), request.POST
    try:
        if "cancel" in form:
            run_requests.cancel(requester, slug, form["cancel"])
        else:
            names = [name for name in form if name.startswith(OPTION)]
            options = {name.removeprefix(OPTION): str(form[name]) for name in names}
            run_requests.ask_for(requester, slug, form.get("job", ""), options)
    except (SandboxError, policy.Forbidden) as refused:
        return refusal_beside(request, refused)
    return changed()


def changed() -> HttpResponse:
    """Return the empty partial of a form that changed the runs: the page asks for them again."""
    answer = HttpResponse("")
    answer["HX-Trigger"] = json.dumps({CHANGED: {}})
    return answer


def _list(sandbox: Sandbox) -> Context:
    rows = [_shown_run(run) for run in run_requests.runs_of(sandbox)]
    return {"runs": rows, "is_on": any(row["is_on"] for row in rows), "worker": run_requests.is_worker_alive()}


def _shown_run(run: PipelineRun) -> ShownRun:
    now = timezone.now()
    begin, end = run.started_at, run.ended_at or now
    return {
        "row": run,
        "title": title_of(run.job),
        "why": sentence(run),
        "page": PAGES.get(run.job),
        "is_on": not run.is_over,
        "is_starting": run.state == State.RUNNING and run.stage is None,
        "took_ms": (end - begin).total_seconds() * 1_000 if begin else None,
        "age_ms": (now - run.asked_at).total_seconds() * 1_000,
        "options": sorted(run.options.items()),
        "share": round(100 * run.tasks_done / run.tasks) if run.tasks else 0,
    }


def _found(request: HttpRequest, visit: policy.Visit) -> Context:
    """Return the tables of one job's result, one of them with its first rows.  Empty without a job.

    Raises ActionRefused (409): `demand_shown`.
    """
    offer: Offer | None = offers().get(request.GET.get("job", ""))
    if offer is None:
        return {}
    demand_shown(visit, offer.job)
    result = Result(offer.job, policy.ours(visit).slug)
    tables = result.manifest.tables if result.manifest is not None else {}
    chosen = request.GET.get("table", "")
    chosen = chosen if chosen in tables else next(iter(tables), "")
    columns, rows = result.columns(chosen), result.rows(chosen, dict[str, object], most=SHOWN_ROWS)
    cells = shown(columns, rows.rows)
    heads = [(name, any(row[at].is_number for row in cells)) for at, name in enumerate(columns[1:])]
    return {
        "found": {
            "offer": offer,
            "tables": tables,
            "table": chosen,
            "rows": cells,
            "columns": heads,
            "is_cut": rows.is_cut,
            "most": SHOWN_ROWS,
            "all": tables[chosen].rows if chosen else 0,
            "true_to": result.true_to,
        }
    }


def _now_ms() -> int:
    return round(timezone.now().timestamp() * 1_000)
