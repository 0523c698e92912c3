"""A run and a result in the form that pages and programs get."""

from __future__ import annotations

from datetime import datetime
from typing import TypedDict

from queueviz import refusal_texts
from queueviz.models import PipelineRun
from queueviz.runs.tables import Result


class RunRow(TypedDict):
    """A run.  Times are in milliseconds since 1970, of the wall clock."""

    run: str
    job: str
    options: dict[str, str]
    state: str
    stage: int | None  # None: the run is pending, or Spark is starting
    tasks_done: int
    tasks: int
    cancelling: bool
    why: str
    tables: dict[str, int]
    true_to: str | None
    who: str
    asked_ms: int | None
    started_ms: int | None
    ended_ms: int | None


class ResultRow(TypedDict):
    """The manifest of a result."""

    job: str
    run: str
    made_ms: int
    true_to: str | None
    tables: dict[str, int]  # rows by table


def run_row(run: PipelineRun) -> RunRow:
    return {
        "run": run.run,
        "job": run.job,
        "options": run.options,
        "state": run.state,
        "stage": run.stage,
        "tasks_done": run.tasks_done,
        "tasks": run.tasks,
        "cancelling": run.cancel_asked and not run.is_over,
        "why": sentence(run),
        "tables": run.tables,
        "true_to": None if run.true_to is None else str(run.true_to),
        "who": run.who,
        "asked_ms": _ms(run.asked_at),
        "started_ms": _ms(run.started_at),
        "ended_ms": _ms(run.ended_at),
    }


def sentence(run: PipelineRun) -> str:
    """Return the reason why a run failed, in the reader's language.  Spark's own messages are in English."""
    return refusal_texts.filled(run.why, run.why_values)


def result_row(result: Result) -> ResultRow | None:
    """Return the result's manifest as a row, or None before the first successful run."""
    made = result.manifest
    if made is None:
        return None
    return {
        "job": made.job,
        "run": made.run,
        "made_ms": made.made_ms,
        "true_to": None if result.true_to is None else str(result.true_to),
        "tables": {name: table.rows for name, table in made.tables.items()},
    }


def _ms(at: datetime | None) -> int | None:
    return None if at is None else round(at.timestamp() * 1_000)
