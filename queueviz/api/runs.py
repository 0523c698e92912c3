"""The JSON API of the pipeline: request a run, watch it, cancel it, and read its results."""

from typing import Any, TypedDict

from django.http import HttpRequest, HttpResponse
from ninja import Router, Schema, Status
from pydantic import ConfigDict, Field

from queueviz.access import policy, visitor
from queueviz.api.sandboxes import REFUSALS, api, writer
from queueviz.boards.api_bodies import MOST_LINES
from queueviz.runs import run_requests
from queueviz.runs.job_offers import demand_shown, offers, offers_to
from queueviz.runs.run_view import ResultRow, RunRow, result_row, run_row
from queueviz.runs.tables import Result, plain
from sandbox.kernel import json_bytes
from sandbox.kernel.errors import ActionRefused

router = Router(tags=["pipeline"])


class Wish(Schema):
    """The body of a request for a run.

    `job`: delivery_audit, lag_history, latency, rebalance_history, store_audit or hot_keys; `options`: those of the
    job.
    """

    model_config = ConfigDict(extra="forbid")

    job: str = Field(max_length=32)
    options: dict[str, str] = {}


class Run(Schema):
    """The state of a run.

    `state`: queued, running, done, failed or cancelled.  `why`: the reason if it failed or was cancelled.  `tables`:
    the number of rows by table.
    """

    run: str
    job: str
    options: dict[str, str]
    state: str
    stage: int | None
    tasks_done: int
    tasks: int
    cancelling: bool
    why: str
    tables: dict[str, int]
    true_to: str | None
    who: str
    asked_ms: int
    started_ms: int | None
    ended_ms: int | None


class Runs(Schema):
    """The runs of a sandbox.  `worker`: True if a worker is alive; without a worker, runs wait."""

    worker: bool
    jobs: dict[str, list[str]]
    runs: list[Run]


class Found(Schema):
    """The last successful result of a job.

    `true_to` is the number of the last journal entry that the job read.
    """

    job: str
    run: str
    made_ms: int
    true_to: str | None
    tables: dict[str, int]


class RunList(TypedDict):
    """The list of runs as the view returns it, before validation against `Runs`."""

    worker: bool
    jobs: dict[str, list[str]]
    runs: list[RunRow]


@router.get("/{slug:slug}/runs", response={200: Runs} | REFUSALS, summary="Pipeline runs, newest first")
def runs(request: HttpRequest, slug: str) -> RunList:
    """Return the newest 50 runs; `jobs`: the jobs that can be requested, with the options of each."""
    visit = _seen(request, slug)
    return {
        "worker": run_requests.is_worker_alive(),
        "jobs": {job: list(offer.options) for job, offer in offers_to(visit).items()},
        "runs": [run_row(run) for run in run_requests.runs_of(policy.ours(visit))],
    }


@router.post("/{slug:slug}/runs", response={201: Run} | REFUSALS, summary="Request a run of a job")
def ask_for(request: HttpRequest, slug: str, wish: Wish) -> Status[Any]:
    """Request a run. It waits for the worker; `GET …/runs/<run>` reports its progress."""
    return Status(201, run_row(run_requests.ask_for(writer(request), slug, wish.job, wish.options)))


@router.get("/{slug:slug}/runs/{run}", response={200: Run} | REFUSALS, summary="One run")
def one(request: HttpRequest, slug: str, run: str) -> RunRow:
    return run_row(run_requests.one_of(policy.ours(_seen(request, slug)), run))


@router.delete("/{slug:slug}/runs/{run}", response={200: Run} | REFUSALS, summary="Cancel a run")
def cancel(request: HttpRequest, slug: str, run: str) -> RunRow:
    """Cancel a run. A running one ends as soon as Spark releases it; earlier results stay."""
    return run_row(run_requests.cancel(writer(request), slug, run))


@router.get("/{slug:slug}/pipeline/{job}", response={200: Found} | REFUSALS, summary="Last successful result of a job")
def result(request: HttpRequest, slug: str, job: str) -> ResultRow:
    return _found(_seen(request, slug), job)[1]


@router.get("/{slug:slug}/pipeline/{job}/{table}", summary="A table of the result, as NDJSON")
def table(request: HttpRequest, slug: str, job: str, table: str, after: int = 0, most: int = 1_000) -> HttpResponse:
    """Return a part of a result table: `most` rows after the first `after` rows.

    A larger `most` than 10 000 counts as 10 000. Offsets and event numbers are strings.
    """
    run_result, contents = _found(_seen(request, slug), job)
    if table not in contents["tables"]:
        raise ActionRefused(
            404,
            "{job} has no table {table}.",
            "Available tables: {tables}.",
            job=job,
            table=table,
            tables=", ".join(contents["tables"]),
        )
    rows = run_result.rows(table, dict[str, object], most=max(0, min(most, MOST_LINES)), after=max(0, after)).rows
    lines = (json_bytes.dumps(row, option=json_bytes.OPT_APPEND_NEWLINE) for row in plain(rows))
    return HttpResponse(b"".join(lines), content_type="application/x-ndjson")


def _seen(request: HttpRequest, slug: str) -> policy.Visit:
    return policy.visit_at(visitor.of_request(request), slug, "see")


def _found(visit: policy.Visit, job: str) -> tuple[Result, ResultRow]:
    if job not in offers():
        raise ActionRefused(
            404, "Job {job} does not exist.", "Available jobs: {jobs}.", job=job, jobs=", ".join(offers())
        )
    demand_shown(visit, job)
    run_result = Result(job, policy.ours(visit).slug)
    row = result_row(run_result)
    if row is None:
        raise ActionRefused(404, "{job} has not run on this sandbox yet.", "Run the job first.", job=job)
    return run_result, row


api.add_router("/sandboxes", router)
