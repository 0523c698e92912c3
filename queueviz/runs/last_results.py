"""The last successful results of jobs, printed again without running, or used as tables in a query."""

from collections.abc import Iterator
from pathlib import Path
from typing import TypedDict

from queueviz.runs import directories
from queueviz.runs.text_tables import lines_of
from sandbox.pipeline.jobs.job import NO_QUERY, WrongOption
from sandbox.pipeline.runs.results import Manifest, manifest_of

SHOW = "show"
SQL = "sql"


def check_words(job: str, about: str | None) -> None:
    """Check the command's argument after the job's name.  Raises WrongOption."""
    if job == SHOW:
        from sandbox.pipeline.jobs.all_jobs import JOBS  # they import much

        if about is None or about not in JOBS:
            raise WrongOption(
                ("Name a job" if about is None else f"No job {about}") + f". Jobs are: {', '.join(sorted(JOBS))}."
            )
    if job == SQL and not (about or "").strip():
        raise WrongOption(NO_QUERY)
    if about is not None and job not in (SHOW, SQL):
        raise WrongOption(f"{job} takes no argument {about}. Write its options as --option KEY=VALUE.")


def directories_of(name: str) -> dict[str, str]:
    """Return the result directory by job, for the jobs with a result of this name in this data home."""
    results = {job: directories.result_of(job, name) for job in directories.jobs_with_results()}
    return {job: str(out) for job, out in results.items() if manifest_of(out) is not None}


def result_at(out: Path, job: str) -> Manifest:
    """Return the manifest of the job's result in `out`.  Raises WrongOption if there is none, CorruptRecord."""
    made = manifest_of(out)
    if made is None or made.job != job:
        raise WrongOption(f"No result of {job} in {out}. Run the job first: pipeline {job}.")
    return made


def lines_at(out: Path, made: Manifest, table: str | None, most: int) -> Iterator[str]:
    """Yield the tables as text, or only `table`.  Raises WrongOption for an unknown table."""
    if table is not None and table not in made.tables:
        raise WrongOption(f"{made.job} has no table {table}. Tables are: {', '.join(made.tables)}.")
    for name in made.tables if table is None else [table]:
        yield from lines_of(out, name, made.tables[name], most)


class StoredResult(TypedDict):
    """A stored result, in the form of the last report of a run."""

    run: str
    state: str
    tables: dict[str, int]
    true_to: dict[str, int]
    made_ms: int
    out: str


def row_of(out: Path, made: Manifest) -> StoredResult:
    """Return the result for JSON, in the form of the last report of a run."""
    return {
        "run": made.run,
        "state": "done",
        "tables": {name: table.rows for name, table in made.tables.items()},
        "true_to": made.true_to,
        "made_ms": made.made_ms,
        "out": str(out),
    }
