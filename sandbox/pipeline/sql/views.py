"""The tables a query may name: `messages`, `events`, `events_<Event>`, and `<job>_<table>` of the last results.

A table becomes a temporary view if the query names it, and the view is dropped once the query is planned.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from sandbox.journal.events import BY_NAME
from sandbox.pipeline.consumption.entries import entries_of
from sandbox.pipeline.runs.appended_results import read
from sandbox.pipeline.runs.results import Table, manifest_of
from sandbox.pipeline.sealed.reading import messages
from sandbox.pipeline.sources.bodies import bodies_of, with_bodies
from sandbox.pipeline.sources.records import BODY, SCHEMA
from sandbox.pipeline.sql.read_only import Asked, QueryRefused

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from sandbox.pipeline.jobs.job import Given

MESSAGES = "messages"
EVENTS = "events"
Make = Callable[[Asked], "DataFrame"]


def views_of(job_input: "Given", results: Mapping[str, Path]) -> dict[str, Make]:
    """Return the views by name in lower case, as Spark compares names.  Raises CorruptRecord if a result is damaged.

    `results`: directory by job.
    """
    views: dict[str, Make] = {}
    if job_input.source.stores:
        views[MESSAGES] = partial(_messages, job_input)
    if job_input.source.journals:
        views[EVENTS] = partial(_entries, job_input, ())
        views |= {f"{EVENTS}_{event}".lower(): partial(_entries, job_input, (event,)) for event in BY_NAME}
    for job, out in sorted(results.items()):
        if (manifest := manifest_of(out)) is not None:
            views |= {
                f"{job}_{name}".lower(): partial(_result, job_input, out, table, f"{job}_{name}")
                for name, table in manifest.tables.items()
            }
    return views


def named(views: Mapping[str, Make]) -> str:
    """Return the names of the views for a sentence; event classes are too many to list."""
    names = [name for name in views if not name.startswith(f"{EVENTS}_")]
    return ", ".join(names + ([f"{EVENTS}_<Event>"] if EVENTS in views else [])) or "none (no source was read yet)"


@contextmanager
def made(job_input: "Given", views: Mapping[str, Make], asked: Asked) -> Iterator[None]:
    names = sorted(asked.tables & views.keys())
    try:
        for name in names:
            views[name](asked).createOrReplaceTempView(name)
        yield
    finally:
        for name in names:
            job_input.session.catalog.dropTempView(name)


def _messages(job_input: "Given", asked: Asked) -> "DataFrame":
    """Return the table `messages` with the columns that the query needs.

    The source decodes only columns that are named, and Spark does not report to it the columns that a query needs.
    """
    bodies = bodies_of(job_input.options)
    columns = [
        name
        for name in SCHEMA.names
        if asked.columns is None or name.lower() in asked.columns or (bodies is not None and name == BODY)
    ]
    rows = messages(
        job_input.session,
        job_input.source.stores,
        job_input.sealed,
        columns or ["queueOffset"],
        asked.narrowed,
        named=True,
    )
    return with_bodies(rows, bodies)


def _entries(job_input: "Given", events: tuple[str, ...], asked: Asked) -> "DataFrame":
    return entries_of(job_input, *events)


def _result(job_input: "Given", out: Path, table: Table, name: str, asked: Asked) -> "DataFrame":
    if next((out / table.path).rglob("*.parquet"), None) is None:
        raise QueryRefused(f"{name} has no Parquet file. Run its job without --format, with a result that has rows.")
    return read(job_input.session, out, table)
