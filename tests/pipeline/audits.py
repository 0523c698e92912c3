"""Shared parts of audit tests: the tables of a result, and a run over many sandboxes at once."""

from collections import Counter
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from sandbox.pipeline.runs.results import manifest_of
from tests.pipeline.conftest import Run
from tests.pipeline.worlds import Recorded

Row = dict[str, Any]
Table = list[Row]


def table(out: Path, name: str) -> Table:
    found = manifest_of(out)
    assert found is not None
    made: Table = pq.read_table(out / found.tables[name].path).to_pylist()
    return made


def rows_of_tables(out: Path, without: Collection[str] = ()) -> dict[str, Counter[str]]:
    """Return the rows of all tables of a result, without the columns that are of the run itself."""
    manifest = manifest_of(out)
    assert manifest is not None
    return {
        name: Counter(repr({column: value for column, value in row.items() if column not in without}) for row in rows)
        for name in manifest.tables
        for rows in [table(out, name)]
    }


def run_over(run: Run, job: str, worlds: dict[str, Recorded], out: Path) -> Path:
    """One run of the job over all of them, as a class is audited."""
    reported = run(
        job,
        out=out,
        journals={name: str(made.journal) for name, made in worlds.items()},
        stores={f"{name}/{node}": root for name, made in worlds.items() for node, root in made.stores.items()},
    )
    assert reported[-1]["state"] == "done", reported[-1]
    return out
